"""The names of ``onnxruntime.capi._pybind_state``."""

from enum import IntEnum

from .. import *  # noqa: F403
from .._devices import OrtEpAssignedNode, OrtEpAssignedSubgraph  # noqa: F401
from .._enums import *  # noqa: F403
from .._errors import (  # noqa: F401
    EngineError, EPFail, Fail, InvalidArgument, InvalidGraph, InvalidProtobuf, ModelLoadCanceled, ModelLoaded,
    ModelRequiresCompilation, NoModel, NoSuchFile, NotFound, NotImplemented, RuntimeException,
)  # fmt: skip
from .._functions import *  # noqa: F403
from .._native import operators as _operators
from .._values import IOBinding as SessionIOBinding  # noqa: F401


class ArenaExtendStrategy(IntEnum):
    kNextPowerOfTwo = 0  # noqa: N815
    kSameAsRequested = 1  # noqa: N815


kNextPowerOfTwo, kSameAsRequested = ArenaExtendStrategy  # noqa: N816


class opkernel:  # noqa: N801
    """An operator that this build runs."""

    def __init__(self, domain, op_name, since):
        self.domain = "" if domain == "ai.onnx" else domain
        self.op_name, self.provider = op_name, "CPUExecutionProvider"
        versions = [int(v) for v in since.split(",") if v]
        self.version_range = (versions[0] if versions else 1, 2147483647)
        self.type_constraints: dict[str, list[str]] = {}


def get_all_opkernel_def() -> list[opkernel]:
    """Every operator that this build runs, with its first version."""
    return [opkernel(*row) for row in _operators()]

