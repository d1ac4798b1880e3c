from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from os import PathLike
from typing import Any, Self, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from . import _native
from . import as_onnxruntime as as_onnxruntime
from . import backend as backend
from . import capi as capi
from . import datasets as datasets
from . import quantization as quantization
from . import tensor as tensor
from . import tools as tools
from . import transformers as transformers

__version__: str
__author__: str

Array: TypeAlias = npt.NDArray[Any]
#: What `run` takes for one input: an array of the declared type, a list or scalar, an OrtValue, a tensor of another library
#: (DLPack or buffer), a list for sequences, a dict for maps, None for optionals.
Feed: TypeAlias = Any
#: What `run` gives for one output: an array (tensors), a list (sequences), a dict (maps), a SparseTensor, None.
Result: TypeAlias = Any
ElementType: TypeAlias = int | npt.DTypeLike
ProviderWish: TypeAlias = str | tuple[str, dict[Any, Any]]

# ---- enumerations

class GraphOptimizationLevel(IntEnum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99

class ExecutionMode(IntEnum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1

class ExecutionOrder(IntEnum):
    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2

class OrtAllocatorType(IntEnum):
    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1

class OrtMemType(IntEnum):
    CPU_INPUT = -2
    CPU_OUTPUT = -1
    DEFAULT = 0
    CPU = -1

class OrtSparseFormat(IntEnum):
    ORT_SPARSE_UNDEFINED = 0
    ORT_SPARSE_COO = 1
    ORT_SPARSE_CSRC = 2
    ORT_SPARSE_BLOCK_SPARSE = 4

class OrtHardwareDeviceType(IntEnum):
    CPU = 0
    GPU = 1
    NPU = 2

class OrtExecutionProviderDevicePolicy(IntEnum):
    DEFAULT = 0
    PREFER_CPU = 1
    PREFER_NPU = 2
    PREFER_GPU = 3
    MAX_PERFORMANCE = 4
    MAX_EFFICIENCY = 5
    MIN_OVERALL_POWER = 6

class OrtDeviceMemoryType(IntEnum):
    DEFAULT = 0
    HOST_ACCESSIBLE = 5

class OrtMemoryInfoDeviceType(IntEnum):
    CPU = 0
    GPU = 1
    FPGA = 2
    NPU = 3

class OrtCompileApiFlags(IntEnum):
    NONE = 0
    ERROR_IF_NO_NODES_COMPILED = 1
    ERROR_IF_OUTPUT_FILE_EXISTS = 2

class OrtCompiledModelCompatibility(IntEnum):
    EP_NOT_APPLICABLE = 0
    EP_SUPPORTED_OPTIMAL = 1
    EP_SUPPORTED_PREFER_RECOMPILATION = 2
    EP_UNSUPPORTED = 3

# ---- failures

class Fail(Exception):
    code: int
    label: str
    status: int

class InvalidArgument(Exception):
    code: int
    label: str
    status: int

class NoSuchFile(Exception):
    code: int
    label: str
    status: int

class NoModel(Exception):
    code: int
    label: str
    status: int

class EngineError(Exception):
    code: int
    label: str
    status: int

class RuntimeException(Exception):
    code: int
    label: str
    status: int

class InvalidProtobuf(Exception):
    code: int
    label: str
    status: int

class ModelLoaded(Exception):
    code: int
    label: str
    status: int

class NotImplemented(Exception):
    code: int
    label: str
    status: int

class InvalidGraph(Exception):
    code: int
    label: str
    status: int

class EPFail(Exception):
    code: int
    label: str
    status: int

class ModelLoadCanceled(Exception):
    code: int
    label: str
    status: int

class ModelRequiresCompilation(Exception):
    code: int
    label: str
    status: int

class NotFound(Exception):
    code: int
    label: str
    status: int

# ---- options

class SessionOptions:
    intra_op_num_threads: int
    inter_op_num_threads: int
    graph_optimization_level: GraphOptimizationLevel
    execution_mode: ExecutionMode
    execution_order: ExecutionOrder
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    enable_cpu_mem_arena: bool
    enable_mem_pattern: bool
    enable_mem_reuse: bool
    enable_profiling: bool
    profile_file_prefix: str
    optimized_model_filepath: str
    use_deterministic_compute: bool
    use_per_session_threads: bool
    def __init__(self) -> None: ...
    def add_session_config_entry(self, key: str, value: str) -> None: ...
    def get_session_config_entry(self, key: str) -> str: ...
    def add_free_dimension_override_by_name(self, name: str, size: int) -> None: ...
    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None: ...
    def add_initializer(self, name: str, value: OrtValue) -> None: ...
    def add_external_initializers(self, names: Sequence[str], values: Sequence[OrtValue]) -> None: ...
    def add_external_initializers_from_files_in_memory(
        self, names: Sequence[str], buffers: Sequence[bytes | bytearray | memoryview], lengths: Sequence[int]
    ) -> None: ...
    def register_custom_ops_library(self, path: str) -> None: ...
    def add_provider(self, name: str, options: Mapping[str, str]) -> None: ...
    def add_provider_for_devices(self, devices: Sequence[OrtEpDevice], options: Mapping[str, str]) -> None: ...
    def set_provider_selection_policy(self, policy: OrtExecutionProviderDevicePolicy) -> None: ...
    def set_provider_selection_policy_delegate(self, delegate: Callable[..., list[OrtEpDevice]]) -> None: ...
    def has_providers(self) -> bool: ...
    def set_load_cancellation_flag(self, cancel: bool) -> None: ...

class RunOptions(_native.RunOptions):
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    only_execute_path_to_fetches: bool
    training_mode: bool
    def __init__(self) -> None: ...
    def add_run_config_entry(self, key: str, value: str) -> None: ...
    def get_run_config_entry(self, key: str) -> str: ...
    def add_active_adapter(self, adapter: LoraAdapter) -> None: ...

# ---- sessions

class NodeArg:
    name: str
    type: str
    shape: list[int | str | None]
    def __init__(self, name: str, type: str, shape: list[int | str | None], text: str = "") -> None: ...

class ModelMetadata:
    custom_metadata_map: dict[str, str]
    producer_name: str
    graph_name: str
    graph_description: str
    domain: str
    description: str
    version: int
    def __init__(self, native: _native.Session | None = None) -> None: ...

class _Report:
    nodes: list[dict[str, str]]
    rewrites: list[tuple[str, str]]
    providers: dict[str, int]
    plan_bytes: int | None

class InferenceSession(_native.Runner):
    def __init__(
        self,
        path_or_bytes: str | PathLike[str] | bytes | bytearray | memoryview,
        sess_options: SessionOptions | None = None,
        providers: Sequence[ProviderWish] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None: ...
    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Feed], run_options: RunOptions | None = None
    ) -> list[Result]: ...
    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]: ...
    def run_with_ortvaluevector(
        self,
        run_options: RunOptions | None,
        feed_names: Sequence[str],
        feeds: OrtValueVector,
        fetch_names: Sequence[str],
        fetches: OrtValueVector,
        fetch_devices: Sequence[OrtDevice],
    ) -> None: ...
    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Feed],
        callback: Callable[[list[Result] | None, Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None: ...
    def io_binding(self) -> IOBinding: ...
    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None: ...
    def get_inputs(self) -> list[NodeArg]: ...
    def get_outputs(self) -> list[NodeArg]: ...
    def get_overridable_initializers(self) -> list[NodeArg]: ...
    def get_modelmeta(self) -> ModelMetadata: ...
    def get_session_options(self) -> SessionOptions: ...
    def get_providers(self) -> list[str]: ...
    def get_provider_options(self) -> dict[str, dict[str, str]]: ...
    def set_providers(
        self, providers: Sequence[ProviderWish] | None = None, provider_options: Sequence[dict[Any, Any]] | None = None
    ) -> None: ...
    def disable_fallback(self) -> None: ...
    def enable_fallback(self) -> None: ...
    def get_provider_graph_assignment_info(self) -> list[OrtEpAssignedSubgraph]: ...
    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None: ...
    def get_tuning_results(self) -> list[Any]: ...
    def set_tuning_results(self, results: Sequence[Any], *, error_on_invalid: bool = False) -> None: ...
    def get_input_memory_infos(self) -> list[OrtMemoryInfo]: ...
    def get_output_memory_infos(self) -> list[OrtMemoryInfo]: ...
    def get_input_epdevices(self) -> list[OrtEpDevice]: ...
    def end_profiling(self) -> str: ...
    def get_profiling_start_time_ns(self) -> int: ...
    def report(self, input_feed: Mapping[str, Feed] | None = None) -> _Report: ...
    def trim(self) -> None: ...

# ---- values

class OrtValue(_native.Value):
    def __new__(cls, value: _native.Value, *_: Any) -> Self: ...
    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: Array, device_type: str = "cpu", device_id: int = 0) -> Self: ...
    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: Array, /, onnx_element_type: int) -> Self: ...
    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: ElementType,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> Self: ...
    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor: SparseTensor) -> Self: ...
    @classmethod
    def from_dlpack(cls, data: Any, /) -> Self: ...
    def as_sparse_tensor(self) -> SparseTensor: ...
    def data_ptr(self) -> int: ...
    def device_name(self) -> str: ...
    def shape(self) -> list[int]: ...
    def data_type(self) -> str: ...
    def element_type(self) -> int: ...
    def tensor_size_in_bytes(self) -> int: ...
    def has_value(self) -> bool: ...
    def is_tensor(self) -> bool: ...
    def is_sparse_tensor(self) -> bool: ...
    def is_tensor_sequence(self) -> bool: ...
    def numpy(self) -> Any: ...
    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array: ...
    def to_dlpack(self) -> Any: ...
    def update_inplace(self, data: Array | OrtValue) -> None: ...

class OrtValueVector:
    def __init__(self, values: Sequence[OrtValue] = ()) -> None: ...
    def push_back(self, value: Any, is_bool_tensor: bool = False) -> None: ...
    def push_back_batch(
        self,
        tensors: Sequence[Any],
        data_ptrs: Sequence[int],
        element_types: Sequence[ElementType],
        shapes: Sequence[Sequence[int]],
        devices: Sequence[OrtDevice],
    ) -> None: ...
    def reserve(self, n: int) -> None: ...
    def shrink_to_fit(self) -> None: ...
    def element_type_at(self, i: int) -> int: ...
    def bool_tensor_indices(self) -> list[int]: ...
    def dlpack_at(self, i: int) -> Any: ...
    def to_dlpacks(self, to_tensor: Callable[[Any], Any] | None = None) -> list[Any]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[OrtValue]: ...
    @overload
    def __getitem__(self, i: int) -> OrtValue: ...
    @overload
    def __getitem__(self, i: slice) -> list[OrtValue]: ...

class IOBinding:
    def __init__(self, session: InferenceSession) -> None: ...
    def bind_cpu_input(self, name: str, arr_on_cpu: Feed) -> None: ...
    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: ElementType,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None: ...
    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None: ...
    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: ElementType | None = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None: ...
    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None: ...
    def synchronize_inputs(self) -> None: ...
    def synchronize_outputs(self) -> None: ...
    def get_outputs(self) -> list[OrtValue]: ...
    def get_outputs_as_ortvaluevector(self) -> OrtValueVector: ...
    def copy_outputs_to_cpu(self) -> list[Result]: ...
    def clear_binding_inputs(self) -> None: ...
    def clear_binding_outputs(self) -> None: ...

SessionIOBinding = IOBinding

class _CooView:
    def indices(self) -> npt.NDArray[np.int64]: ...

class _CsrView:
    def inner(self) -> npt.NDArray[np.int64]: ...
    def outer(self) -> npt.NDArray[np.int64]: ...

class _BlockView:
    def indices(self) -> npt.NDArray[np.int32]: ...

class SparseTensor:
    def __init__(self, dense_shape: Sequence[int], values: Array, layout: OrtSparseFormat, *indices: Array) -> None: ...
    @classmethod
    def sparse_coo_from_numpy(
        cls, dense_shape: Sequence[int], values: Array, coo_indices: npt.ArrayLike, ort_device: OrtDevice | None = None
    ) -> Self: ...
    @classmethod
    def sparse_csr_from_numpy(
        cls,
        dense_shape: Sequence[int],
        values: Array,
        inner_indices: npt.ArrayLike,
        outer_indices: npt.ArrayLike,
        ort_device: OrtDevice | None = None,
    ) -> Self: ...
    @classmethod
    def blocksparse_from_numpy(
        cls, dense_shape: Sequence[int], values: Array, indices: npt.ArrayLike, ort_device: OrtDevice | None = None
    ) -> Self: ...
    def values(self) -> Array: ...
    def as_coo_view(self) -> _CooView: ...
    def as_csrc_view(self) -> _CsrView: ...
    def as_blocksparse_view(self) -> _BlockView: ...
    def get_coo_data(self) -> _CooView: ...
    def get_csrc_data(self) -> _CsrView: ...
    def get_blocksparse_data(self) -> _BlockView: ...
    def format(self) -> OrtSparseFormat: ...
    def dense_shape(self) -> list[int]: ...
    def data_type(self) -> str: ...
    def device_name(self) -> str: ...
    def to_cuda(self, ort_device: OrtDevice) -> None: ...

def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: OrtSyncStream | None = None) -> None: ...

# ---- devices

class OrtDeviceVendorId(IntEnum):
    NONE = 0x0
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086

class OrtDevice:
    def __init__(self, *args: int | OrtDevice) -> None: ...
    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice: ...
    @staticmethod
    def cpu() -> int: ...
    @staticmethod
    def cuda() -> int: ...
    @staticmethod
    def gpu() -> int: ...
    @staticmethod
    def dml() -> int: ...
    @staticmethod
    def webgpu() -> int: ...
    @staticmethod
    def fpga() -> int: ...
    @staticmethod
    def npu() -> int: ...
    @staticmethod
    def cann() -> int: ...
    @staticmethod
    def default_memory() -> int: ...
    @property
    def device_name(self) -> str: ...
    def device_id(self) -> int: ...
    def device_type(self) -> int: ...
    def mem_type(self) -> int: ...
    def vendor_id(self) -> int: ...

class OrtMemoryInfo:
    name: str
    allocator_type: OrtAllocatorType
    device_id: int
    mem_type: OrtMemType
    device_mem_type: OrtDeviceMemoryType
    device_vendor_id: int
    def __init__(
        self, name: str, allocator_type: OrtAllocatorType, device_id: int, mem_type: OrtMemType
    ) -> None: ...
    @staticmethod
    def create_v2(
        name: str,
        device_type: OrtMemoryInfoDeviceType,
        vendor_id: int,
        device_id: int,
        device_mem_type: OrtDeviceMemoryType,
        alignment: int,
        allocator_type: OrtAllocatorType,
    ) -> OrtMemoryInfo: ...
    @staticmethod
    def cpu() -> OrtMemoryInfo: ...

class OrtArenaCfg:
    max_mem: int
    arena_extend_strategy: int
    initial_chunk_size_bytes: int
    max_dead_bytes_per_chunk: int
    initial_growth_chunk_size_bytes: int
    max_power_of_two_extend_bytes: int
    def __init__(self, *args: int | dict[str, int]) -> None: ...

class OrtHardwareDevice:
    type: OrtHardwareDeviceType
    vendor: str
    vendor_id: int
    device_id: int
    @property
    def metadata(self) -> dict[str, str]: ...

class OrtSyncStream:
    def get_handle(self) -> int: ...

class OrtEpDevice:
    ep_name: str
    ep_vendor: str
    device: OrtHardwareDevice
    ep_metadata: dict[str, str]
    ep_options: dict[str, str]
    def __init__(self) -> None: ...
    def memory_info(self, memory_type: OrtDeviceMemoryType = ...) -> OrtMemoryInfo: ...
    def create_sync_stream(self, options: Mapping[str, str] | None = None) -> OrtSyncStream: ...

class OrtEpAssignedNode:
    name: str
    domain: str
    op_type: str
    def __init__(self, name: str, domain: str, op_type: str) -> None: ...

class OrtEpAssignedSubgraph:
    ep_name: str
    def __init__(self, ep_name: str, nodes: list[OrtEpAssignedNode]) -> None: ...
    def get_nodes(self) -> list[OrtEpAssignedNode]: ...

class OrtExternalInitializerInfo:
    filepath: str
    file_offset: int
    byte_size: int
    def __init__(self, filepath: str, file_offset: int, byte_size: int) -> None: ...

class LoraAdapter:
    def Load(self, path: str) -> None: ...

class AdapterFormat:
    def __init__(self, adapter: Any = None) -> None: ...
    @staticmethod
    def read_adapter(path: str | PathLike[str]) -> AdapterFormat: ...

class ModelCompiler:
    def __init__(
        self,
        sess_options: SessionOptions,
        input_model_path_or_bytes: str | PathLike[str] | bytes,
        embed_compiled_data_into_model: bool = False,
        external_initializers_file_path: str | PathLike[str] | None = None,
        external_initializers_size_threshold: int = 1024,
        flags: int = ...,
        graph_optimization_level: GraphOptimizationLevel = ...,
        get_initializer_location_func: Callable[..., Any] | None = None,
    ) -> None: ...
    def compile_to_file(self, output_model_path: str | PathLike[str] | None = None) -> None: ...
    def compile_to_bytes(self) -> bytes: ...
    def compile_to_stream(self, write_function: Callable[[bytes], Any]) -> None: ...

def get_ep_devices() -> list[OrtEpDevice]: ...
def register_execution_provider_library(name: str, path: str) -> None: ...
def unregister_execution_provider_library(name: str) -> None: ...

# ---- functions

def get_available_providers() -> list[str]: ...
def get_all_providers() -> list[str]: ...
def get_device() -> str: ...
def get_version_string() -> str: ...
def get_build_info() -> str: ...
def get_default_session_options() -> SessionOptions: ...
def get_model_compatibility_for_ep_devices(
    devices: Sequence[OrtEpDevice], compatibility_info: str
) -> OrtCompiledModelCompatibility: ...
def get_compatibility_info_from_model(path: str | PathLike[str], ep_name: str) -> str: ...
def get_compatibility_info_from_model_bytes(model: bytes, ep_name: str) -> str: ...
def set_default_logger_severity(severity: int) -> None: ...
def set_default_logger_verbosity(verbosity: int) -> None: ...
def set_default_logger_callback(callback: Callable[..., Any] | None) -> None: ...
def set_seed(seed: int) -> None: ...
def enable_telemetry_events() -> None: ...
def disable_telemetry_events() -> None: ...
def has_collective_ops() -> bool: ...
def set_global_thread_pool_sizes(intra: int = 0, inter: int = 0) -> None: ...
def preload_dlls(
    cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None
) -> None: ...
def print_debug_info() -> None: ...
def create_and_register_allocator(memory_info: OrtMemoryInfo, arena_cfg: OrtArenaCfg | None) -> None: ...
def create_and_register_allocator_v2(
    provider_type: str, memory_info: OrtMemoryInfo, options: Mapping[str, str], arena_cfg: OrtArenaCfg | None
) -> None: ...
