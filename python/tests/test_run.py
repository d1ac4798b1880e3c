"""run: what goes in, what comes out. On both packages."""

import numpy as np
import pytest
from onnx import TensorProto

import models

X = np.array([[1, 2], [3, 4]], np.float32)
W = np.array([[1, 0, 1], [0, 1, 1]], np.float32)


def session(ort, model, **kw):
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"], **kw)


def test_all_outputs(ort):
    s = session(ort, models.two())
    feed = {"a": np.array([1, 2], np.float32), "b": np.array([3, 4], np.float32)}
    for names in (None, []):
        results = s.run(names, feed)
        assert isinstance(results, list) and len(results) == 2
        assert results[0].tolist() == [4, 6] and results[1].tolist() == [3, 8]


def test_chosen_outputs_and_keywords(ort):
    s = session(ort, models.two())
    feed = {"b": np.array([3, 4], np.float32), "a": np.array([1, 2], np.float32)}
    (p,) = s.run(["p"], feed)
    assert p.tolist() == [3, 8]
    p, t = s.run(output_names=["p", "s"], input_feed=feed, run_options=None)
    assert p.tolist() == [3, 8] and t.tolist() == [4, 6]


def test_results_are_arrays_of_their_own(ort):
    s = session(ort, models.relu())
    x = np.array([-1, 2], np.float32)
    a, b = s.run(None, {"x": x})[0], s.run(None, {"x": x})[0]
    a[0] = 9
    assert type(a) is np.ndarray and a.flags.writeable and b.tolist() == [0, 2] and x.tolist() == [-1, 2]


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"],
)
def test_number_types(ort, dtype):
    code = getattr(TensorProto, {"float32": "FLOAT", "float64": "DOUBLE"}.get(dtype, dtype.upper()))
    x = np.arange(6).astype(dtype)
    (y,) = session(ort, models.identity(code)).run(None, {"x": x})
    assert y.dtype == x.dtype and np.array_equal(x, y)


def test_scalars_and_empty(ort):
    s = session(ort, models.identity(TensorProto.FLOAT, []))
    (y,) = s.run(None, {"x": np.array(3, np.float32)})
    assert y.shape == () and y == 3
    s = session(ort, models.identity(TensorProto.FLOAT, ["N", 3]))
    (y,) = s.run(None, {"x": np.zeros((0, 3), np.float32)})
    assert y.shape == (0, 3)


def test_any_strides(ort):
    s = session(ort, models.identity(TensorProto.FLOAT, ["A", "B"]))
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (x.T, x[::2, ::-1], x[:, 1:5], np.asfortranarray(x), np.broadcast_to(x[:1], (3, 6))):
        assert np.array_equal(s.run(None, {"x": view})[0], view)


def test_read_only_input(ort):
    x = np.array([1, -2], np.float32)
    x.flags.writeable = False
    assert session(ort, models.relu()).run(None, {"x": x})[0].tolist() == [1, 0]


def test_lists_take_the_declared_type(ort):
    s = session(ort, models.matmul())
    (y,) = s.run(None, {"x": [[1, 2], [3, 4]], "w": W})
    assert y.tolist() == (X @ W).tolist()
    s = session(ort, models.identity(TensorProto.INT64, ["N"]))
    assert s.run(None, {"x": [448]})[0].tolist() == [448]


@pytest.mark.parametrize("dtype", ["U", "O"])
def test_strings(ort, dtype):
    s = session(ort, models.identity(TensorProto.STRING, ["A", "B"]))
    x = np.array([["a", ""], ["Zürich", "日本"]], dtype=dtype)
    (y,) = s.run(None, {"x": x})
    assert y.dtype == object and y.tolist() == x.tolist() and y.shape == (2, 2)


def test_bytes_strings(sdx):  # upstream 1.32 runs elements of full width into each other
    (y,) = session(sdx, models.identity(TensorProto.STRING)).run(None, {"x": np.array([b"ab", b"c"])})
    assert y.tolist() == ["ab", "c"]


def test_ort_values_among_arrays(ort):
    s = session(ort, models.matmul())
    (y,) = s.run(None, {"x": ort.OrtValue.ortvalue_from_numpy(X), "w": W})
    assert y.tolist() == (X @ W).tolist()


def test_sequences(ort):
    s = session(ort, models.sequence())
    y, n = s.run(None, {"x": [X, W], "t": np.array([5], np.float32)})
    assert n == 3 and isinstance(y, list)
    assert [a.tolist() for a in y] == [X.tolist(), W.tolist(), [5]]


def test_zipmap_gives_dicts(ort):
    (y,) = session(ort, models.zipmap()).run(None, {"x": X})
    assert y == [{10: 1.0, 20: 2.0}, {10: 3.0, 20: 4.0}]
    assert type(y[0]) is dict and type(next(iter(y[0]))) is int


def test_dicts_go_in(ort):
    s = session(ort, models.dict_vectorizer())
    assert s.run(None, {"x": {"a": 1.0, "c": 3.0}})[0].tolist() == [[1, 0, 3]]
    with pytest.raises(Exception, match="Size of dictionary is empty"):
        s.run(None, {"x": {}})


def test_optional_inputs_may_be_missing(ort):
    s = session(ort, models.optional())
    if ort.__name__ == "sardonyx":
        assert s.run(None, {})[0] == False  # noqa: E712
    assert s.run(None, {"x": np.zeros(2, np.float32)})[0] == True  # noqa: E712


def test_overridable_initializers(ort):
    s = session(ort, models.overridable())
    x = np.array([1, 2], np.float32)
    assert [i.name for i in s.get_inputs()] == ["x"]
    assert [(i.name, i.type, i.shape) for i in s.get_overridable_initializers()] == [("w", "tensor(float)", [2])]
    assert s.run(None, {"x": x})[0].tolist() == [11, 22]
    assert s.run(None, {"x": x, "w": x})[0].tolist() == [2, 4]


def test_run_with_ort_values(ort):
    s = session(ort, models.matmul())
    feeds = {"x": ort.OrtValue.ortvalue_from_numpy(X), "w": ort.OrtValue.ortvalue_from_numpy(W)}
    (y,) = s.run_with_ort_values(["y"], feeds)
    assert isinstance(y, ort.OrtValue) and y.numpy().tolist() == (X @ W).tolist()


def test_run_async(ort):
    import threading

    so = ort.SessionOptions()
    so.intra_op_num_threads = 2
    s, done, got = session(ort, models.relu(), sess_options=so), threading.Event(), []

    def callback(results, user_data, error):
        got.append((results[0].tolist() if results else None, user_data, error))
        done.set()

    s.run_async(None if ort.__name__ == "sardonyx" else ["y"], {"x": np.array([-1, 1], np.float32)}, callback, "mine")
    assert done.wait(10) and got == [([0, 1], "mine", "")]


def test_many_threads_one_session(ort):
    from concurrent.futures import ThreadPoolExecutor

    s = session(ort, models.matmul())

    def work(k):
        for n in range(1, 40):
            x = np.full((n, 2), k, np.float32)
            assert np.array_equal(s.run(None, {"x": x, "w": W})[0], x @ W)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_many_ports(ort):
    n = 40
    ins, outs = (", ".join(f"float[1] {c}{i}" for i in range(n)) for c in "xy")
    nodes = " ".join(f"y{i} = Neg(x{i})" for i in range(n))
    s = session(ort, models.text(f"g ({ins}) => ({outs}) {{ {nodes} }}"))
    results = s.run(None, {f"x{i}": np.array([i], np.float32) for i in range(n)})
    assert [r.item() for r in results] == [-i for i in range(n)]
