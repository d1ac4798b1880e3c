"""What comes with the package: the alias, the backend, helpers, reports. Ours only."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest

import models

X = np.array([-1, 2], np.float32)


def python(code, **env):
    """Runs code in a new process; its output."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


# ---- standing in for onnxruntime -------------------------------------------------------------------------------------

ALIAS = """
import importlib.util, sys
import onnxruntime as ort, sardonyx
assert ort.__version__.endswith("+sardonyx"), ort.__version__
assert ort.InferenceSession is sardonyx.InferenceSession
assert ort.__path__ and ort.__file__
import onnxruntime.capi._pybind_state as a, sardonyx.capi._pybind_state as b
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, NotImplemented
assert a is b and a.Fail is Fail is sardonyx.Fail
import onnxruntime.backend, onnxruntime.datasets, onnxruntime.tools, onnxruntime.quantization
from onnxruntime.transformers.optimizer import optimize_model
from onnxruntime.transformers.fusion_options import FusionOptions
assert importlib.util.find_spec("onnxruntime.training") is None
assert importlib.util.find_spec("onnxruntime") is not None
assert sardonyx.capi.__spec__.name == "sardonyx.capi"
s = ort.InferenceSession(ort.datasets.get_example("sigmoid.onnx"))
print(s.get_inputs()[0].shape)
"""


def test_import_as_onnxruntime(sdx):
    assert python("import sardonyx.as_onnxruntime" + ALIAS) == "[3, 4, 5]"


def test_a_genuine_one_imported_before_is_told(sdx):
    pytest.importorskip("onnxruntime")
    code = "import onnxruntime\ntry:\n import sardonyx.as_onnxruntime\nexcept ImportError as e:\n print(e)"
    assert "imported before" in python(code)


def test_environment_variable(sdx):
    if not (pathlib.Path(sdx.__file__).parent.parent / "sardonyx.pth").exists():
        pytest.skip("the package is not installed")
    assert python(ALIAS, SARDONYX_AS_ONNXRUNTIME="1") == "[3, 4, 5]"


def test_compat_in_an_environment(sdx, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    os.symlink(pathlib.Path(sdx.__file__).parent, site / "sardonyx")
    for name in ("numpy", "numpy.libs", "ml_dtypes"):
        found = pathlib.Path(np.__file__).parent.parent / name
        if found.exists():
            os.symlink(found, site / name)

    def run(code):
        return subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(site)!r})\n{code}"],
                              capture_output=True, text=True, check=False)  # fmt: skip

    enabled = run(f"from sardonyx import compat; print(compat.enable({str(site)!r}))")
    assert enabled.stdout.startswith("enabled"), enabled.stderr
    used = run(ALIAS + "\nimport importlib.metadata as m; print(m.version('onnxruntime'))")
    assert used.stdout.split("\n")[:2] == ["[3, 4, 5]", "1.32.0+sardonyx"], used.stderr
    assert run(f"from sardonyx import compat; print(compat.status({str(site)!r}))").stdout.startswith("enabled")
    assert run(f"from sardonyx import compat; print(compat.enable({str(site)!r}))").stdout.startswith("enabled")
    record = (site / "onnxruntime-1.32.0+sardonyx.dist-info" / "RECORD").read_text()
    assert all((site / line.split(",")[0]).exists() for line in record.split())
    assert run(f"from sardonyx import compat; print(compat.disable({str(site)!r}))").stdout.startswith("disabled")
    assert not [p for p in site.iterdir() if p.name.startswith("onnxruntime")]
    (site / "onnxruntime").mkdir()
    refused = run(f"from sardonyx import compat; compat.enable({str(site)!r})")
    assert "genuine" in refused.stderr and (site / "onnxruntime").exists()


def test_command(sdx):
    run = subprocess.run([sys.executable, "-m", "sardonyx", "compat", "wrong"], capture_output=True, text=True, check=False)
    assert run.returncode == 2 and "usage" in run.stderr
    if (pathlib.Path(sdx.__file__).parent / "bin" / "sdx").exists():
        out = subprocess.run([sys.executable, "-m", "sardonyx", "sys"], capture_output=True, text=True, check=True)
        assert "cpu" in out.stdout.lower()


# ---- helpers ---------------------------------------------------------------------------------------------------------


def test_backend(sdx):
    from sardonyx import backend

    model = onnx.load_from_string(models.two())
    assert backend.supports_device("CPU") and not backend.supports_device("CUDA") and backend.is_compatible(model)
    rep = backend.prepare(model, "CPU")
    a, b = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    assert rep.run([a, b])[0].tolist() == [4, 6] and rep.run({"b": b, "a": a})[1].tolist() == [3, 8]
    assert backend.run(models.relu(), X)[0].tolist() == [0, 2]


def test_datasets(sdx):
    s = sdx.InferenceSession(sdx.datasets.get_example("mul_1.onnx"))
    assert s.run(None, {"X": np.ones((3, 2), np.float32)})[0].ravel().tolist() == [1, 2, 3, 4, 5, 6]
    s = sdx.InferenceSession(sdx.datasets.get_example("logreg_iris.onnx"))
    label, probabilities = s.run(None, {"float_input": np.array([[5.1, 3.5], [6, 2], [7, 3]], np.float32)})
    assert label.tolist() == [0, 1, 2] and abs(sum(probabilities[0].values()) - 1) < 1e-6
    with pytest.raises(FileNotFoundError):
        sdx.datasets.get_example("nope.onnx")


def test_symbolic_shapes(sdx):
    from sardonyx.tools.symbolic_shape_infer import SymbolicShapeInference

    graph = "g (float[N,4,6] x) => (float[A,B] y) { t, u = Split<axis = 1>(x) f = Flatten(t) s = Shape(f) y = Relu(f) }"
    model = SymbolicShapeInference.infer_shapes(onnx.load_from_string(models.text(graph)), auto_merge=True)
    shapes = {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.value_info}
    assert shapes["t"] == ["N", 2, 6] and shapes["u"] == ["N", 2, 6] and shapes["f"] == ["N", 12] and shapes["s"] == [2]


def test_model_utils(sdx):
    from sardonyx.tools import onnx_model_utils as utils

    model = onnx.load_from_string(models.matmul())
    utils.make_dim_param_fixed(model.graph, "N", 3)
    utils.make_input_shape_fixed(model.graph, "w", [2, 5])
    assert all(utils.is_fixed_size_tensor(v) for v in [*model.graph.input, *model.graph.output])
    assert sdx.InferenceSession(model.SerializeToString()).get_outputs()[0].shape == [3, 5]


def test_optimize_model(sdx, tmp_path):
    from sardonyx.transformers.fusion_options import FusionOptions
    from sardonyx.transformers.io_binding_helper import TypeHelper
    from sardonyx.transformers.optimizer import optimize_model

    graph = "g (float[N] x) => (float[N] y) { s = Sigmoid(x) m = Mul(x, s) z = Identity(m) y = Neg(z) }"
    path = tmp_path / "m.onnx"
    path.write_bytes(models.text(graph))
    m = optimize_model(str(path), "bert", 4, 64, optimization_options=FusionOptions("bert"), opt_level=99)
    assert len(m.nodes()) < 4 and m.get_operator_statistics()
    m.save_model_to_file(tmp_path / "o.onnx", use_external_data_format=False)
    s = sdx.InferenceSession(tmp_path / "o.onnx")
    want = -X / (1 + np.exp(-X))
    assert np.allclose(s.run(None, {"x": X})[0], want) and TypeHelper.get_io_numpy_type_map(s)["x"] is np.float32


def test_quantization_says_so(sdx):
    with pytest.raises(NotImplementedError, match="quantize_dynamic"):
        sdx.quantization.quantize_dynamic("a", "b")


def test_compiler(sdx, tmp_path):
    c = sdx.ModelCompiler(sdx.SessionOptions(), models.relu())
    c.compile_to_file(str(tmp_path / "c.onnx"))
    assert sdx.InferenceSession(c.compile_to_bytes()).run(None, {"x": X})[0].tolist() == [0, 2]


def test_tensor_helpers(sdx, tmp_path):
    from sardonyx import tensor

    s = sdx.InferenceSession(models.matmul())
    feed = tensor.feeds(s, {"N": 3, "M": 4})
    assert feed["x"].shape == (3, 2) and feed["w"].shape == (2, 4) and feed["x"].dtype == np.float32
    wide = {k: v.astype(np.float64) for k, v in feed.items()}
    got = s.run(None, tensor.cast(s, wide))
    assert tensor.compare(got, [feed["x"] @ feed["w"]])["equal"]
    assert not tensor.compare(got, [feed["x"] @ feed["w"] + 1])["equal"]
    assert tensor.compare([{1: 2.0}], [{1: 2.0}])["equal"] and not tensor.compare([{1: 2.0}], [{2: 2.0}])["equal"]
    tensor.save(tmp_path / "x.pb", feed["x"], "x")
    assert np.array_equal(tensor.load(tmp_path / "x.pb"), feed["x"])
    assert onnx.load_tensor(tmp_path / "x.pb").name == "x"
    assert tensor.dtype("tensor(int64)") == np.int64 and tensor.dtype(s.get_inputs()[0]) == np.float32


def test_report(sdx):
    s = sdx.InferenceSession(
        models.text("g (float[N] x) => (float[N] y) { s = Sigmoid(x) m = Mul(x, s) z = Identity(m) y = Neg(z) }"))
    r = s.report({"x": X})
    assert r.providers == {"cpu": len(r.nodes)} and r.rewrites and r.plan_bytes >= 0
    assert "nodes run" in str(r) and "<pre>" in r._repr_html_()
    s.trim()
    (info,) = s.get_provider_graph_assignment_info()
    assert info.ep_name == "CPUExecutionProvider" and info.get_nodes()[0].op_type


def test_pictures(sdx):
    s = sdx.InferenceSession(models.with_metadata())
    assert "float[N]" in repr(s) and "<svg" in s._repr_html_() and "maker" in s._repr_html_()
