"""InferenceSession: a model made ready to run, with the methods of ``onnxruntime.InferenceSession``."""

from __future__ import annotations

import copyreg
import os
import warnings

from . import _native, _providers
from ._errors import Fail, ModelLoadCanceled, make
from ._options import SessionOptions
from ._values import IOBinding, OrtValue


class NodeArg:
    """An input or output of a model.

    ``name``. ``type``: ``"tensor(float)"``, ``"seq(map(int64,tensor(float)))"``... ``shape``: list of int, of str for
    named sizes, of None for unknown ones.
    """

    __slots__ = ("_text", "name", "shape", "type")

    def __init__(self, name, type, shape, text=""):  # noqa: A002
        self.name, self.type, self.shape, self._text = name, type, shape, text

    def __repr__(self):
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


class ModelMetadata:
    """What a model's author says about it."""

    __slots__ = (
        "custom_metadata_map", "description", "domain", "graph_description", "graph_name", "producer_name", "version",
    )  # fmt: skip

    def __init__(self, native=None):
        info = native.info if native else lambda _: ""
        self.custom_metadata_map: dict[str, str] = native.metadata() if native else {}
        self.producer_name: str = info("producer_name")
        self.graph_name: str = info("graph_name")
        self.graph_description: str = info("graph_description")
        self.domain: str = info("domain")
        self.description: str = info("description")
        self.version: int = int(info("model_version") or 0)

    def __repr__(self):
        return f"ModelMetadata({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


# graph_optimization_level -> the library's level
_LEVELS = {0: "none", 1: "exact", 2: "default", 3: "default", 99: "default"}


def _open(path, data, options: SessionOptions, names: list[str], disabled: list[str]) -> _native.Session:
    if options._cancelled:
        raise make(ModelLoadCanceled, "loading was cancelled by the session options")
    config = options._config
    if config.get("session.disable_cpu_ep_fallback") == "1" and names == ["CPUExecutionProvider"]:
        raise make(Fail, "fallback to CPU EP has been explicitly disabled by the session options, and this build has no "
                   "other provider")
    settings = {"level": config.get("sardonyx.level", _LEVELS[int(options.graph_optimization_level)])}
    if options.intra_op_num_threads:
        settings["threads"] = str(options.intra_op_num_threads)
    if config.get("session.set_denormal_as_zero") == "0":
        settings["keep_subnormals"] = "1"
    for key, value in config.items():
        if key.startswith("sardonyx.") and key != "sardonyx.level":
            settings[key[len("sardonyx.") :]] = value
    folder = config.get("session.model_external_initializers_file_folder_path") or None
    return _native.Session(
        os.fsencode(path) if path is not None else None, path, data, settings, options._dims, disabled,
        [_providers.AVAILABLE[n] for n in names], options._initializers, options._files, folder,
        options.enable_profiling,
    )  # fmt: skip


def _known_rewrites(names) -> list[str]:
    """Those of the names that are rewrites here; others belong to other runtimes."""
    known = {name for name, _, _ in _native.rewrites()}
    return [n for n in names if n in known]


class InferenceSession(_native.Runner):
    """A model made ready to run.

    path_or_bytes: file name, os.PathLike, or the model as bytes, bytearray or memoryview (kept while the session lives).
    sess_options: SessionOptions, or None.
    providers: sequence of names or (name, options) pairs in order of preference; None: all there are.
    provider_options: a dict for each provider, instead of the pairs.

    Keyword arguments: ``disabled_optimizers`` (names of rewrites to leave out), ``read_config_from_model``, ``strict``
    (True: a provider that is not there is a ValueError; None: so says the environment variable SARDONYX_STRICT).

    Any number of threads may run one session. It can be pickled: by path, or with the model's bytes.
    """

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        self._model_path = self._model_bytes = None
        if isinstance(path_or_bytes, (str, os.PathLike)):
            self._model_path = os.fspath(path_or_bytes)
        elif isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            self._model_bytes = path_or_bytes
        else:
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options: SessionOptions or None is needed, not {type(sess_options).__name__}")
        self._sess_options = self._sess_options_initial = sess_options
        self._strict = _providers.is_strict(kwargs.get("strict"))
        self._enable_fallback = int(kwargs.get("enable_fallback", 1)) == 1
        self._disabled = list(kwargs.get("disabled_optimizers") or [])
        read = kwargs.get("read_config_from_model", os.environ.get("ORT_LOAD_CONFIG_FROM_MODEL", "0"))
        self._read_config = int(read) == 1
        self._create(providers, provider_options)

    def _create(self, providers, provider_options) -> None:
        options = self._sess_options or SessionOptions()
        if providers is None and options._provider_list:
            providers = options._provider_list
        names, chosen = self._choose(providers, provider_options)
        disabled = _known_rewrites(self._disabled) if self._disabled else []
        listed = options._config.get("optimization.disable_specified_optimizers")
        if listed:
            disabled += _known_rewrites(listed.split(";"))
        sess = _open(self._model_path, self._model_bytes, options, names, disabled)
        if self._read_config and not self._sess_options:
            configured = _options_of_model(sess)
            if configured:
                self._sess_options = options = configured
                sess = _open(self._model_path, self._model_bytes, options, names, disabled)
        self._sess = sess
        self._providers, self._provider_options = names, chosen
        self._inputs_meta = [NodeArg(*p) for p in sess.inputs()]
        self._outputs_meta = [NodeArg(*p) for p in sess.outputs()]
        self._overridable_initializers = [NodeArg(*p) for p in sess.overridable()]
        self._profile_path = None
        if options.optimized_model_filepath:
            self._write_optimized(options)

    def _choose(self, providers, provider_options):
        try:
            return _providers.normalize(providers, provider_options, self._strict)
        except ValueError as e:
            if self._strict or not self._enable_fallback:
                raise
            warnings.warn(f"EP Error {e} when using {providers}; the session runs on {list(_providers.AVAILABLE)}",
                          UserWarning, stacklevel=5)
            return _providers.normalize(None, None, False)

    def _write_optimized(self, options: SessionOptions) -> None:
        config = options._config
        external = config.get("session.optimized_model_external_initializers_file_name")
        level = _LEVELS[int(options.graph_optimization_level)]
        is_path = self._model_path is not None
        source = os.fsencode(self._model_path) if is_path else bytes(self._model_bytes)
        _native.optimize(source, is_path, os.fsencode(options.optimized_model_filepath), level, external)

    # ---- what the model is

    def get_inputs(self) -> list[NodeArg]:
        """The model's inputs, in order."""
        return self._inputs_meta

    def get_outputs(self) -> list[NodeArg]:
        """The model's outputs, in order."""
        return self._outputs_meta

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Weights that a run may replace by feeding their names."""
        return self._overridable_initializers

    def get_modelmeta(self) -> ModelMetadata:
        """What the author says about the model."""
        return ModelMetadata(self._sess)

    @property
    def _model_meta(self):
        return self.get_modelmeta()

    # ---- providers

    def get_session_options(self) -> SessionOptions:
        """The options the session was made with."""
        if self._sess_options is None:
            self._sess_options = SessionOptions()
        return self._sess_options

    def get_providers(self) -> list[str]:
        """Names of the providers in use, in order."""
        return self._providers

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of each provider in use."""
        return self._provider_options

    def set_providers(self, providers=None, provider_options=None) -> None:
        """Makes the session anew with other providers. Runs in progress end on the old one."""
        self._create(providers, provider_options)

    def disable_fallback(self) -> None:
        """From now on, what is wrong with the providers asked for is an error, not a warning."""
        self._enable_fallback = False

    def enable_fallback(self) -> None:
        """Undoes disable_fallback."""
        self._enable_fallback = True

    def get_provider_graph_assignment_info(self) -> list:
        """For each provider: ``ep_name`` and ``get_nodes()`` with name, domain and op_type of the nodes it runs."""
        from ._devices import OrtEpAssignedNode, OrtEpAssignedSubgraph

        nodes: dict[str, list] = {}
        for name, op_type, domain, provider, *_ in self._sess.nodes():
            nodes.setdefault(provider, []).append(OrtEpAssignedNode(name, domain, op_type))
        names = {v: k for k, v in _providers.AVAILABLE.items()}
        return [OrtEpAssignedSubgraph(names.get(p, p), n) for p, n in nodes.items()]

    def set_ep_dynamic_options(self, options: dict[str, str]) -> None:
        """Options of providers that may change between runs; the CPU has none."""

    def get_tuning_results(self) -> list:
        """Kernels are chosen by measured rules, not tuned at run time: []."""
        return []

    def set_tuning_results(self, results, *, error_on_invalid=False) -> None:
        """Accepted and ignored, see get_tuning_results."""

    def get_input_memory_infos(self) -> list:
        """Where each input is expected: on the CPU."""
        from ._devices import OrtMemoryInfo

        return [OrtMemoryInfo.cpu() for _ in self._inputs_meta]

    def get_output_memory_infos(self) -> list:
        """Where each output is made: on the CPU."""
        from ._devices import OrtMemoryInfo

        return [OrtMemoryInfo.cpu() for _ in self._outputs_meta]

    def get_input_epdevices(self) -> list:
        """The device that takes each input."""
        from ._devices import get_ep_devices

        return [get_ep_devices()[0] for _ in self._inputs_meta]

    # ---- other ways to run

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None) -> list[OrtValue]:
        """``run`` for OrtValues: {name: OrtValue} in, list of OrtValues out. Nothing is copied."""
        binding = _native.Binding(self._sess)
        for name, value in input_dict_ort_values.items():
            binding.set_input(name, _as_value(value))
        names = list(output_names or [o.name for o in self._outputs_meta])
        for name in names:
            binding.set_output(name, None)
        binding.run(run_options)
        return [OrtValue.share(binding.output(name)) for name in names]

    def run_with_ortvaluevector(self, run_options, feed_names, feeds, fetch_names, fetches, fetch_devices) -> None:
        """Feeds and fetches as OrtValueVectors; results are appended to fetches."""
        results = self.run_with_ort_values(list(fetch_names), dict(zip(feed_names, feeds)), run_options)
        for value in results:
            fetches.push_back(value)

    def io_binding(self) -> IOBinding:
        """A prepared run: inputs and outputs set once, see IOBinding."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options=None) -> None:
        """Runs with what was bound; results are in the binding."""
        if iobinding._session is not self:
            raise make(Fail, "the binding belongs to another session")
        iobinding._run(run_options)

    def run_async(self, output_names, input_feed, callback, user_data, run_options=None) -> None:
        """Starts a run in another thread, then calls ``callback(results, user_data, error)`` there: results is None
        after a failure, error is "" after a success."""
        from . import _async

        _async.submit(self, output_names, dict(input_feed), callback, user_data, run_options)

    # ---- profiles

    def end_profiling(self) -> str:
        """Ends the profile and writes it; returns the file's name, "" when profiling was not enabled."""
        from . import _profile

        if self._profile_path is None:
            profile = self._sess.profile()
            self._profile_path = "" if profile is None else _profile.write(self._sess_options, profile)
        return self._profile_path

    def get_profiling_start_time_ns(self) -> int:
        """When the profile began, of a clock that only goes forward; 0 without a profile."""
        profile = self._sess.profile()
        return 0 if profile is None else profile[0]

    # ---- beyond onnxruntime

    def report(self, input_feed=None):
        """What became of the model: nodes and their providers, rewrites, and memory (with a feed: of such a run).

        The report prints as text; its attributes have the facts."""
        from . import _report

        return _report.Report(self, input_feed)

    def trim(self) -> None:
        """Gives back working memory, plans and free buffers; weights stay."""
        self._sess.trim()

    # ---- Python

    def __reduce__(self):
        if getattr(type(self), "__getstate__", None) is not getattr(object, "__getstate__", None):
            return (copyreg.__newobj__, (type(self),), self.__getstate__())  # a subclass that has its own way
        source = self._model_path if self._model_path is not None else bytes(self._model_bytes)
        options = self._sess_options_initial
        providers = [(n, self._provider_options[n]) for n in self._providers]
        return (_rebuild, (type(self), source, options, providers, self._extra_state()))

    def _extra_state(self):
        own = {"_model_path", "_model_bytes", "_sess_options", "_sess_options_initial", "_strict", "_enable_fallback",
               "_disabled", "_read_config", "_providers", "_provider_options", "_inputs_meta", "_outputs_meta",
               "_overridable_initializers", "_profile_path"}  # fmt: skip
        return {k: v for k, v in self.__dict__.items() if k not in own}

    def __repr__(self):
        source = self._model_path if self._model_path is not None else f"{len(self._model_bytes)} bytes"
        ports = [", ".join(f"{p.name}: {p._text}" for p in side) for side in (self._inputs_meta, self._outputs_meta)]
        return f"<InferenceSession {source}: ({ports[0]}) -> ({ports[1]})>"

    def _repr_html_(self):
        from . import _report

        return _report.card(self)


def _rebuild(cls, source, options, providers, extra):
    session = cls.__new__(cls)
    InferenceSession.__init__(session, source, options, providers)
    session.__dict__.update(extra)
    return session


def _as_value(value):
    if isinstance(value, _native.Value):
        return value
    return _native.Value.wrap(value)


def _options_of_model(sess: _native.Session) -> SessionOptions | None:
    """Options kept in the model's metadata, under "ort_config"."""
    text = sess.metadata().get("ort_config")
    if not text:
        return None
    import json

    options = SessionOptions()
    for name, value in json.loads(text).get("session_options", {}).items():
        if hasattr(SessionOptions, name):
            setattr(options, name, value)
    return options
