"""Small edits of ModelProtos."""

from __future__ import annotations

import os

from .. import _native
from .._session import _LEVELS


def make_dim_param_fixed(graph, param_name: str, value: int) -> None:
    """Gives every dimension of the graph that is called param_name a size."""
    for info in [*graph.input, *graph.output, *graph.value_info]:
        for dim in info.type.tensor_type.shape.dim:
            if dim.dim_param == param_name:
                dim.Clear()
                dim.dim_value = value


def make_input_shape_fixed(graph, input_name: str, fixed_shape) -> None:
    """Gives an input its sizes; dimensions of the same name elsewhere follow."""
    for info in graph.input:
        if info.name != input_name:
            continue
        dims = info.type.tensor_type.shape.dim
        if len(dims) != len(fixed_shape):
            raise ValueError(f"input {input_name} has rank {len(dims)}, the shape given {len(fixed_shape)}")
        for dim, size in zip(dims, fixed_shape):
            if dim.HasField("dim_value") and dim.dim_value != size:
                raise ValueError(f"input {input_name} has size {dim.dim_value} where {size} is given")
            name = dim.dim_param
            dim.Clear()
            dim.dim_value = size
            if name:
                make_dim_param_fixed(graph, name, size)
        return
    raise ValueError(f"input {input_name} was not found")


def is_fixed_size_tensor(value) -> bool:
    """Whether all sizes of a ValueInfoProto are numbers."""
    tensor = value.type.tensor_type
    return tensor.HasField("shape") and all(d.HasField("dim_value") and d.dim_value > 0 for d in tensor.shape.dim)


def get_optimization_level(level: str):
    """The enumerator for "disable", "basic", "extended", "layout" or "all"."""
    from .._enums import GraphOptimizationLevel

    prefix = "ORT_DISABLE_" if level == "disable" else "ORT_ENABLE_"
    return GraphOptimizationLevel["ORT_DISABLE_ALL" if level == "disable" else prefix + level.upper()]


def optimize_model(model_path, output_path, level=99, log_level=3, use_external_initializers=False) -> None:
    """Writes the model as the rewrites leave it."""
    external = os.path.basename(os.fspath(output_path)) + ".data" if use_external_initializers else None
    _native.optimize(os.fsencode(model_path), True, os.fsencode(output_path), _LEVELS[int(level)], external)
