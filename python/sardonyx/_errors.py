"""Exceptions, and the words of each failure.

The classes, their codes and the form ``[ONNXRuntimeError] : <code> : <NAME> : <message>`` are ONNX Runtime's, and so
are the phrases that programs search for. What follows them is ours: all that is wrong, where, and what would help.
"""

from __future__ import annotations

import os
import re


def _class(name: str, code: int, label: str) -> type[Exception]:
    """A class that derives from Exception and not from RuntimeError, as callers rely on.

    Its ``code`` is ONNX Runtime's number, an exception's ``status`` Sardonyx's own, see ``sardonyx.h``.
    """
    return type(name, (Exception,), {"code": code, "label": label, "status": 0, "__module__": "sardonyx"})


Fail = _class("Fail", 1, "FAIL")
InvalidArgument = _class("InvalidArgument", 2, "INVALID_ARGUMENT")
NoSuchFile = _class("NoSuchFile", 3, "NO_SUCHFILE")
NoModel = _class("NoModel", 4, "NO_MODEL")
EngineError = _class("EngineError", 5, "ENGINE_ERROR")
RuntimeException = _class("RuntimeException", 6, "RUNTIME_EXCEPTION")
InvalidProtobuf = _class("InvalidProtobuf", 7, "INVALID_PROTOBUF")
ModelLoaded = _class("ModelLoaded", 8, "MODEL_LOADED")
NotImplemented = _class("NotImplemented", 9, "NOT_IMPLEMENTED")  # noqa: A001
InvalidGraph = _class("InvalidGraph", 10, "INVALID_GRAPH")
EPFail = _class("EPFail", 11, "EP_FAIL")
ModelLoadCanceled = _class("ModelLoadCanceled", 12, "MODEL_LOAD_CANCELED")
ModelRequiresCompilation = _class("ModelRequiresCompilation", 13, "MODEL_REQUIRES_COMPILATION")
NotFound = _class("NotFound", 14, "NOT_FOUND")

# sdx_status
_INVALID_ARGUMENT, _INVALID_MODEL, _UNSUPPORTED, _OUT_OF_MEMORY, _IO, _NOT_FOUND, _CANCELLED = range(1, 8)
_RUN_FAILED, _INTERNAL = 12, 13

_CLASSES = {
    _INVALID_ARGUMENT: InvalidArgument,
    _INVALID_MODEL: InvalidGraph,
    _UNSUPPORTED: NotImplemented,
    _IO: Fail,
    _NOT_FOUND: NotFound,
    _RUN_FAILED: RuntimeException,
    _INTERNAL: RuntimeException,
}


def make(cls: type[Exception], message: str, status: int = 0) -> Exception:
    """An exception of cls in the usual form."""
    e = cls(f"[ONNXRuntimeError] : {cls.code} : {cls.label} : {message}")
    e.status = status
    return e


def from_status(status: int, text: str, where: str, context: object) -> Exception:
    """What the extension module raises. where: "load", "run", "name", "missing" or "" (anywhere else)."""
    maker = {"load": _load_error, "run": _run_error, "name": _name_error, "missing": _missing_error}.get(where)
    if maker:
        return maker(status, text, context)
    return make(_CLASSES.get(status, Fail), text, status)


# ---- loading ----------------------------------------------------------------------------------------------------


def _load_error(status: int, text: str, path: object) -> Exception:
    where = f"Load model from {path} failed:" if path is not None else ""
    if status in (_IO, _NOT_FOUND):
        if path is not None and not os.path.exists(path):
            return make(NoSuchFile, f"{where}Load model {path} failed. File doesn't exist", status)
        return make(Fail, f"{where}{text}", status)
    if status in (_INVALID_MODEL, _UNSUPPORTED):
        return _model_error(where, text, status)
    if status == _CANCELLED:
        return make(ModelLoadCanceled, f"{where}{text}", status)
    return make(_CLASSES.get(status, Fail), f"{where}{text}", status)


_NODE = re.compile(r"node `([^`]*)` \(([^)]*)\):? ?(.*)", re.S)

# Our words for what is wrong with a node -> class, and upstream's sentence; {op} is the operator, {name} the node,
# {0}... the groups of the pattern.
_NODE_RULES = [
    (r"operator \S+ of domain ai\.onnx \(opset (\d+)\) is not known", InvalidGraph,
     'This is an invalid model. In Node, ("{name}", {op}, "", -1), Error No Op registered for {op} with domain_version '
     "of {0}"),
    (r"operator (\S+) of domain (\S+) \(opset \d+\) is not known", Fail,
     "Fatal error: {1}:{0}(-1) is not a registered function/op"),
    (r"has elements of type (\S+), an earlier input of the same kind (\S+)", Fail,
     "Type Error: Type parameter (T) of Optype ({op}) bound to different types (tensor({1}) and tensor({0}) in node "
     "({name})."),
    (r"attribute (\S+) is not one of this operator", InvalidGraph,
     'This is an invalid model. In Node, ("{name}", {op}, "", -1), Error Unrecognized attribute: {0} for operator {op}'),
    (r"depends on its own output", Fail, "This is an invalid model. Error: the graph is not acyclic."),
    (r"input \d+: `([^`]*)` is not defined", InvalidArgument,
     "Invalid model. Node input '{0}' is not a graph input, initializer, or output of a previous node."),
    (r"has (\d+) (inputs|outputs), too (?:few|many)", InvalidGraph,
     'This is an invalid model. In Node, ("{name}", {op}, "", -1), Error Node has input size {0} not in range'),
]  # fmt: skip


def _model_error(where: str, text: str, status: int) -> Exception:
    """A model that is wrong, or more than this build can do."""
    node = _NODE.search(text)
    if node:
        name, op, rest = node.groups()
        for pattern, cls, phrase in _NODE_RULES:
            found = re.search(pattern, rest)
            if found:
                return make(cls, f"{where}{phrase.format(*found.groups(), op=op, name=name)} ({text})", status)
        if status == _INVALID_MODEL:
            return make(Fail, f"{where}Node ({name}) Op ({op}) [ShapeInferenceError] {rest} ({text})", status)
        phrase = f"Could not find an implementation for {op} node with name '{name}'"
        return make(NotImplemented, f"{where}{phrase} ({text})", status)
    if status == _UNSUPPORTED:
        return make(NotImplemented, f"{where}{text}", status)
    if re.search(r"it is empty|has no graph", text):
        return make(InvalidArgument, f"{where}No graph was found in the protobuf. ({text})", status)
    if re.search(r"\bbyte \d+: ", text):
        phrase = "Protobuf parsing failed." if where else "Failed to load model because protobuf parsing failed."
        return make(InvalidProtobuf, f"{where}{phrase} ({text})", status)
    return make(InvalidGraph, f"{where}This is an invalid model. {text}", status)


# ---- running ----------------------------------------------------------------------------------------------------


def _name_error(status: int, text: str, context: object) -> Exception:
    what, name = context
    if not isinstance(name, str):
        return TypeError(f"names of {what}s are str, not {type(name).__name__}")
    return make(InvalidArgument, f"Invalid {what} name: {name}", status)


def _missing_error(status: int, text: str, context: object) -> Exception:
    session, given = context
    required = [n for n, kind, _, _ in session.inputs() if not kind.startswith("optional")]
    missing = [n for n in required if n not in given]
    return ValueError(f"Required inputs ({missing}) are missing from input feed ({given}).")


def _describe(value: object) -> str:
    """ "float32[2,3]" of an array, the type's name of other things."""
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if callable(shape):
        shape = shape()
    if dtype is None and hasattr(value, "data_type"):
        dtype = value.data_type()
    if dtype is None or shape is None:
        return type(value).__name__
    return f"{dtype}[{','.join(str(n) for n in shape)}]"


def _run_error(status: int, text: str, context: object) -> Exception:
    session, feed = context
    if status == _CANCELLED:
        return make(Fail, "Exiting due to terminate flag being set to true.", status)
    if status == _INVALID_ARGUMENT and feed:
        parts = _feed_phrases(session, feed)
        if parts:
            return make(InvalidArgument, "\n".join([*parts, f"({text})"]), status)
        return make(InvalidArgument, text, status)
    facts = []
    if feed:
        facts.append("inputs " + ", ".join(f"{k}: {_describe(v)}" for k, v in feed.items()))
    if session.path is not None:
        facts.append(f"model {session.path}")
    opset = session.info("opset")
    if opset:
        facts.append(f"opset {opset}")
    tail = f" ({'; '.join(facts)})" if facts else ""
    node = _NODE.match(text)
    cls = _CLASSES.get(status, Fail)
    if cls is InvalidGraph:
        cls = RuntimeException
    if node and cls is RuntimeException:
        name, op, rest = node.groups()
        phrase = f"Non-zero status code returned while running {op} node. Name:'{name}' Status Message: {rest}"
        return make(cls, phrase + tail, status)
    return make(cls, text + tail, status)


def _feed_phrases(session: object, feed: dict) -> list[str]:
    """Upstream's sentence for each feed that does not fit, with a hint."""
    from . import _native

    phrases = []
    types = {name: (kind, shape) for name, kind, shape, _ in session.inputs() + session.overridable()}
    for name, value in feed.items():
        kind, shape = types.get(name, ("", []))
        want = re.fullmatch(r"(?:optional\()?tensor\((\w+)\)\)?", kind)
        if not want:
            continue
        try:
            v = _native.Value.wrap(value)
        except Exception:  # the engine's own words say what was wrong
            continue
        if v.kind != 1:
            continue
        got = _native.dtype_name(v.dtype_code)
        if got != want[1]:
            phrases.append(f"Unexpected input data type. Actual: (tensor({got})) , expected: (tensor({want[1]})) "
                           f"for input {name}{_cast_hint(value, want[1])}")
        elif shape and len(v.dims) != len(shape):
            phrases.append(f"Invalid rank for input: {name} Got: {len(v.dims)} Expected: {len(shape)} "
                           f"Please fix either the inputs/outputs or the model.")
        else:
            bad = [(i, g, w) for i, (g, w) in enumerate(zip(v.dims, shape)) if isinstance(w, int) and g != w]
            if bad:
                rows = "".join(f"\n index: {i} Got: {g} Expected: {w}" for i, g, w in bad)
                phrases.append(f"Got invalid dimensions for input: {name} for the following indices{rows}\n "
                               f"Please fix either the inputs/outputs or the model.")
    return phrases


_NUMPY = {"float": "float32", "double": "float64", "bool": "bool_"}


def _cast_hint(value: object, want: str) -> str:
    if not hasattr(value, "astype") or want == "string":
        return ""
    name = _NUMPY.get(want, want)
    return f": {value.dtype} given, the model wants {name}: use x.astype(np.{name})"
