"""The backend: models to sessions."""

from __future__ import annotations

import os

from .._options import SessionOptions
from .._session import InferenceSession
from .backend_rep import SardonyxBackendRep


class SardonyxBackend:
    """ONNX's backend interface over InferenceSession."""

    @classmethod
    def is_compatible(cls, model, device=None, **kwargs) -> bool:
        """Whether the model's device can be had; the model itself is judged by ``prepare``."""
        return device is None or cls.supports_device(device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """True for "CPU"."""
        return str(device).upper().split(":")[0] == "CPU"

    @classmethod
    def prepare(cls, model, device=None, **kwargs) -> SardonyxBackendRep:
        """model: ModelProto, bytes, path or InferenceSession. Keywords are attributes of SessionOptions."""
        if isinstance(model, (InferenceSession, SardonyxBackendRep)):
            return model if isinstance(model, SardonyxBackendRep) else SardonyxBackendRep(model)
        if device is not None and not cls.supports_device(device):
            raise RuntimeError(f"Incompatible device expected '{device}', got 'CPU'")
        options = SessionOptions()
        for name, value in kwargs.items():
            setattr(options, name, value)
        if not isinstance(model, (str, bytes, os.PathLike)):
            model = model.SerializeToString()
        return SardonyxBackendRep(InferenceSession(model, options))

    @classmethod
    def run_model(cls, model, inputs, device=None, **kwargs):
        """``prepare`` and run. Keywords are attributes of RunOptions."""
        return cls.prepare(model, device).run(inputs, **kwargs)

    run = run_model

    @classmethod
    def run_node(cls, node, inputs, device=None, outputs_info=None, **kwargs):
        """One node alone has no model around it."""
        raise NotImplementedError("it is much more efficient to run a whole model than every node independently")


OnnxRuntimeBackend = SardonyxBackend
is_compatible = SardonyxBackend.is_compatible
prepare = SardonyxBackend.prepare
run = run_model = SardonyxBackend.run_model
supports_device = SardonyxBackend.supports_device

