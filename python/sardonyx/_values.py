"""OrtValue, OrtValueVector, IOBinding: tensors and other values, and runs prepared with them."""

from __future__ import annotations

import operator

from . import _native
from ._devices import OrtDevice, check_cpu
from ._errors import InvalidArgument, make

_TENSOR, _SEQUENCE, _MAP, _SPARSE = 1, 2, 3, 4


def type_code(element_type) -> int:
    """ONNX's number of an element type: given as that number, or as a NumPy dtype, type or name."""
    if isinstance(element_type, int):
        return operator.index(element_type)
    code = _native.dtype_code(element_type)
    if code == 0:
        raise TypeError(f"{element_type!r} has no counterpart among ONNX's element types")
    return code


class OrtValue(_native.Value):
    """A tensor, sequence, map or sparse tensor that sessions take and give."""

    __slots__ = ()

    def __new__(cls, value, *_):
        """Another object for the same content."""
        return cls.share(value)

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj, device_type="cpu", device_id=0):
        """An OrtValue over the array's memory (copied when it is not contiguous, or holds strings)."""
        check_cpu(device_type)
        if not hasattr(numpy_obj, "dtype") and not hasattr(numpy_obj, "__dlpack__"):
            raise RuntimeError("Creation of OrtValues is only supported from numpy arrays")
        return cls.wrap(numpy_obj)

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data, /, onnx_element_type):
        """The array's memory read as another element type of the same size: uint16 as bfloat16, say."""
        code = type_code(onnx_element_type)
        nbits, have = _native.dtype_nbits(code), data.dtype.itemsize * 8
        shape = list(data.shape)
        if nbits < 8 and have == 8:  # packed already
            if not shape:
                raise ValueError("packed elements need at least one dimension")
            shape[-1] *= 8 // nbits
        elif nbits != have:
            raise ValueError(f"elements of {have} bits cannot be read as {_native.dtype_name(code)} of {nbits} bits")
        whole = cls.wrap(data if data.dtype.kind in "biufc" else data.view(f"uint{have}"))
        return cls.over(whole.address or 64, shape, code, whole)

    @classmethod
    def ortvalue_from_shape_and_type(cls, shape, element_type, device_type="cpu", device_id=0, vendor_id=-1):
        """A tensor of zeros; element_type is a NumPy dtype or ONNX's number."""
        check_cpu(device_type)
        return cls.create(shape, type_code(element_type))

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor):
        """An OrtValue of a SparseTensor."""
        return cls.share(sparse_tensor._value())

    @classmethod
    def from_dlpack(cls, data, /):
        """An OrtValue over the memory of any tensor with ``__dlpack__``, or of a capsule."""
        return cls._from_dlpack(data)

    def as_sparse_tensor(self):
        """The SparseTensor inside."""
        from ._sparse import from_value

        if self.kind != _SPARSE:
            raise make(InvalidArgument, "the OrtValue holds no sparse tensor")
        return from_value(self)

    @property
    def _ortvalue(self):
        return self

    def _get_c_value(self):
        return self

    def data_ptr(self) -> int:
        """Address of the first element; 0 when there is none."""
        return self.address

    def device_name(self) -> str:
        """Where the memory is: "cpu"."""
        return "cpu"

    def shape(self) -> list[int]:
        """Sizes of the dimensions."""
        return self.dims

    def data_type(self) -> str:
        """"tensor(float)", "seq(tensor(int64))"... """
        name = _native.dtype_name(self.dtype_code)
        if self.kind == _SEQUENCE:
            return f"seq(tensor({name}))"
        if self.kind == _SPARSE:
            return f"sparse_tensor({self.as_sparse_tensor().data_type()[14:-1]})"
        return f"tensor({name})" if self.kind == _TENSOR else ""

    def element_type(self) -> int:
        """ONNX's number of the element type."""
        if self.kind not in (_TENSOR, _SEQUENCE):
            raise RuntimeError("element_type: the OrtValue is no tensor or sequence of tensors")
        return self.dtype_code

    def tensor_size_in_bytes(self) -> int:
        """Bytes of the elements."""
        return self.nbytes

    def has_value(self) -> bool:
        """False for an empty optional."""
        return self.kind != 0

    def is_tensor(self) -> bool:
        """Whether it is a dense tensor."""
        return self.kind == _TENSOR

    def is_sparse_tensor(self) -> bool:
        """Whether it is a sparse tensor."""
        return self.kind == _SPARSE

    def is_tensor_sequence(self) -> bool:
        """Whether it is a sequence."""
        return self.kind == _SEQUENCE

    def numpy(self):
        """The array over this value's memory (a copy for strings); of other values a list or dict."""
        if self.kind == _SPARSE:
            raise RuntimeError("Only OrtValues that are Tensors/TensorSequences are convertible to Numpy objects")
        return self.python()

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def to_dlpack(self):
        """A DLPack capsule over this value's memory."""
        return self.__dlpack__()

    def update_inplace(self, data) -> None:
        """Copies an array or OrtValue of the same type and size into this value's memory."""
        if not hasattr(data, "dtype") and not isinstance(data, _native.Value):
            raise TypeError("data must be a numpy.ndarray or an OrtValue.")
        source = data if isinstance(data, _native.Value) else _native.Value.wrap(data)
        self.assign(source)

    def __repr__(self):
        return f"<OrtValue {self.data_type()} {self.dims}>" if self.kind == _TENSOR else f"<OrtValue of kind {self.kind}>"


class OrtValueVector:
    """A list of OrtValues."""

    def __init__(self, values=()):
        self._values: list[OrtValue] = list(values)

    def push_back(self, value, is_bool_tensor=False) -> None:
        """Appends an OrtValue, or what has ``__dlpack__``."""
        self._values.append(value if isinstance(value, _native.Value) else OrtValue.from_dlpack(value))

    def push_back_batch(self, tensors, data_ptrs, element_types, shapes, devices) -> None:
        """Appends tensors at addresses that their owners keep."""
        for owner, ptr, dtype, shape in zip(tensors, data_ptrs, element_types, shapes):
            self._values.append(OrtValue.over(ptr, list(shape), type_code(dtype), owner))

    def reserve(self, n) -> None:
        """Accepted."""

    def shrink_to_fit(self) -> None:
        """Accepted."""

    def element_type_at(self, i) -> int:
        """ONNX's number of element i's type."""
        return self._values[i].element_type()

    def bool_tensor_indices(self) -> list[int]:
        """Which are tensors of bool."""
        return [i for i, v in enumerate(self._values) if v.element_type() == 9]

    def dlpack_at(self, i):
        """Element i as a DLPack capsule."""
        return self._values[i].__dlpack__()

    def to_dlpacks(self, to_tensor=None) -> list:
        """All as DLPack capsules, each through to_tensor when that is given."""
        capsules = [v.__dlpack__() for v in self._values]
        return [to_tensor(c) for c in capsules] if to_tensor else capsules

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        return iter(self._values)

    def __getitem__(self, i):
        return self._values[i]


class IOBinding:
    """A run whose inputs and outputs are set once and kept for any number of runs of its session."""

    def __init__(self, session):
        self._session = session
        self._inputs: dict[str, _native.Value] = {}
        self._outputs: dict[str, _native.Value | None] = {}
        self._native: _native.Binding | None = None

    @property
    def _iobinding(self):
        return self

    def _binding(self):
        if self._native is None:
            self._native = _native.Binding(self._session._sess)
            for name, value in self._inputs.items():
                self._native.set_input(name, value)
            for name, value in self._outputs.items():
                self._native.set_output(name, value)
        return self._native

    def _known(self, name, ports):
        if not any(p.name == name for p in ports):
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")

    def _set_input(self, name, value) -> None:
        s = self._session
        self._known(name, s._inputs_meta if name not in [o.name for o in s._overridable_initializers]
                    else s._overridable_initializers)
        self._inputs[name] = value
        if self._native is not None:
            self._native.set_input(name, value)

    def _set_output(self, name, value) -> None:
        self._known(name, self._session._outputs_meta)
        self._outputs[name] = value
        if self._native is not None:
            self._native.set_output(name, value)

    def _run(self, run_options) -> None:
        self._binding().run(run_options)

    def bind_cpu_input(self, name: str, arr_on_cpu) -> None:
        """Feeds an array; its memory is read by each run."""
        self._set_input(name, _native.Value.wrap(arr_on_cpu))

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr) -> None:
        """Feeds the memory at an address, which the caller keeps."""
        check_cpu(device_type)
        self._set_input(name, _native.Value.over(buffer_ptr or 0, list(shape), type_code(element_type), None))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Feeds an OrtValue."""
        self._set_input(name, ortvalue)

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None) -> None:
        """Asks for an output: in new memory each time, or in the memory at an address, which the caller keeps."""
        check_cpu(device_type)
        if buffer_ptr is None:
            self._set_output(name, None)
            return
        if element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        self._set_output(name, _native.Value.over(buffer_ptr, list(shape), type_code(element_type), None))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Has an output written into an OrtValue."""
        self._set_output(name, ortvalue)

    def synchronize_inputs(self) -> None:
        """Nothing to wait for on the CPU."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for on the CPU."""

    def get_outputs(self) -> list[OrtValue]:
        """The last run's results, in the order they were bound."""
        native = self._binding()
        names = list(self._outputs) or [o.name for o in self._session._outputs_meta]
        values = [native.output(name) for name in names]
        return [OrtValue.share(v) for v in values if v is not None]

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        """The last run's results."""
        return OrtValueVector(self.get_outputs())

    def copy_outputs_to_cpu(self) -> list:
        """The last run's results as arrays with memory of their own."""
        results = []
        for value in self.get_outputs():
            array = value.python()
            results.append(array.copy() if value.kind == _TENSOR and value.nbytes else array)
        return results

    def clear_binding_inputs(self) -> None:
        """Forgets the inputs."""
        self._inputs.clear()
        self._native = None

    def clear_binding_outputs(self) -> None:
        """Forgets the outputs."""
        self._outputs.clear()
        self._native = None


def copy_tensors(src, dst, stream=None) -> None:
    """Copies each tensor of src into the one of dst at the same place."""
    for a, b in zip(src, dst):
        b.update_inplace(a)


__all__ = ["IOBinding", "OrtDevice", "OrtValue", "OrtValueVector", "copy_tensors", "type_code"]
