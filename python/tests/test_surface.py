"""The names, arguments, defaults and numbers of ``surface.json``: all of "must", and the share of the rest."""

import importlib
import inspect
import json
import pathlib

import pytest

import models

SURFACE = json.loads((pathlib.Path(__file__).parent / "surface.json").read_text())
MUST = SURFACE["must"]
CLASSES = [n for n in MUST if n not in ("enums", "functions", "exceptions")]
LEAST_OF_THE_REST = 0.7


def written(f, skip_self):
    """The parameters of f as in the list: "name", "name=default", "**kwargs"."""
    result = []
    for p in list(inspect.signature(f).parameters.values())[skip_self:]:
        stars = {p.VAR_KEYWORD: "**", p.VAR_POSITIONAL: "*"}.get(p.kind, "")
        result.append(stars + p.name + ("" if p.default is p.empty else f"={p.default!r}"))
    return result


@pytest.mark.parametrize("name", CLASSES)
def test_classes(sdx, name):
    cls, want = getattr(sdx, name), MUST[name]
    if "init" in want:
        assert written(cls.__init__, 1) == want["init"]
    for method, args in want.get("methods", {}).items():
        f = inspect.getattr_static(cls, method)
        skip = 0 if isinstance(f, staticmethod) else 1
        got = written(f.__func__ if isinstance(f, (classmethod, staticmethod)) else f, skip)
        assert (len(got) if isinstance(args, int) else got) == args, method
        assert inspect.getdoc(getattr(cls, method)), f"{name}.{method} has no docstring"
    if "attributes" in want:
        obj = cls()
        for attribute, default in want["attributes"].items():
            assert getattr(obj, attribute) == default, attribute
            setattr(obj, attribute, default if default != 99 else sdx.GraphOptimizationLevel.ORT_ENABLE_ALL)
    if name == "InferenceSession":
        s = cls(models.relu())
        assert all(hasattr(s, member) for member in want["instance"])


def test_members(sdx):
    s = sdx.InferenceSession(models.relu())
    objects = {"NodeArg": s.get_inputs()[0], "ModelMetadata": s.get_modelmeta(), "OrtValue": sdx.OrtValue}
    for name, obj in objects.items():
        assert all(hasattr(obj, member) for member in MUST[name]["members"]), name


def test_enums(sdx):
    for name, members in MUST["enums"].items():
        assert {k: int(v) for k, v in getattr(sdx, name).__members__.items()} == members, name


def test_functions(sdx):
    for name, n in MUST["functions"].items():
        f = getattr(sdx, name)
        assert len(inspect.signature(f).parameters) == n and inspect.getdoc(f), name


def test_exceptions(sdx):
    state = importlib.import_module("sardonyx.capi.onnxruntime_pybind11_state")
    for name, code in MUST["exceptions"].items():
        assert getattr(state, name) is getattr(sdx, name) and getattr(sdx, name).__bases__ == (Exception,)
        assert getattr(sdx, name).code == code


def has(path):
    *modules, last = path.split(".")
    obj = importlib.import_module("sardonyx")
    for name in [*modules, last]:
        try:
            obj = getattr(obj, name)
        except AttributeError:
            try:
                obj = importlib.import_module(f"{obj.__name__}.{name}")
            except (ImportError, AttributeError):
                return False
        except NotImplementedError:  # says that it is not there
            return False
    return True


def test_the_rest(sdx):
    missing = [path for path in SURFACE["rest"] if not has(path)]
    share = 1 - len(missing) / len(SURFACE["rest"])
    print(f"should and could: {share:.0%}; missing: {', '.join(missing)}")
    assert share >= LEAST_OF_THE_REST


# ---- stubs -----------------------------------------------------------------------------------------------------------


def stub(sdx, name):
    """The top level of a stub: {name: node}."""
    import ast

    tree = ast.parse((pathlib.Path(sdx.__file__).parent / name).read_text())
    named = (ast.ClassDef, ast.FunctionDef)
    return {n.name: n for n in tree.body if isinstance(n, named)}


def parameters(node):
    a = node.args
    names = [*a.posonlyargs, *a.args, *a.kwonlyargs]
    return [n.arg for n in names if n.arg not in ("self", "cls")]


@pytest.mark.parametrize(("name", "module"), [("__init__.pyi", "sardonyx"), ("_native.pyi", "sardonyx._native")])
def test_stubs_tell_what_is_there(sdx, name, module):
    import ast

    module, nodes = importlib.import_module(module), stub(sdx, name)
    public = {n for n in dir(module) if not n.startswith("_") and callable(getattr(module, n))}
    assert public - {"SessionIOBinding"} <= set(nodes), public - set(nodes)
    for top, node in nodes.items():
        if top.startswith("_"):
            continue
        real = getattr(module, top)
        if isinstance(node, ast.FunctionDef):
            if module is sdx:
                assert parameters(node) == list(inspect.signature(real).parameters), top
            continue
        for f in (n for n in node.body if isinstance(n, ast.FunctionDef)):
            assert hasattr(real, f.name) or f.name == "__buffer__", f"{top}.{f.name}"
            method = getattr(real, f.name, None)
            if module is sdx and inspect.isroutine(method) and not f.name.startswith("__"):
                got = [p.name for p in inspect.signature(method).parameters.values() if p.name != "self"]
                assert [p for p in got if p not in ("args", "kwargs")] == parameters(f), f"{top}.{f.name}"
        methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
        own = {n for n, f in vars(real).items() if inspect.isfunction(f) and not n.startswith("_")}
        assert own <= methods, f"{top}: {own - methods}"


def test_marked_as_typed(sdx):
    assert (pathlib.Path(sdx.__file__).parent / "py.typed").exists()
