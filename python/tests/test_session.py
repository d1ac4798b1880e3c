"""Sessions: how they are made, what they tell. On both packages."""

import os
import pathlib
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import models

CPU = ["CPUExecutionProvider"]
X = np.array([-1, 2], np.float32)


@pytest.fixture
def path(tmp_path):
    p = tmp_path / "relu.onnx"
    p.write_bytes(models.relu())
    return p


def test_sources(ort, path):
    for source in (str(path), path, models.relu()):
        assert ort.InferenceSession(source, providers=CPU).run(None, {"x": X})[0].tolist() == [0, 2]
    with pytest.raises(TypeError, match="Unable to load from type"):
        ort.InferenceSession(3)


def test_other_bytes(sdx):
    for source in (bytearray(models.relu()), memoryview(models.relu())):
        s = sdx.InferenceSession(source)
        del source
        assert s.run(None, {"x": X})[0].tolist() == [0, 2]


def test_positional_arguments(ort, path):
    so = ort.SessionOptions()
    assert ort.InferenceSession(str(path), so, CPU, [{}]).get_providers() == CPU
    assert ort.InferenceSession(str(path), None, providers=[("CPUExecutionProvider", {"a": 1})]).get_providers() == CPU


def test_providers(ort, path):
    assert "CPUExecutionProvider" in ort.get_available_providers()
    assert ort.get_all_providers()[-1] == "CPUExecutionProvider" and len(ort.get_all_providers()) > 10
    with pytest.warns(UserWarning, match="Specified provider 'NopeExecutionProvider' is not in available provider"):
        s = ort.InferenceSession(path, providers=["NopeExecutionProvider", "CPUExecutionProvider"])
    assert s.get_providers() == CPU
    with pytest.warns(UserWarning, match="Duplicate provider"):
        ort.InferenceSession(path, providers=CPU * 2)
    with pytest.raises(ValueError, match="same length"):
        ort.InferenceSession(path, providers=CPU, provider_options=[{}, {}], enable_fallback=0)
    with pytest.raises(ValueError, match="must be dicts"):
        ort.InferenceSession(path, providers=CPU, provider_options=[3], enable_fallback=0)
    with pytest.raises(ValueError, match="tuples"):
        ort.InferenceSession(path, providers=[3], enable_fallback=0)
    with pytest.raises(ValueError, match="sequence"):
        ort.InferenceSession(path, providers={"CPUExecutionProvider"}, enable_fallback=0)
    s.set_providers(CPU, [{"arena_extend_strategy": "kSameAsRequested"}])
    assert s.get_providers() == CPU and list(s.get_provider_options()) == CPU
    assert s.run(None, {"x": X})[0].tolist() == [0, 2]


def test_strict_providers(sdx, path, monkeypatch):
    with pytest.raises(ValueError, match="NopeExecutionProvider"):
        sdx.InferenceSession(path, providers=["NopeExecutionProvider"], strict=True)
    monkeypatch.setenv("SARDONYX_STRICT", "1")
    with pytest.raises(ValueError, match="NopeExecutionProvider"):
        sdx.InferenceSession(path, providers=["NopeExecutionProvider"])


def test_no_fallback_to_the_cpu(ort):
    so = ort.SessionOptions()
    so.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.Fail, match="allback"):
        ort.InferenceSession(models.relu(), so)


def test_ports(ort):
    s = ort.InferenceSession(models.text("g (float[N,3,?] x, int64[2] k, float scalar) => (float[A] y) "
                                         "{ r = ReduceSum<keepdims = 0>(x, k) y = Add(r, scalar) }"), providers=CPU)
    x, k, scalar = s.get_inputs()
    assert (x.name, x.type, x.shape) == ("x", "tensor(float)", ["N", 3, None])
    assert (k.name, k.type, k.shape) == ("k", "tensor(int64)", [2])
    assert (scalar.name, scalar.type, scalar.shape) == ("scalar", "tensor(float)", [])
    (y,) = s.get_outputs()
    assert (y.name, y.type) == ("y", "tensor(float)")
    assert str(x) == "NodeArg(name='x', type='tensor(float)', shape=['N', 3, None])"


def test_port_types(ort):
    def types(model, side):
        return [p.type for p in getattr(ort.InferenceSession(model, providers=CPU), side)()]

    assert types(models.sequence(), "get_inputs") == ["seq(tensor(float))", "tensor(float)"]
    assert types(models.zipmap(), "get_outputs") == ["seq(map(int64,tensor(float)))"]
    assert types(models.dict_vectorizer(), "get_inputs") == ["map(string,tensor(float))"]
    assert types(models.optional(), "get_inputs") == ["optional(tensor(float))"]
    assert types(models.identity(10), "get_inputs") == ["tensor(float16)"]
    assert types(models.identity(8), "get_inputs") == ["tensor(string)"]


def test_metadata(ort):
    m = ort.InferenceSession(models.with_metadata(), providers=CPU).get_modelmeta()
    assert m.custom_metadata_map == {"labels": "cat\ndog", "empty": ""}
    assert (m.producer_name, m.domain, m.description, m.version) == ("maker", "a.b", "what it is", 7)
    assert (m.graph_name, m.graph_description) == ("relu", "of the graph")


def test_free_dimensions(ort):
    so = ort.SessionOptions()
    so.add_free_dimension_override_by_name("N", 2)
    s = ort.InferenceSession(models.relu(), so, providers=CPU)
    assert s.get_inputs()[0].shape == [2]
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument):
        s.run(None, {"x": np.zeros(3, np.float32)})


def test_given_initializers(ort):
    so = ort.SessionOptions()
    kept = ort.OrtValue.ortvalue_from_numpy(np.array([7, 8], np.float32))  # upstream needs it to stay
    so.add_external_initializers(["w"], [kept])
    s = ort.InferenceSession(models.external(), so, providers=CPU)
    assert s.run(None, {"x": np.array([1, 2], np.float32)})[0].tolist() == [8, 10]


def test_given_initializers_are_kept(sdx):
    so = sdx.SessionOptions()
    so.add_initializer("w", sdx.OrtValue.ortvalue_from_numpy(np.array([5, 6], np.float32)))
    s = sdx.InferenceSession(models.overridable(), so)
    del so
    assert s.run(None, {"x": np.array([1, 2], np.float32)})[0].tolist() == [6, 8]


def test_files_in_memory(ort):
    so = ort.SessionOptions()
    data = np.array([0, 30, 40], np.float32).tobytes()
    so.add_external_initializers_from_files_in_memory(["w.bin"], [data], [len(data)])
    s = ort.InferenceSession(models.external(), so, providers=CPU)
    assert s.run(None, {"x": np.array([1, 2], np.float32)})[0].tolist() == [31, 42]


def test_external_folder(sdx, tmp_path):
    (tmp_path / "w.bin").write_bytes(np.array([0, 30, 40], np.float32).tobytes())
    so = sdx.SessionOptions()
    so.add_session_config_entry("session.model_external_initializers_file_folder_path", str(tmp_path))
    s = sdx.InferenceSession(models.external(), so)
    assert s.run(None, {"x": np.array([1, 2], np.float32)})[0].tolist() == [31, 42]
    with pytest.raises(sdx.InvalidArgument, match="no initializer `q`"):
        so.add_initializer("q", sdx.OrtValue.ortvalue_from_numpy(np.array([5, 6], np.float32)))
        sdx.InferenceSession(models.external(), so)


def test_optimized_model(ort, tmp_path):
    so = ort.SessionOptions()
    so.optimized_model_filepath = str(tmp_path / "out.onnx")
    ort.InferenceSession(models.relu(), so, providers=CPU)
    assert ort.InferenceSession(tmp_path / "out.onnx", providers=CPU).run(None, {"x": X})[0].tolist() == [0, 2]


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"])
def test_levels(ort, level):
    so = ort.SessionOptions()
    so.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    so.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    so.intra_op_num_threads = so.inter_op_num_threads = 1
    so.log_severity_level = 3
    assert ort.InferenceSession(models.relu(), so, providers=CPU).run(None, {"x": X})[0].tolist() == [0, 2]


def test_profile(ort, tmp_path):
    import json

    so = ort.SessionOptions()
    so.enable_profiling = True
    so.profile_file_prefix = str(tmp_path / "profile")
    s = ort.InferenceSession(models.relu(), so, providers=CPU)
    s.run(None, {"x": X})
    assert s.get_profiling_start_time_ns() > 0
    name = s.end_profiling()
    assert os.path.basename(name).startswith("profile_")
    events = json.loads(pathlib.Path(name).read_text())
    assert any(e["cat"] == "Session" and e["name"] == "model_run" for e in events)
    assert any(e["cat"] == "Node" and e["args"].get("op_name") == "Relu" for e in events)
    assert ort.InferenceSession(models.relu(), providers=CPU).end_profiling() == ""


def test_subclass(ort, path):
    class Mine(ort.InferenceSession):
        def __init__(self, path, **kw):
            super().__init__(path, **kw)
            self.path = path

        def __getstate__(self):
            return {"path": self.path}

        def __setstate__(self, state):
            self.__init__(state["path"], providers=CPU)

    s = Mine(str(path), providers=CPU)
    assert isinstance(s, ort.InferenceSession) and s.run(["y"], {"x": X})[0].tolist() == [0, 2]
    assert s._model_path == str(path) and s._sess is not None


class Picklable:
    pass


def test_pickle(sdx, path):
    for source in (str(path), models.relu()):
        so = sdx.SessionOptions()
        so.intra_op_num_threads = 1
        s = sdx.InferenceSession(source, so)
        s.note = "kept"
        t = pickle.loads(pickle.dumps(s))
        assert t.run(None, {"x": X})[0].tolist() == [0, 2] and t.note == "kept"
        assert t.get_session_options().intra_op_num_threads == 1


def test_fork(sdx):
    s = sdx.InferenceSession(models.matmul())
    x = np.ones((300, 2), np.float32)
    w = np.ones((2, 300), np.float32)
    want = s.run(None, {"x": x, "w": w})[0]
    pid = os.fork()
    if pid == 0:
        try:
            ok = np.array_equal(s.run(None, {"x": x, "w": w})[0], want)
        finally:
            os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_options(ort):
    so = ort.SessionOptions()
    assert so.intra_op_num_threads == 0 and so.enable_cpu_mem_arena is True and so.log_severity_level == -1
    assert so.graph_optimization_level == ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    assert so.profile_file_prefix == "onnxruntime_profile_" and so.use_deterministic_compute is False
    so.add_session_config_entry("session.intra_op.allow_spinning", "0")
    assert so.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    with pytest.raises(RuntimeError, match="SessionOptions does not have configuration with key: k"):
        so.get_session_config_entry("k")
    with pytest.raises(RuntimeError, match="longer than maximum length"):
        so.add_session_config_entry("k" * 2000, "v")
    with pytest.raises(TypeError):
        so.intra_op_num_threads = "many"
    with pytest.raises(AttributeError):
        so.no_such_attribute = 1
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.Fail):
        so.register_custom_ops_library("no_such_library.so")
    ro = ort.RunOptions()
    assert ro.terminate is False and ro.log_severity_level == -1 and ro.logid == ""
    ro.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    assert ro.get_run_config_entry("memory.enable_memory_arena_shrinkage") == "cpu:0"


def test_enums(ort):
    level = ort.GraphOptimizationLevel
    assert level.ORT_ENABLE_ALL.value == 99 and int(level.ORT_ENABLE_ALL) == 99
    assert level.ORT_ENABLE_ALL.name == "ORT_ENABLE_ALL" and str(level.ORT_ENABLE_ALL).endswith(".ORT_ENABLE_ALL")
    assert level(99) == level.ORT_ENABLE_ALL and hash(level(1)) == hash(level.ORT_ENABLE_BASIC)
    assert "ORT_DISABLE_ALL" in level.__members__
    assert pickle.loads(pickle.dumps(level.ORT_ENABLE_BASIC)) == level.ORT_ENABLE_BASIC


def test_module_functions(ort):
    assert ort.get_device() == "CPU" and ort.has_collective_ops() is False
    ort.set_default_logger_severity(3)
    ort.set_default_logger_verbosity(0)
    ort.set_seed(1)
    ort.disable_telemetry_events()
    ort.set_default_logger_severity(2)
    assert ort.get_version_string() and ort.get_build_info() and ort.__version__


def test_import_is_quiet_and_starts_no_thread(sdx):
    code = ("import sys, os, sardonyx; assert 'numpy' not in sys.modules; "
            "assert len(os.listdir('/proc/self/task')) == 1; print('fine', end='')")  # fmt: skip
    out = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert (out.stdout, out.stderr) == ("fine", "")


def test_no_warnings_in_the_usual_case(sdx):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sdx.InferenceSession(models.relu(), providers=CPU).run(None, {"x": X})
