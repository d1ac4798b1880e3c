"""SparseTensor: values and where they are, in coordinate (COO), row (CSR) or block form."""

from __future__ import annotations

from . import _native
from ._enums import OrtSparseFormat
from ._errors import InvalidArgument, make


class _Coo:
    def __init__(self, indices):
        self._indices = indices

    def indices(self):
        """int64: [n] counted in the flattened tensor, or [n, rank]."""
        return self._indices


class _Csr:
    def __init__(self, inner, outer):
        self._inner, self._outer = inner, outer

    def inner(self):
        """int64: the column of each value."""
        return self._inner

    def outer(self):
        """int64: where each row begins, and the end."""
        return self._outer


class _Blocks:
    def __init__(self, indices):
        self._indices = indices

    def indices(self):
        """int32 [2, n]: row and column of each block."""
        return self._indices


class SparseTensor:
    """A tensor of which only some elements are stored."""

    def __init__(self, dense_shape, values, layout, *indices):
        self._shape, self._values, self._layout, self._indices = list(dense_shape), values, layout, indices

    @classmethod
    def sparse_coo_from_numpy(cls, dense_shape, values, coo_indices, ort_device=None):
        """values: 1-D array. coo_indices: int64, [n] counted in the flattened tensor, or [n, rank]."""
        import numpy as np

        indices = np.asarray(coo_indices, dtype=np.int64)
        n = len(values)
        if values.ndim != 1 or indices.size not in (n, n * len(dense_shape)):
            raise make(InvalidArgument, f"{n} values, but indices of shape {indices.shape}")
        return cls(dense_shape, values, OrtSparseFormat.ORT_SPARSE_COO, indices)

    @classmethod
    def sparse_csr_from_numpy(cls, dense_shape, values, inner_indices, outer_indices, ort_device=None):
        """A matrix: values row by row, inner_indices their columns, outer_indices where each row begins and the end."""
        import numpy as np

        inner, outer = np.asarray(inner_indices, dtype=np.int64), np.asarray(outer_indices, dtype=np.int64)
        if len(dense_shape) != 2 or len(inner) != len(values) or (len(values) and len(outer) != dense_shape[0] + 1):
            raise make(InvalidArgument, f"CSR: {len(values)} values, {len(inner)} columns and {len(outer)} row ends do "
                       f"not fit shape {list(dense_shape)}")
        return cls(dense_shape, values, OrtSparseFormat.ORT_SPARSE_CSRC, inner, outer)

    @classmethod
    def blocksparse_from_numpy(cls, dense_shape, values, indices, ort_device=None):
        """values: [n, ...] blocks. indices: int32 [2, n]."""
        import numpy as np

        indices = np.asarray(indices, dtype=np.int32)
        return cls(dense_shape, values, OrtSparseFormat.ORT_SPARSE_BLOCK_SPARSE, indices)

    def _get_c_tensor(self):
        return self

    def _value(self) -> _native.Value:
        """As sessions take it: coordinates."""
        wrap = _native.Value.wrap
        return _native.Value.sparse(self._shape, wrap(self._values), wrap(self._coordinates()))

    @property
    def _sdx_value_(self):
        return self._value()

    def _coordinates(self):
        import numpy as np

        if self._layout == OrtSparseFormat.ORT_SPARSE_COO:
            return self._indices[0]
        if self._layout == OrtSparseFormat.ORT_SPARSE_CSRC:
            inner, outer = self._indices
            rows = np.repeat(np.arange(len(outer) - 1 if len(outer) else 0, dtype=np.int64), np.diff(outer))
            return rows * self._shape[1] + inner
        raise make(InvalidArgument, "block-sparse tensors cannot be fed: give coordinates or rows")

    def values(self):
        """The stored elements."""
        return self._values

    def as_coo_view(self) -> _Coo:
        """``.indices()`` of coordinates."""
        self._need(OrtSparseFormat.ORT_SPARSE_COO)
        return _Coo(self._indices[0])

    def as_csrc_view(self) -> _Csr:
        """``.inner()`` and ``.outer()`` of rows."""
        self._need(OrtSparseFormat.ORT_SPARSE_CSRC)
        return _Csr(*self._indices)

    def as_blocksparse_view(self) -> _Blocks:
        """``.indices()`` of blocks."""
        self._need(OrtSparseFormat.ORT_SPARSE_BLOCK_SPARSE)
        return _Blocks(self._indices[0])

    get_coo_data, get_csrc_data, get_blocksparse_data = as_coo_view, as_csrc_view, as_blocksparse_view

    def _need(self, layout):
        if self._layout != layout:
            raise RuntimeError(f"the sparse tensor is {self._layout.name}, not {layout.name}")

    def format(self) -> OrtSparseFormat:
        """How the places of values are told."""
        return self._layout

    def dense_shape(self) -> list[int]:
        """Sizes of the whole tensor."""
        return list(self._shape)

    def data_type(self) -> str:
        """"sparse_tensor(float)"..."""
        return f"sparse_tensor({_native.dtype_name(_native.dtype_code(self._values.dtype))})"

    def device_name(self) -> str:
        """Where the memory is: "cpu"."""
        return "cpu"

    def to_cuda(self, ort_device):
        """There is no such device here."""
        raise RuntimeError("this build has the CPU only")


def from_value(value: _native.Value) -> SparseTensor:
    shape, values, indices = value.sparse_parts()
    return SparseTensor(shape, values, OrtSparseFormat.ORT_SPARSE_COO, indices)
