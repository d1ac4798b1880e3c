"""Execution providers: their names here and in ``onnxruntime``, and the checks of a caller's wishes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence

# The name in onnxruntime of each provider of this build, and its name in the library.
AVAILABLE = {"CPUExecutionProvider": "cpu"}

# Every provider that programs may name; most are not in this build.
ALL = [
    "TensorrtExecutionProvider", "CUDAExecutionProvider", "MIGraphXExecutionProvider", "OpenVINOExecutionProvider",
    "DnnlExecutionProvider", "VitisAIExecutionProvider", "QNNExecutionProvider", "NnapiExecutionProvider",
    "VSINPUExecutionProvider", "JsExecutionProvider", "CoreMLExecutionProvider", "DmlExecutionProvider",
    "RknpuExecutionProvider", "WebNNExecutionProvider", "WebGpuExecutionProvider", "XnnpackExecutionProvider",
    "CANNExecutionProvider", "AzureExecutionProvider", "CPUExecutionProvider",
]  # fmt: skip


def is_strict(strict: bool | None) -> bool:
    return os.environ.get("SARDONYX_STRICT", "0") not in ("", "0") if strict is None else bool(strict)


def _complain(message: str, strict: bool) -> None:
    if strict:
        raise ValueError(message)
    warnings.warn(message, UserWarning, stacklevel=5)


def normalize(providers, provider_options, strict: bool) -> tuple[list[str], dict[str, dict[str, str]]]:
    """The names to use, in order, and the options of each. What is not there is skipped with a warning; with strict it
    is a ValueError."""
    if providers is None:
        return list(AVAILABLE), {name: {} for name in AVAILABLE}
    if isinstance(providers, str):
        providers = [providers]
    if not isinstance(providers, Sequence):
        raise ValueError("'providers' should be a sequence.")
    if provider_options is not None:
        if not isinstance(provider_options, Sequence):
            raise ValueError("'provider_options' should be a sequence.")
        if len(providers) != len(provider_options):
            raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
        if not all(isinstance(p, str) for p in providers):
            raise ValueError("Only string values for 'providers' are supported if 'provider_options' is given.")
        if not all(isinstance(o, dict) for o in provider_options):
            raise ValueError("'provider_options' values must be dicts.")
        wishes = list(zip(providers, provider_options))
    else:
        wishes = [_wish(p) for p in providers]
    chosen: dict[str, dict[str, str]] = {}
    for name, options in wishes:
        if name not in AVAILABLE:
            _complain(f"Specified provider '{name}' is not in available provider names."
                      f"Available providers: '{', '.join(AVAILABLE)}'", strict)
        elif name in chosen:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", UserWarning, stacklevel=4)
        else:
            chosen[name] = {str(k): str(v) for k, v in options.items()}
    if "CPUExecutionProvider" not in chosen:
        chosen["CPUExecutionProvider"] = {}
    return list(chosen), chosen


def _wish(p) -> tuple[str, dict]:
    if isinstance(p, str):
        return p, {}
    if isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], str) and isinstance(p[1], dict):
        return p
    raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
