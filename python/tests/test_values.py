"""OrtValue, IOBinding, SparseTensor, DLPack, rare element types."""

import gc

import numpy as np
import pytest
from onnx import TensorProto

import models

CPU = ["CPUExecutionProvider"]
X = np.array([[1, 2], [3, 4]], np.float32)
W = np.array([[1, 0, 1], [0, 1, 1]], np.float32)


def test_ort_value(ort):
    v = ort.OrtValue.ortvalue_from_numpy(X)
    assert v.shape() == [2, 2] and v.data_type() == "tensor(float)" and v.element_type() == TensorProto.FLOAT
    assert v.device_name() == "cpu" and v.is_tensor() and v.has_value()
    assert not v.is_sparse_tensor() and not v.is_tensor_sequence()
    assert v.data_ptr() == X.ctypes.data and np.array_equal(v.numpy(), X)
    assert v.tensor_size_in_bytes() == 16 and np.array_equal(np.asarray(v), X)
    assert ort.OrtValue.ortvalue_from_numpy(np.zeros((0, 2), np.float32)).data_ptr() == 0
    for dtype in (np.int64, TensorProto.INT64):
        v = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], dtype)
        assert v.shape() == [2, 3] and v.numpy().dtype == np.int64
    v = ort.OrtValue.ortvalue_from_shape_and_type([2, 2], np.float32, "cpu", 0)
    v.update_inplace(X)
    assert np.array_equal(v.numpy(), X)


def test_ort_value_keeps_its_memory(sdx):  # upstream 1.32 frees it with the OrtValue
    v = sdx.OrtValue.ortvalue_from_numpy(np.full(100_000, 7, np.float32))
    a = v.numpy()
    del v
    gc.collect()
    np.full(100_000, 3, np.float32)
    assert (a == 7).all()


def test_onnx_types(ort):
    half = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([0x3F80, 0x4000], np.uint16), TensorProto.BFLOAT16)
    assert half.data_type() == "tensor(bfloat16)" and half.shape() == [2]
    s = ort.InferenceSession(models.identity(TensorProto.BFLOAT16), providers=CPU)
    (y,) = s.run_with_ort_values(["y"], {"x": half})
    assert y.element_type() == TensorProto.BFLOAT16


def test_binding(ort):
    s = ort.InferenceSession(models.matmul(), providers=CPU)
    b = s.io_binding()
    b.bind_cpu_input("x", X)
    b.bind_input("w", "cpu", 0, np.float32, W.shape, W.ctypes.data)
    b.bind_output("y")
    s.run_with_iobinding(b)
    assert np.array_equal(b.copy_outputs_to_cpu()[0], X @ W)
    assert np.array_equal(b.get_outputs()[0].numpy(), X @ W)
    out = np.zeros((2, 3), np.float32)
    b.clear_binding_outputs()
    b.bind_output(name="y", device_type="cpu", device_id=0, element_type=np.float32, shape=(2, 3),
                  buffer_ptr=out.ctypes.data)  # fmt: skip
    b.synchronize_inputs()
    s.run_with_iobinding(b)
    b.synchronize_outputs()
    assert np.array_equal(out, X @ W)
    v = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
    b.clear_binding_outputs()
    b.bind_ortvalue_output("y", v)
    b.clear_binding_inputs()
    b.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(2 * X))
    b.bind_input("w", "cpu", 0, TensorProto.FLOAT, W.shape, W.ctypes.data)
    s.run_with_iobinding(b)
    assert np.array_equal(v.numpy(), 2 * X @ W) and b.get_outputs()[0].data_ptr() == v.data_ptr()


def test_binding_mistakes(ort):
    b = ort.InferenceSession(models.matmul(), providers=CPU).io_binding()
    with pytest.raises(RuntimeError, match="Failed to find NodeArg with name: z"):
        b.bind_cpu_input("z", X)
    with pytest.raises(ValueError, match="`element_type` and `shape`"):
        b.bind_output("y", "cpu", 0, None, None, 4096)


def test_dlpack(ort):
    v = ort.OrtValue.from_dlpack(X)
    assert v.data_ptr() == X.ctypes.data
    y = ort.OrtValue.ortvalue_from_numpy(X)
    back = np.from_dlpack(y)
    assert np.array_equal(back, X) and back.ctypes.data == X.ctypes.data
    assert y.__dlpack_device__() == (1, 0)


class Foreign:
    """A tensor of some other library: DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kw):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_foreign_tensors_are_fed(sdx):
    s = sdx.InferenceSession(models.matmul())
    assert np.array_equal(s.run(None, {"x": Foreign(X), "w": W})[0], X @ W)
    import array

    s = sdx.InferenceSession(models.relu())
    assert s.run(None, {"x": array.array("f", [1, -1])})[0].tolist() == [1, 0]


def test_zero_copy(sdx):
    s = sdx.InferenceSession(models.identity(TensorProto.FLOAT))
    big = np.arange(1 << 20, dtype=np.float32)
    (y,) = s.run(None, {"x": big})
    assert y.base is not None and not y.flags.owndata and y.ctypes.data % 64 == 0
    del s
    gc.collect()
    assert y[-1] == (1 << 20) - 1


def test_inputs_may_live_on_in_outputs(sdx):
    s = sdx.InferenceSession(models.sequence())
    y, _ = s.run(None, {"x": [np.full(50_000, 1, np.float32)], "t": np.full(50_000, 2, np.float32)})
    gc.collect()
    np.full(50_000, 9, np.float32)
    assert (y[0] == 1).all() and (y[1] == 2).all()


@pytest.mark.parametrize(
    "name",
    ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "int4", "uint4", "float4_e2m1fn"],
)
def test_ml_dtypes(sdx, name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    onnx_name = {"float4_e2m1fn": "FLOAT4E2M1"}.get(name, name.replace("float8_", "FLOAT8").upper())
    dtype = np.dtype(getattr(ml_dtypes, name))
    s = sdx.InferenceSession(models.identity(getattr(TensorProto, onnx_name), ["A", "B"], opset=23))
    x = np.array([[0, 1, 2], [3, 4, -2 if name[0] != "u" else 5]]).astype(dtype)
    for view in (x, x.T, np.asfortranarray(x)):
        (y,) = s.run(None, {"x": view})
        assert y.dtype == dtype and y.astype(np.float32).tolist() == view.astype(np.float32).tolist()
    assert s.get_inputs()[0].type == f"tensor({onnx_name.lower()})"


def test_big_endian_and_unaligned(sdx):
    s = sdx.InferenceSession(models.identity(TensorProto.FLOAT))
    x = np.array([1, 2, 3], ">f4")
    assert s.run(None, {"x": x})[0].tolist() == [1, 2, 3]
    raw = np.zeros(13, np.uint8)
    odd = raw[1:].view(np.float32)
    odd[:] = [4, 5, 6]
    assert s.run(None, {"x": odd})[0].tolist() == [4, 5, 6]


def test_sparse(ort):
    device = ort.OrtDevice.make("cpu", 0)
    values = np.array([5, 7], np.float32)
    s = ort.SparseTensor.sparse_coo_from_numpy([2, 3], values, np.array([1, 5], np.int64), device)
    assert s.dense_shape() == [2, 3] and s.data_type() == "sparse_tensor(float)" and s.device_name() == "cpu"
    assert s.format() == ort.OrtSparseFormat.ORT_SPARSE_COO
    assert s.values().tolist() == [5, 7] and s.as_coo_view().indices().tolist() == [1, 5]
    v = ort.OrtValue.ort_value_from_sparse_tensor(s)
    assert v.is_sparse_tensor() and v.as_sparse_tensor().dense_shape() == [2, 3]
    c = ort.SparseTensor.sparse_csr_from_numpy(
        [2, 3], values, np.array([1, 2], np.int64), np.array([0, 1, 2], np.int64), device
    )
    assert c.format() == ort.OrtSparseFormat.ORT_SPARSE_CSRC
    assert c.as_csrc_view().inner().tolist() == [1, 2] and c.as_csrc_view().outer().tolist() == [0, 1, 2]


def test_devices(ort):
    d = ort.OrtDevice.make("cpu", 0)
    assert d.device_id() == 0 and d.device_type() == 0
    info = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    assert info.name == "Cpu" and info.device_id == 0
    assert ort.OrtArenaCfg({"max_mem": 5}).max_mem == 5
    (e,) = [e for e in ort.get_ep_devices() if e.ep_name == "CPUExecutionProvider"]
    assert e.device.type == ort.OrtHardwareDeviceType.CPU and e.ep_metadata["version"]
    so = ort.SessionOptions()
    so.add_provider_for_devices([e], {})
    assert so.has_providers()
    assert ort.InferenceSession(models.relu(), so).get_providers() == CPU
