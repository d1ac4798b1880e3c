"""Helpers around tensors: made-up feeds, casts, comparison, ONNX's tensor files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from . import _native
from ._session import NodeArg as _NodeArg
from ._values import OrtValue, type_code

if TYPE_CHECKING:
    from . import InferenceSession, NodeArg

_CODES = {_native.dtype_name(code): code for code in range(1, 29)}


def dtype(arg):
    """The NumPy dtype of an input or output (NodeArg), of a type text ("tensor(float)", "float") or of ONNX's number."""
    if isinstance(arg, _NodeArg):
        arg = arg.type
    if isinstance(arg, str):
        name = re.fullmatch(r"(?:optional\()?(?:seq\()?(?:\w*tensor\()?(\w+)\)*", arg)
        if not name or name[1] not in _CODES:
            raise TypeError(f"{arg!r} is no type of tensors")
        arg = _CODES[name[1]]
    return _native.numpy_dtype(type_code(arg))


def shape(arg: NodeArg, dims: dict[str, int] | None = None, unknown: int = 1) -> tuple[int, ...]:
    """The shape of an input with names replaced by the sizes in dims, and by unknown where those have none."""
    return tuple(n if isinstance(n, int) else (dims or {}).get(n, unknown) for n in arg.shape)


def feeds(session: InferenceSession, dims: dict[str, int] | None = None, seed: int = 0) -> dict:
    """Made-up arrays for all tensor inputs: normally distributed floats, integers 0 or 1, empty strings."""
    import numpy as np

    rng = np.random.default_rng(seed)
    made = {}
    for arg in session.get_inputs():
        if not arg.type.startswith("tensor("):
            raise TypeError(f"input {arg.name} is a {arg.type}: only tensors can be made up")
        d, s = dtype(arg), shape(arg, dims)
        if d == object:
            made[arg.name] = np.full(s, "", dtype=object)
        elif d.kind in "iub":
            made[arg.name] = rng.integers(0, 2, s).astype(d)
        else:
            made[arg.name] = rng.standard_normal(s).astype(d)
    return made


def cast(session: InferenceSession, feed: dict) -> dict:
    """The feed with each array as the element type that the model declares: the cast that ``run`` never does."""
    import numpy as np

    types = {arg.name: dtype(arg) for arg in session.get_inputs() if arg.type.startswith("tensor(")}
    return {n: np.asarray(x).astype(types[n], copy=False) if n in types else x for n, x in feed.items()}


def compare(got, want, rtol: float = 1e-3, atol: float = 1e-5) -> dict:
    """How two results differ: {"equal", "max_abs", "max_rel", "at"}; at is the index of the largest difference. Lists
    and dicts are compared by their elements; the worst is told."""
    import numpy as np

    if isinstance(want, dict):
        if set(got) != set(want):
            return {"equal": False, "max_abs": float("inf"), "max_rel": float("inf"), "at": None}
        got, want = [got[k] for k in want], list(want.values())
    if isinstance(want, (list, tuple)):
        if len(got) != len(want):
            return {"equal": False, "max_abs": float("inf"), "max_rel": float("inf"), "at": None}
        rows = [compare(g, w, rtol, atol) for g, w in zip(got, want)]
        same = {"equal": True, "max_abs": 0.0, "max_rel": 0.0, "at": None}
        return max(rows, key=lambda r: (not r["equal"], r["max_abs"]), default=same)
    a, b = np.asarray(got), np.asarray(want)
    if a.shape != b.shape or a.dtype.kind in "OUS" or b.dtype.kind in "OUS":
        equal = a.shape == b.shape and bool(np.all(a == b))
        return {"equal": equal, "max_abs": 0.0 if equal else float("inf"), "max_rel": 0.0 if equal else float("inf"),
                "at": None}  # fmt: skip
    x, y = a.astype(np.float64), b.astype(np.float64)
    diff = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
    if diff.size == 0:
        return {"equal": True, "max_abs": 0.0, "max_rel": 0.0, "at": None}
    diff = np.where(np.isnan(diff), np.inf, diff)
    worst = np.unravel_index(int(np.argmax(diff)), diff.shape)
    rel = diff / np.maximum(np.abs(y), np.finfo(np.float64).tiny)
    return {"equal": bool(np.all(diff <= atol + rtol * np.abs(y))), "max_abs": float(diff.max()),
            "max_rel": float(np.where(diff == 0, 0, rel).max()), "at": tuple(int(i) for i in worst)}  # fmt: skip


def load(path):
    """The array of a file with one serialised TensorProto (``.pb`` of ONNX's test data)."""
    with open(path, "rb") as f:
        return OrtValue.parse(f.read()).numpy()


def save(path, array, name: str = "") -> None:
    """Writes an array as a serialised TensorProto."""
    with open(path, "wb") as f:
        f.write(_native.Value.wrap(array).serialize(name))
