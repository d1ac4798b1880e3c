"""Devices, memory and adapters: objects that programs name and pass around. There is one device here, the CPU."""

from __future__ import annotations

from enum import IntEnum

from . import _native
from ._enums import OrtAllocatorType, OrtDeviceMemoryType, OrtHardwareDeviceType, OrtMemoryInfoDeviceType, OrtMemType
from ._errors import Fail, make

_TYPES = {"cpu": 0, "cuda": 1, "gpu": 1, "dml": 4, "fpga": 2, "npu": 3, "cann": 3, "webgpu": 1}


def check_cpu(device_type) -> None:
    """RuntimeError for any device but the CPU."""
    if isinstance(device_type, OrtDevice):
        device_type = device_type.device_name
    if str(device_type).lower() != "cpu":
        raise RuntimeError(f"memory on device '{device_type}': this build has the CPU only")


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
    """A device and a kind of its memory: ``OrtDevice(type, memory, [vendor,] id)``."""

    def __init__(self, *args):
        if len(args) == 1 and isinstance(args[0], OrtDevice):
            args = args[0]._args
        if len(args) not in (3, 4):
            raise TypeError("OrtDevice(type, memory, [vendor,] id)")
        self._args = tuple(int(a) for a in args)

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """A device by name, "cpu" or another that ONNX Runtime knows."""
        name = str(ort_device_name).lower()
        if name not in _TYPES:
            raise ValueError(f"Unsupported device type: {ort_device_name}")
        return OrtDevice(_TYPES[name], 0, max(vendor_id, 0), device_id)

    @staticmethod
    def cpu() -> int:
        return 0

    @staticmethod
    def cuda() -> int:
        return 1

    gpu = dml = webgpu = cuda

    @staticmethod
    def fpga() -> int:
        return 2

    @staticmethod
    def npu() -> int:
        return 3

    cann = npu

    @staticmethod
    def default_memory() -> int:
        return 0

    @property
    def device_name(self) -> str:
        return {0: "cpu", 1: "gpu", 2: "fpga", 3: "npu"}.get(self._args[0], "unknown")

    def _get_c_device(self):
        return self

    @property
    def _ort_device(self):
        return self

    def device_id(self) -> int:
        return self._args[-1]

    def device_type(self) -> int:
        return self._args[0]

    def mem_type(self) -> int:
        return self._args[1]

    def vendor_id(self) -> int:
        return self._args[2] if len(self._args) == 4 else 0


class OrtMemoryInfo:
    """Which memory: name, allocator, device, kind."""

    def __init__(self, name, allocator_type, device_id, mem_type):
        self.name, self.allocator_type = str(name), OrtAllocatorType(allocator_type)
        self.device_id, self.mem_type = int(device_id), OrtMemType(mem_type)
        self.device_mem_type, self.device_vendor_id = OrtDeviceMemoryType.DEFAULT, 0

    @staticmethod
    def create_v2(name, device_type, vendor_id, device_id, device_mem_type, alignment, allocator_type):
        """The newer set of parameters."""
        OrtMemoryInfoDeviceType(device_type)
        info = OrtMemoryInfo(name, allocator_type, device_id, OrtMemType.DEFAULT)
        info.device_mem_type, info.device_vendor_id = OrtDeviceMemoryType(device_mem_type), int(vendor_id)
        return info

    @staticmethod
    def cpu() -> OrtMemoryInfo:
        return OrtMemoryInfo("Cpu", OrtAllocatorType.ORT_DEVICE_ALLOCATOR, 0, OrtMemType.DEFAULT)


_ARENA = (
    "max_mem", "arena_extend_strategy", "initial_chunk_size_bytes", "max_dead_bytes_per_chunk",
    "initial_growth_chunk_size_bytes", "max_power_of_two_extend_bytes",
)  # fmt: skip


class OrtArenaCfg:
    """Settings of an arena: accepted; memory is planned exactly in any case."""

    def __init__(self, *args):
        given = dict(zip(_ARENA, args)) if len(args) != 1 or not isinstance(args[0], dict) else args[0]
        for name in given:
            if name not in _ARENA:
                raise ValueError(f"Invalid OrtArenaCfg option: {name}")
        for name in _ARENA:
            setattr(self, name, int(given.get(name, 0 if name == "max_mem" else -1)))


class OrtHardwareDevice:
    """A piece of hardware."""

    type = OrtHardwareDeviceType.CPU
    vendor = "unknown"
    vendor_id = 0
    device_id = 0

    @property
    def metadata(self) -> dict[str, str]:
        """What the library found out about the CPU."""
        return {k: str(v) for k, v in _native.system().items()}


class OrtSyncStream:
    """A queue of a device's work; the CPU's needs no waiting."""

    def get_handle(self) -> int:
        return 0


class OrtEpDevice:
    """A provider and the device it would run on."""

    ep_name = "CPUExecutionProvider"
    ep_vendor = "Sardonyx"

    def __init__(self):
        self.device = OrtHardwareDevice()
        self.ep_metadata = {"version": _native.version()}
        self.ep_options: dict[str, str] = {}

    def memory_info(self, memory_type=OrtDeviceMemoryType.DEFAULT) -> OrtMemoryInfo:
        return OrtMemoryInfo.cpu()

    def create_sync_stream(self, options=None) -> OrtSyncStream:
        return OrtSyncStream()


def get_ep_devices() -> list[OrtEpDevice]:
    """Every provider with every device it can use."""
    return [OrtEpDevice()]


class OrtEpAssignedNode:
    __slots__ = ("domain", "name", "op_type")

    def __init__(self, name, domain, op_type):
        self.name, self.domain, self.op_type = name, domain, op_type


class OrtEpAssignedSubgraph:
    __slots__ = ("_nodes", "ep_name")

    def __init__(self, ep_name, nodes):
        self.ep_name, self._nodes = ep_name, nodes

    def get_nodes(self) -> list[OrtEpAssignedNode]:
        return self._nodes


def register_execution_provider_library(name: str, path: str) -> None:
    """Providers in libraries of their own. Not supported yet."""
    raise make(Fail, f"{path}: provider libraries are not supported yet")


def unregister_execution_provider_library(name: str) -> None:
    """See register_execution_provider_library."""
    raise make(Fail, f"no provider library is registered as {name}")


class OrtExternalInitializerInfo:
    """Where a weight lies in a file."""

    def __init__(self, filepath, file_offset, byte_size):
        self.filepath, self.file_offset, self.byte_size = str(filepath), int(file_offset), int(byte_size)


class LoraAdapter:
    """A low-rank adapter's file. Not supported yet."""

    def Load(self, path) -> None:  # noqa: N802
        raise RuntimeError(f"{path}: adapters are not supported yet")


class AdapterFormat:
    """The format of adapters' files. Not supported yet."""

    def __init__(self, adapter=None):
        raise RuntimeError("adapters are not supported yet")

    @staticmethod
    def read_adapter(path):
        raise RuntimeError(f"{path}: adapters are not supported yet")
