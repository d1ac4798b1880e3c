"""Where ``onnxruntime`` keeps its native module; programs import classes and exceptions from here."""

from . import _pybind_state, onnxruntime_inference_collection, onnxruntime_pybind11_state  # noqa: F401
