"""Failures: class, code, prefix and the phrase that programs look for. On both packages."""

import threading
import time

import numpy as np
import pytest

import models

CPU = ["CPUExecutionProvider"]
X = np.ones((3, 2), np.float32)
W = np.ones((2, 4), np.float32)


def fails(ort, name, code, phrase):
    """raises: one of the classes called name, "[ONNXRuntimeError] : code : ..." and the phrase."""
    module = ort.capi.onnxruntime_pybind11_state
    classes = tuple(getattr(module, n) for n in name.split("|"))
    assert all(c.__bases__ == (Exception,) for c in classes)
    return pytest.raises(classes, match=rf"(?s)^\[ONNXRuntimeError\] : {code} : [A-Z_]+ : .*{phrase}")


def test_run_with_wrong_feeds(ort):
    s = ort.InferenceSession(models.matmul(), providers=CPU)
    with pytest.raises(ValueError, match=r"Required inputs \(\['w'\]\) are missing from input feed \(\['x'\]\)"):
        s.run(None, {"x": X})
    with fails(ort, "InvalidArgument", 2, "Invalid input name: z"):
        s.run(None, {"x": X, "w": W, "z": W})
    with fails(ort, "InvalidArgument", 2, "Invalid output name: ?q"):
        s.run(["q"], {"x": X, "w": W})
    with fails(ort, "InvalidArgument", 2,
               r"Unexpected input data type. Actual: \(tensor\(double\)\) , expected: \(tensor\(float\)\)"):
        s.run(None, {"x": X, "w": W.astype(np.float64)})
    with fails(ort, "InvalidArgument", 2, r"Actual: \(tensor\(string\)\)"):
        s.run(None, {"x": X, "w": np.array(["a"])})
    with fails(ort, "InvalidArgument", 2, "Got invalid dimensions for input: w for the following indices\n"
               " index: 0 Got: 3 Expected: 2\n Please fix either the inputs/outputs or the model."):
        s.run(None, {"x": X, "w": np.ones((3, 4), np.float32)})
    with fails(ort, "InvalidArgument", 2, "Invalid rank for input: w Got: 1 Expected: 2 Please fix"):
        s.run(None, {"x": X, "w": np.ones(3, np.float32)})
    with pytest.raises(TypeError):
        s.run("y", {"x": X, "w": W})
    assert s.run(None, {"x": X, "w": W})[0].shape == (3, 4)


def test_all_bad_feeds_are_listed(sdx):
    s = sdx.InferenceSession(models.matmul())
    with pytest.raises(sdx.InvalidArgument) as e:
        s.run(None, {"x": X.astype(np.int32), "w": np.ones((3, 4), np.float32)})
    text = str(e.value)
    assert "for input x: int32 given, the model wants float32: use x.astype(np.float32)" in text
    assert "Got invalid dimensions for input: w" in text


def test_node_fails(ort):
    s = ort.InferenceSession(
        models.text("g (float[N,K] x, float[L,M] w) => (float[N,M] y) { y = MatMul(x, w) }"), providers=CPU
    )
    with fails(ort, "Fail|RuntimeException", "[16]", "Non-zero status code returned while running MatMul node. Name:"):
        s.run(None, {"x": X, "w": np.ones((3, 4), np.float32)})


def test_node_failure_names_everything(sdx, tmp_path):
    (tmp_path / "m.onnx").write_bytes(
        models.text("g (float[N,K] x, float[L,M] w) => (float[N,M] y) { y = MatMul(x, w) }"))
    s = sdx.InferenceSession(tmp_path / "m.onnx")
    with pytest.raises(sdx.RuntimeException) as e:
        s.run(None, {"x": X, "w": np.ones((3, 4), np.float32)})
    for part in ("MatMul", "x: float32[3,2]", "w: float32[3,4]", "m.onnx", "ai.onnx 17"):
        assert part in str(e.value)


def test_files(ort, tmp_path):
    with fails(ort, "NoSuchFile", 3, "Load model from nope.onnx failed:Load model nope.onnx failed. File doesn't exist"):
        ort.InferenceSession("nope.onnx", providers=CPU)
    (tmp_path / "bad.onnx").write_bytes(b"garbage")
    with fails(ort, "InvalidProtobuf", 7, "bad.onnx failed:Protobuf parsing failed."):
        ort.InferenceSession(tmp_path / "bad.onnx", providers=CPU)
    with fails(ort, "InvalidProtobuf", 7, "Failed to load model because protobuf parsing failed."):
        ort.InferenceSession(b"garbage", providers=CPU)
    with fails(ort, "InvalidArgument", 2, "No graph was found in the protobuf."):
        ort.InferenceSession(b"", providers=CPU)


@pytest.mark.parametrize(
    ("graph", "domains", "name", "code", "phrase"),
    [
        ("{ y = FooBar(x) }", "", "InvalidGraph", 10, "No Op registered for FooBar with domain_version of 17"),
        ("{ y = foo.bar.Baz(x) }", ', "foo.bar" : 1', "Fail", 1, r"foo.bar:Baz\(-1\) is not a registered function/op"),
        ("{ c = Cast<to = 7>(x) y = Add(x, c) }", "", "Fail", 1,
         r"Type Error: Type parameter \(T\) of Optype \(Add\) bound to different types \(tensor\(float\) and "
         r"tensor\(int64\)"),
        ("{ y = Relu<foo = 1>(x) }", "", "InvalidGraph", 10, "Unrecognized attribute: foo for operator Relu"),
        ("{ a = Add(x, y) y = Relu(a) }", "", "Fail", 1, "the graph is not acyclic."),
        ("{ y = Add(x, q) }", "", "InvalidArgument", 2, "Node input 'q' is not a graph input, initializer, or output"),
        ("{ y = Add(x) }", "", "InvalidGraph", 10, "has input size 1 not in range"),
        ("{ c = Constant<value = float[2] {1, 2}>() d = Constant<value = float[3] {1, 2, 3}>() e = Add(c, d) "
         "y = Add(x, e) }", "", "Fail", 1, r"\[ShapeInferenceError\]"),
    ],
)  # fmt: skip
def test_models(ort, graph, domains, name, code, phrase):
    with fails(ort, name, code, phrase):
        ort.InferenceSession(models.text(f"g (float[N] x) => (float[N] y) {graph}", domains=domains), providers=CPU)


def test_terminate(ort):
    s = ort.InferenceSession(models.relu(), providers=CPU)
    ro = ort.RunOptions()
    ro.terminate = True
    with fails(ort, "Fail", 1, "Exiting due to terminate flag being set to true."):
        s.run(None, {"x": np.ones(2, np.float32)}, ro)
    ro.terminate = False
    assert s.run(None, {"x": np.ones(2, np.float32)}, ro)[0].tolist() == [1, 1]


def test_terminate_from_another_thread(ort):
    s = ort.InferenceSession(models.loop(), providers=CPU)
    ro = ort.RunOptions()
    t = threading.Thread(target=lambda: (time.sleep(0.3), setattr(ro, "terminate", True)))
    t.start()
    with fails(ort, "Fail|RuntimeException", "[16]", "terminate flag"):
        s.run(None, {"x": np.ones(1, np.float32)}, ro)
    t.join()


def test_limits(sdx):
    s = sdx.InferenceSession(models.loop())
    ro = sdx.RunOptions()
    ro.timeout_ns = 50_000_000
    with pytest.raises(sdx.Fail, match="time"):
        s.run(None, {"x": np.ones(1, np.float32)}, ro)
    ro = sdx.RunOptions()
    ro.max_trips = 1000
    with pytest.raises(sdx.Fail, match="trips"):
        s.run(None, {"x": np.ones(1, np.float32)}, ro)


def test_cancelled_load(sdx):
    so = sdx.SessionOptions()
    so.set_load_cancellation_flag(True)
    with pytest.raises(sdx.ModelLoadCanceled):
        sdx.InferenceSession(models.relu(), so)
