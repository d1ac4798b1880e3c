"""Three tiny models for examples."""

from __future__ import annotations

import os


def get_example(name: str) -> str:
    """Path of "mul_1.onnx" (Y = X * constants, float[3,2]), "sigmoid.onnx" (float[3,4,5]) or "logreg_iris.onnx"
    (logistic regression on two features of irises: float_input float[3,2]; label, probabilities)."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    if not os.path.exists(path):
        raise FileNotFoundError(f"no example is called '{name}'")
    return path
