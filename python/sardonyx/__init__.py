"""Sardonyx: runs ONNX models.

    import sardonyx as ort

    session = ort.InferenceSession("model.onnx")
    y, = session.run(None, {"x": x})

The names, arguments and results are those of ``onnxruntime``. Beyond them: ``session.report()``, ``session.trim()``,
``strict=True``, limits in RunOptions, ``sardonyx.tensor``, and ``python -m sardonyx compat enable``, with which programs
that import ``onnxruntime`` run on Sardonyx unchanged.
"""

from __future__ import annotations

from . import _native
from ._devices import (
    AdapterFormat, LoraAdapter, OrtArenaCfg, OrtDevice, OrtDeviceVendorId, OrtEpAssignedNode, OrtEpAssignedSubgraph,
    OrtEpDevice, OrtExternalInitializerInfo, OrtHardwareDevice, OrtMemoryInfo, OrtSyncStream, get_ep_devices,
    register_execution_provider_library, unregister_execution_provider_library,
)  # fmt: skip
from ._enums import (
    ExecutionMode, ExecutionOrder, GraphOptimizationLevel, OrtAllocatorType, OrtCompileApiFlags,
    OrtCompiledModelCompatibility, OrtDeviceMemoryType, OrtExecutionProviderDevicePolicy, OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType, OrtMemType, OrtSparseFormat,
)  # fmt: skip
from ._errors import (
    EngineError, EPFail, Fail, InvalidArgument, InvalidGraph, InvalidProtobuf, ModelLoadCanceled, ModelLoaded,
    ModelRequiresCompilation, NoModel, NoSuchFile, NotFound, NotImplemented, RuntimeException,
)  # fmt: skip
from ._functions import (
    create_and_register_allocator, create_and_register_allocator_v2, disable_telemetry_events, enable_telemetry_events,
    get_all_providers, get_available_providers, get_build_info, get_compatibility_info_from_model,
    get_compatibility_info_from_model_bytes, get_default_session_options, get_device,
    get_model_compatibility_for_ep_devices, get_version_string, has_collective_ops, preload_dlls, print_debug_info, set_default_logger_callback,
    set_default_logger_severity, set_default_logger_verbosity, set_global_thread_pool_sizes, set_seed,
)  # fmt: skip
from ._options import RunOptions, SessionOptions
from ._session import InferenceSession, ModelMetadata, NodeArg
from ._sparse import SparseTensor
from ._values import IOBinding, OrtValue, OrtValueVector, copy_tensors

__version__ = _native.version()
__author__ = "The Sardonyx authors"

#: What the binding of a session was called before it had a class of its own.
SessionIOBinding = IOBinding


def __getattr__(name):
    if name in ("ModelCompiler",):
        from ._compiler import ModelCompiler

        return ModelCompiler
    if name in ("tensor", "backend", "datasets", "tools", "transformers", "quantization", "capi"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
