"""ONNX's backend interface: ``prepare(model).run(inputs)``, as ``onnx.backend.test`` calls it."""

from .backend import OnnxRuntimeBackend, SardonyxBackend, is_compatible, prepare, run, run_model, supports_device
from .backend_rep import OnnxRuntimeBackendRep, SardonyxBackendRep

__all__ = [
    "OnnxRuntimeBackend", "OnnxRuntimeBackendRep", "SardonyxBackend", "SardonyxBackendRep", "is_compatible", "prepare",
    "run", "run_model", "supports_device",
]  # fmt: skip
