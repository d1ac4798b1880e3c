"""Functions of the module: what this build is, and switches of the process."""

from __future__ import annotations

from . import _native, _providers


def get_available_providers() -> list[str]:
    """Names of the execution providers of this build, best first."""
    return list(_providers.AVAILABLE)


def get_all_providers() -> list[str]:
    """Names of all execution providers that programs may ask for; most are not in this build."""
    return list(_providers.ALL)


def get_device() -> str:
    """"CPU": the kind of device that this build runs on."""
    return "CPU"


def get_version_string() -> str:
    """The library's version."""
    return _native.version()


def get_build_info() -> str:
    """What the library was built as, in one line."""
    system = _native.system()
    return f"Sardonyx {_native.version()}, cpu levels: {system['cpu_levels']}, in use: {system['cpu_level']}"


def get_default_session_options():
    """SessionOptions as they are without any setting."""
    from ._options import SessionOptions

    return SessionOptions()


def set_default_logger_severity(severity: int) -> None:
    """Accepted, any number: nothing is logged."""
    int(severity)


def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepted: nothing is logged."""
    int(verbosity)


def set_default_logger_callback(callback) -> None:
    """Accepted: nothing is logged."""


def set_seed(seed: int) -> None:
    """Accepted: operators that draw numbers take their seed from the model."""
    int(seed)


def enable_telemetry_events() -> None:
    """Accepted: there is no telemetry."""


def disable_telemetry_events() -> None:
    """Accepted: there is no telemetry."""


def has_collective_ops() -> bool:
    """False: no operators that talk to other processes."""
    return False


def set_global_thread_pool_sizes(intra: int = 0, inter: int = 0) -> None:
    """Accepted: sessions with equal thread counts share their threads, see SessionOptions.intra_op_num_threads."""


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory=None) -> None:
    """Accepted: the package needs no further libraries."""


def print_debug_info() -> None:
    """Prints what helps to find out why something does not work here."""
    import platform
    import sys

    print(f"sardonyx {_native.version()}, Python {sys.version.split()[0]}, {platform.platform()}")
    for key, value in _native.system().items():
        print(f"  {key}: {value}")


def create_and_register_allocator(memory_info, arena_cfg) -> None:
    """Accepted: memory is planned exactly in any case."""


def create_and_register_allocator_v2(provider_type, memory_info, options, arena_cfg) -> None:
    """Accepted: memory is planned exactly in any case."""


def get_model_compatibility_for_ep_devices(devices, compatibility_info: str):
    """No provider here compiles models: EP_NOT_APPLICABLE."""
    from ._enums import OrtCompiledModelCompatibility

    return OrtCompiledModelCompatibility.EP_NOT_APPLICABLE


def get_compatibility_info_from_model(path, ep_name: str) -> str:
    """No provider here compiles models: "" for every model."""
    return ""


def get_compatibility_info_from_model_bytes(model: bytes, ep_name: str) -> str:
    """No provider here compiles models: "" for every model."""
    return ""
