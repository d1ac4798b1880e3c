"""TypeHelper: element types of ports and values in NumPy's and PyTorch's words."""

from __future__ import annotations

from ..tensor import dtype


class TypeHelper:
    @staticmethod
    def get_input_type(ort_session, name: str) -> str:
        """The type of an input, as NodeArg has it."""
        return next(i.type for i in ort_session.get_inputs() if i.name == name)

    @staticmethod
    def get_output_type(ort_session, name: str) -> str:
        """The type of an output, as NodeArg has it."""
        return next(o.type for o in ort_session.get_outputs() if o.name == name)

    @staticmethod
    def ort_type_to_numpy_type(ort_type: str):
        """NumPy's scalar type for "tensor(float)" and others."""
        return dtype(ort_type).type

    @staticmethod
    def ort_type_to_torch_type(ort_type: str):
        """PyTorch's dtype for "tensor(float)" and others."""
        import torch

        return getattr(torch, {"bool_": "bool"}.get(dtype(ort_type).name, dtype(ort_type).name))

    @staticmethod
    def numpy_type_to_torch_type(numpy_type):
        """PyTorch's dtype for a NumPy type."""
        import numpy
        import torch

        return getattr(torch, numpy.dtype(numpy_type).name)

    @staticmethod
    def torch_type_to_numpy_type(torch_type):
        """NumPy's scalar type for a PyTorch dtype."""
        import numpy

        return numpy.dtype(str(torch_type).rpartition(".")[2]).type

    @staticmethod
    def get_io_numpy_type_map(ort_session) -> dict:
        """{name: NumPy type} of inputs and outputs."""
        return {p.name: dtype(p).type for p in [*ort_session.get_inputs(), *ort_session.get_outputs()]}
