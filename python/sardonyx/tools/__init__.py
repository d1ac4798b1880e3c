"""Helpers for model files. They need the ``onnx`` package."""
