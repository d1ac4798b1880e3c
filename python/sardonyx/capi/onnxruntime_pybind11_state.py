"""The names of ``onnxruntime.capi.onnxruntime_pybind11_state``: the same objects as in ``_pybind_state``."""

from ._pybind_state import *  # noqa: F403
