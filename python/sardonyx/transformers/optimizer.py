"""optimize_model over the engine's rewrites: the result is plain ONNX that any runtime takes."""

from __future__ import annotations

import os
import tempfile

from .. import _native
from .onnx_model import OnnxModel
from .onnx_model_bert import BertOnnxModel

# opt_level -> the library's level; None: the default
_LEVELS = {0: "none", 1: "exact", 2: "default", 99: "default", None: "default"}


def optimize_model(input, model_type="bert", num_heads=0, hidden_size=0, optimization_options=None, opt_level=None,  # noqa: A002
                   use_gpu=False, only_onnxruntime=False, verbose=False, *, provider=None) -> OnnxModel:  # fmt: skip
    """input: path or ModelProto. Returns an OnnxModel, for encoders a BertOnnxModel. The options say which fusions are
    wanted; which apply is the engine's choice."""
    import onnx

    if opt_level not in _LEVELS:
        raise ValueError(f"opt_level {opt_level} is none of 0, 1, 2, 99")
    is_path = isinstance(input, (str, os.PathLike))
    source = os.fsencode(input) if is_path else input.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "optimized.onnx")
        _native.optimize(source, is_path, os.fsencode(path), _LEVELS[opt_level], "optimized.onnx.data")
        model = onnx.load(path)
    return BertOnnxModel(model, num_heads, hidden_size) if model_type == "bert" else OnnxModel(model)


def optimize_by_onnxruntime(onnx_model, use_gpu=False, optimized_model_path=None, opt_level=99, **kwargs) -> str:
    """Writes the rewritten model; returns its path."""
    if optimized_model_path is None:
        stem, ext = os.path.splitext(os.fspath(onnx_model))
        optimized_model_path = f"{stem}_o{opt_level}_cpu{ext}"
    _native.optimize(os.fsencode(onnx_model), True, os.fsencode(optimized_model_path), _LEVELS[opt_level], None)
    return optimized_model_path
