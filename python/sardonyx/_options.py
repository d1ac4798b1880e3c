"""SessionOptions and RunOptions."""

from __future__ import annotations

import operator
import os

from . import _native
from ._enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from ._errors import Fail, make

_KEY_MAX, _VALUE_MAX = 1024, 8192  # longest config key and value


class _Field:
    """A typed attribute: wrong types are refused when they are set, not when a session is made."""

    def __init__(self, default, convert, doc):
        self.default, self.convert, self.__doc__ = default, convert, doc

    def __set_name__(self, owner, name):
        self.name, self.slot = name, "_" + name

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.slot, self.default)

    def __set__(self, obj, value):
        try:
            object.__setattr__(obj, self.slot, self.convert(value))
        except (TypeError, ValueError) as e:
            raise TypeError(f"{type(obj).__name__}.{self.name}: {e}") from None


def _bool(value):
    if isinstance(value, int) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise TypeError(f"a bool is needed, not {type(value).__name__}")


def _str(value):
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return value
    raise TypeError(f"a str is needed, not {type(value).__name__}")


def _enum(cls):
    return lambda value: cls(operator.index(value))


def _count(value):
    n = operator.index(value)
    if n < 0:
        raise ValueError(f"{n} is negative")
    return n


class _Entries:
    """Config entries: text keys and text values; unknown keys are kept and ignored."""

    __slots__ = ()
    _what = ""

    def _add(self, key: str, value: str) -> None:
        key, value = _str(key), _str(value)
        if not key or len(key) > _KEY_MAX:
            raise RuntimeError(f"Config key is empty or longer than maximum length {_KEY_MAX}")
        if len(value) > _VALUE_MAX:
            raise RuntimeError(f"Config value is longer than maximum length {_VALUE_MAX}")
        self._config[key] = value

    def _get(self, key: str) -> str:
        if key not in self._config:
            raise RuntimeError(f"{self._what} does not have configuration with key: {key}")
        return self._config[key]


class SessionOptions(_Entries):
    """How a session is made. Attributes may be set until it is."""

    _what = "SessionOptions"
    __slots__ = (
        "_config", "_dims", "_denotations", "_initializers", "_files", "_provider_list", "_cancelled",
        "_intra_op_num_threads", "_inter_op_num_threads", "_graph_optimization_level", "_execution_mode",
        "_execution_order", "_log_severity_level", "_log_verbosity_level", "_logid", "_enable_cpu_mem_arena",
        "_enable_mem_pattern", "_enable_mem_reuse", "_enable_profiling", "_profile_file_prefix",
        "_optimized_model_filepath", "_use_deterministic_compute", "_use_per_session_threads",
    )  # fmt: skip

    intra_op_num_threads = _Field(0, _count, "Threads of a run; 0: as many as this process may use. 1: the caller's.")
    inter_op_num_threads = _Field(0, _count, "Accepted; nodes run one after the other, each on all threads.")
    graph_optimization_level = _Field(
        GraphOptimizationLevel.ORT_ENABLE_ALL, _enum(GraphOptimizationLevel), "How much the graph may be rewritten."
    )
    execution_mode = _Field(ExecutionMode.ORT_SEQUENTIAL, _enum(ExecutionMode), "Accepted; see ExecutionMode.")
    execution_order = _Field(ExecutionOrder.DEFAULT, _enum(ExecutionOrder), "Accepted; see ExecutionOrder.")
    log_severity_level = _Field(-1, operator.index, "Accepted; nothing is logged. -1: inherit.")
    log_verbosity_level = _Field(0, operator.index, "Accepted; nothing is logged.")
    logid = _Field("", _str, "A name for the session.")
    enable_cpu_mem_arena = _Field(True, _bool, "Accepted; memory is planned exactly in any case.")
    enable_mem_pattern = _Field(True, _bool, "Accepted; memory is planned exactly in any case.")
    enable_mem_reuse = _Field(True, _bool, "Accepted; memory is planned exactly in any case.")
    enable_profiling = _Field(False, _bool, "Record each node of each run; see InferenceSession.end_profiling.")
    profile_file_prefix = _Field("onnxruntime_profile_", _str, "How the profile's file name begins.")
    optimized_model_filepath = _Field("", _str, "Where to write the model as the rewrites leave it; '': nowhere.")
    use_deterministic_compute = _Field(False, _bool, "Accepted; results are the same bits for any number of threads.")
    use_per_session_threads = _Field(True, _bool, "Accepted; sessions with equal thread counts share their threads.")

    def __init__(self):
        self._config: dict[str, str] = {}
        self._dims: dict[str, int] = {}
        self._denotations: dict[str, int] = {}
        self._initializers: dict[str, _native.Value] = {}
        self._files: dict[str, memoryview] = {}
        self._provider_list: list[tuple[str, dict]] = []
        self._cancelled = False

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keeps a setting by name; ``session.set_denormal_as_zero`` and other known ones take effect."""
        self._add(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """The value of a setting; RuntimeError when it was not set."""
        return self._get(key)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fixes a symbolic size of the model's inputs: every dimension called name is size."""
        self._dims[_str(name)] = _count(size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Would fix sizes by what dimensions denote ("DATA_BATCH"); denotations are not read yet, which a warning says."""
        import warnings

        self._denotations[_str(denotation)] = _count(size)
        warnings.warn(f"sizes denoted {denotation} are not fixed: denotations are not read yet", UserWarning, stacklevel=2)

    def add_initializer(self, name: str, value) -> None:
        """Replaces a weight of the model by an OrtValue; no copy is made."""
        if not isinstance(value, _native.Value):
            raise TypeError(f"initializer {name}: an OrtValue is needed, not {type(value).__name__}")
        self._initializers[_str(name)] = value

    def add_external_initializers(self, names, values) -> None:
        """Replaces weights whose data are in files beside the model by OrtValues."""
        if len(names) != len(values):
            raise RuntimeError(f"{len(names)} names, but {len(values)} values")
        for name, value in zip(names, values):
            self.add_initializer(name, value)

    def add_external_initializers_from_files_in_memory(self, names, buffers, lengths) -> None:
        """Contents of the files with the model's external data, by file name; the buffers are read where they are."""
        if not len(names) == len(buffers) == len(lengths):
            raise RuntimeError(f"{len(names)} names, {len(buffers)} buffers and {len(lengths)} lengths")
        for name, buffer, length in zip(names, buffers, lengths):
            self._files[_str(name)] = memoryview(buffer).cast("B")[:length]

    def register_custom_ops_library(self, path: str) -> None:
        """Custom operators of a shared library. Not supported yet."""
        path = _str(path)
        if not os.path.exists(path):
            raise make(Fail, f"Failed to load library {path}: file not found")
        raise make(Fail, f"Failed to load library {path}: custom operators of other libraries are not supported yet")

    def add_provider(self, name: str, options: dict[str, str]) -> None:
        """Asks for an execution provider, in order of preference."""
        self._provider_list.append((_str(name), {str(k): str(v) for k, v in options.items()}))

    def add_provider_for_devices(self, devices, options: dict[str, str]) -> None:
        """Asks for the provider that owns the devices, see ``get_ep_devices``."""
        if not devices:
            raise make(Fail, "add_provider_for_devices: no devices were given")
        self.add_provider(devices[0].ep_name, options)

    def set_provider_selection_policy(self, policy) -> None:
        """Accepted: there is one device, the CPU."""

    def set_provider_selection_policy_delegate(self, delegate) -> None:
        """Accepted: there is one device, the CPU."""

    def has_providers(self) -> bool:
        """Whether ``add_provider`` was called."""
        return bool(self._provider_list)

    def set_load_cancellation_flag(self, cancel: bool) -> None:
        """Sessions that are made with these options fail with ModelLoadCanceled."""
        self._cancelled = _bool(cancel)

    def __getstate__(self):
        state = {n: getattr(self, n) for n in self.__slots__ if hasattr(self, n)}
        state["_files"] = {n: bytes(b) for n, b in self._files.items()}
        return state

    def __setstate__(self, state):
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def __copy__(self):
        other = type(self)()
        for name, value in ((n, getattr(self, n)) for n in self.__slots__ if hasattr(self, n)):
            object.__setattr__(other, name, value.copy() if isinstance(value, (dict, list)) else value)
        return other


class RunOptions(_native.RunOptions, _Entries):
    """How a run is done. ``terminate`` may be set by another thread while it is.

    Beyond ONNX Runtime's: ``timeout_ns``, ``max_bytes`` and ``max_trips`` limit what a run may take.
    """

    _what = "RunOptions"
    __slots__ = (
        "_config", "_log_severity_level", "_log_verbosity_level", "_logid", "_only_execute_path_to_fetches",
        "_training_mode",
    )  # fmt: skip

    log_severity_level = _Field(-1, operator.index, "Accepted; nothing is logged. -1: inherit.")
    log_verbosity_level = _Field(0, operator.index, "Accepted; nothing is logged.")
    logid = _Field("", _str, "A name for the run.")
    only_execute_path_to_fetches = _Field(False, _bool, "Accepted.")
    training_mode = _Field(False, _bool, "Accepted; there is no training.")

    def __init__(self):
        self._config: dict[str, str] = {}

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Keeps a setting by name."""
        self._add(key, value)

    def get_run_config_entry(self, key: str) -> str:
        """The value of a setting; RuntimeError when it was not set."""
        return self._get(key)

    def add_active_adapter(self, adapter) -> None:
        """Feeds a LoRA adapter's parameters. Not supported yet."""
        raise make(Fail, "adapters are not supported yet")
