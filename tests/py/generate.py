"""One-node models for every (operator, version, type) of the standard: types, values, models, references.

recipes.py says for each operator what it is fed; operators.py runs the cases. This file knows how a recipe's
answer becomes a folder in the layout of ONNX's own tests:

    DOMAIN.OP-VERSION/VAR=TYPE/model.onnx, data.json, test_data_set_0/{input,output}_I.pb
"""
import dataclasses
import json
import re
import zlib

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

NEWEST = max(v for (d, v) in helper.OP_SET_ID_VERSION_MAP if d == "ai.onnx")
# The newest a domain is imported with where a model's own version does not matter.
OTHER_DOMAINS = {"": NEWEST, "ai.onnx.ml": 5, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}

NUMPY = {"float": np.float32, "double": np.float64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "bool": np.bool_,
         "string": np.object_, "complex64": np.complex64, "complex128": np.complex128,
         **{f"{u}int{n}": getattr(np, f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
         **{f"{u}int{n}": getattr(ml_dtypes, f"{u}int{n}") for u in ("", "u") for n in (2, 4)},
         "float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "float8e5m2": ml_dtypes.float8_e5m2,
         "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "float8e8m0": ml_dtypes.float8_e8m0fnu, "float4e2m1": ml_dtypes.float4_e2m1fn,
         "float6e2m3": ml_dtypes.float6_e2m3fn, "float6e3m2": ml_dtypes.float6_e3m2fn}
# Half precision is computed in float32 and rounded once, in the reference as in the library.
STORAGE = ("float16", "bfloat16")
TOLERANCE = {"double": (1e-7, 1e-9), "float": (2e-5, 2e-6), "float16": (2e-3, 1e-3), "bfloat16": (1.6e-2, 8e-3)}
WORDS = ["red", "green", "blue", "", "Grün", "red green", "42"]


# ---- types -------------------------------------------------------------------------------------------------------

def parse(text):
    """"seq(tensor(float))" -> ("seq", ("tensor", "float")); maps: ("map", key, value)."""
    m = re.fullmatch(r"(\w+)\((.*)\)", text)
    if not m:
        return text
    if m[1] == "map":
        key, value = m[2].split(",", 1)
        return ("map", key.strip(), parse(value.strip()))
    return (m[1], parse(m[2]))


def code(name):
    return getattr(TensorProto, name.upper())


def elem(kind):
    """The element type inside: "float" of seq(tensor(float))."""
    while not isinstance(kind, str):
        kind = kind[-1]
    return kind


def proto(kind, value=None):
    """The TypeProto; tensors get the shape of the value."""
    what = kind[0]
    if what == "tensor":
        return helper.make_tensor_type_proto(code(kind[1]), None if value is None else np.shape(value))
    if what == "seq":
        return helper.make_sequence_type_proto(proto(kind[1]))
    if what == "optional":
        return helper.make_optional_type_proto(proto(kind[1], value))
    if what == "map":
        return helper.make_map_type_proto(code(kind[1]), proto(kind[2] if isinstance(kind[2], tuple) else ("tensor", kind[2])))
    raise ValueError(f"no TypeProto for {kind}")


def array(values, name):
    """An array of this element type; numbers that it lacks are clipped or rounded to what it has."""
    dtype = np.dtype(NUMPY[name])
    if name == "string":
        return np.array(values, dtype=np.object_)
    values = np.asarray(values)
    if name == "float8e8m0":
        values = np.exp2(np.round(np.log2(np.abs(values.astype(np.float64)) + 1)))
    elif name.startswith(("int", "uint")):
        info = ml_dtypes.iinfo(dtype) if dtype.kind == "V" or "int2" in name or "int4" in name else np.iinfo(dtype)
        values = np.clip(np.trunc(values.real), int(info.min), int(info.max))
    elif name.startswith("float4"):
        values = np.clip(values, -6, 6)
    return values.astype(dtype)


# ---- what a recipe sees ------------------------------------------------------------------------------------------

@dataclasses.dataclass
class Case:
    """inputs: values in the operator's order, None for those left out. out: how many outputs, or their names. want: the
    results, or a function of the inputs; without it `ref` (operator, inputs, attributes) at the newest version is
    evaluated, or the node itself. inner: nodes before the one under test; extra: further inputs of the graph, name to
    (value, kind). loose: only type and shape are compared."""
    inputs: list
    attrs: dict = dataclasses.field(default_factory=dict)
    out: object = None
    want: object = None
    ref: tuple = None
    why: str = ""
    inner: list = dataclasses.field(default_factory=list)
    extra: dict = dataclasses.field(default_factory=dict)
    kinds: list = None  # types of the inputs where the schema's variable does not say
    loose: bool = False
    direct: bool = False  # the evaluator gets half precision as it is
    tol: tuple = None


class Draw:
    """One (operator, version, type assignment): what a recipe makes its inputs from."""

    WIDE = {1: 1, 2: 3, 3: 37}  # sizes of elementwise cases that go through vectors, tails and odd values

    def __init__(self, schema, var, kind, wide=False):
        self.wide = wide
        self.schema, self.op, self.domain, self.v = schema, schema.name, schema.domain, schema.since_version
        self.var, self.kind = var, kind
        self.types = {t.type_param_str: default_type(t.allowed_type_strs) for t in schema.type_constraints}
        self.allowed = {t.type_param_str: set(t.allowed_type_strs) for t in schema.type_constraints}
        if var:
            self.types[var] = kind
        self.rng = np.random.default_rng(zlib.crc32(f"{self.domain}.{self.op}".encode()))

    def fix(self, var, kind):
        """Another type for a variable that is not the one under test."""
        if var != self.var and kind in self.allowed.get(var, ()):
            self.types[var] = kind

    def type(self, what):
        """Parsed type of an input by index or of a variable by name."""
        if isinstance(what, int):
            what = self.port(what).type_str
        return parse(self.types.get(what, what))

    def port(self, i):
        ports = self.schema.inputs
        return ports[min(i, len(ports) - 1)]

    def elem(self, what):
        return elem(self.type(what))

    def code(self, what):
        return code(self.elem(what))

    def takes(self, attr):
        return attr in self.schema.attributes

    def numbers(self, name, *shape, lo=-3.0, hi=3.0, step=0.5):
        """Multiples of step in [lo, hi]; of 1 for integers. Wide cases without a range of their own: any numbers."""
        if self.wide:
            shape = tuple(self.WIDE.get(n, n) for n in shape)
            if (lo, hi) == (-3.0, 3.0):
                return self.any_numbers(name, *shape)
        if name == "bool":
            return self.rng.integers(0, 2, shape).astype(bool)
        if name == "string":
            return array(self.rng.choice(np.array(WORDS, dtype=object), shape), name) if shape else np.array("red", dtype=object)
        if "int" in name:
            step = max(1, step)
        lo, hi = int(np.ceil(lo / step)), int(np.floor(hi / step))
        x = self.rng.integers(lo, hi + 1, shape) * step
        if name.startswith("uint"):
            x = np.abs(x)
        if name.startswith("complex"):
            x = x + 1j * self.rng.integers(lo, hi + 1, shape) * step
        return array(x, name)

    def any_numbers(self, name, *shape):
        """Of the whole range of the type, its ends and special values among them."""
        n = int(np.prod(shape))
        if name in ("bool", "string"):
            self.wide = False
            x = self.numbers(name, *shape)
            self.wide = True
            return x
        if "int" in name:
            info = np.iinfo(NUMPY[name]) if name[-2:] in ("16", "32", "64") or name in ("int8", "uint8") else ml_dtypes.iinfo(NUMPY[name])
            lo, hi = int(info.min), int(info.max)
            x = self.rng.integers(lo, hi, n, dtype=np.int64 if lo else np.uint64, endpoint=True).astype(object)
            for i, v in enumerate((lo, hi, 0, 1, -1 if lo else 2, 7)):
                x[self.rng.integers(n)] = v
            return x.reshape(shape).astype(NUMPY[name])
        x = self.rng.normal(size=n) * 4
        for v in (0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 1.5, -2.5, 1e-30, 3e4):
            x[self.rng.integers(n)] = v
        if name.startswith("complex"):
            x = x + 1j * self.rng.normal(size=n)
        return x.reshape(shape).astype(NUMPY[name])

    def x(self, what, *shape, **range_):
        """A tensor for input `what` (index, or the name of a type variable)."""
        return self.numbers(self.elem(what), *shape, **range_)

    def const(self, what, values):
        return array(values, self.elem(what))

    def value(self, what, *shape):
        """A value of any kind."""
        return self.of_kind(self.type(what), *shape)

    def of_kind(self, kind, *shape):
        if kind[0] == "tensor":
            return self.numbers(kind[1], *shape)
        if kind[0] == "seq":
            return [self.of_kind(kind[1], *shape) for _ in range(3)]
        if kind[0] == "optional":
            return self.of_kind(kind[1], *shape)
        if kind[0] == "map":
            keys = ["a", "b", "c"] if kind[1] == "string" else [1, 2, 3]
            values = self.numbers(elem(kind[2]), 3, lo=1, hi=9)
            return dict(zip(keys, values.tolist()))
        raise ValueError(f"no value of {kind}")


def default_type(allowed):
    for kind in "tensor(float)", "tensor(int64)", "tensor(int32)", "tensor(uint8)", "seq(tensor(float))", "optional(tensor(float))":
        if kind in allowed:
            return kind
    return sorted(allowed)[0]


# ---- models ------------------------------------------------------------------------------------------------------

def clean(attrs):
    return {k: v for k, v in attrs.items() if v is not None}


def node_model(op, domain, inputs, kinds, attrs, outs, opset, inner=(), extra=None):
    names = ["" if v is None else f"x{i}" for i, v in enumerate(inputs)]
    while names and not names[-1]:
        names.pop()
    node = helper.make_node(op, names, outs, domain=domain, name="node", **clean(attrs))
    ports = [helper.make_value_info(n, proto(k, v)) for n, k, v in zip(names, kinds, inputs) if n]
    ports += [helper.make_value_info(n, proto(k, v)) for n, (v, k) in (extra or {}).items()]
    results = [onnx.ValueInfoProto(name=o) for o in outs if o]
    graph = helper.make_graph([*inner, node], "case", ports, results)
    imports = {"": NEWEST if domain else opset}
    if domain:
        imports[domain] = opset
    # An old operator version comes with the container of its day, but not before inputs and weights were told apart.
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(d, v) for d, v in imports.items()], ir_version=10)


def output_kinds(draw, n):
    ports = draw.schema.outputs
    return [parse(draw.types.get(p.type_str, p.type_str)) for p in (ports[min(i, len(ports) - 1)] for i in range(n))]


def widened(value):
    if isinstance(value, np.ndarray) and value.dtype in (np.float16, ml_dtypes.bfloat16):
        return value.astype(np.float32)
    if isinstance(value, list):
        return [widened(v) for v in value]
    return value


def narrowed(value, kind):
    """The reference's result in the type that the schema gives the output."""
    if isinstance(value, list):
        return [narrowed(v, kind[1]) if kind[0] == "seq" else v for v in value]
    if kind[0] == "optional":
        return narrowed(value, kind[1]) if value is not None else None
    if kind[0] != "tensor" or value is None:
        return value
    value = np.asarray(value)
    want = np.dtype(NUMPY[kind[1]])
    if value.dtype == want or want == np.object_:
        return value
    return value.astype(want)


def evaluate(draw, case, outs):
    op, inputs, attrs = case.ref or (draw.op, case.inputs, case.attrs)
    attrs = {k: v for k, v in attrs.items() if k != "consumed_inputs"}
    half = not case.direct and any(elem(k) in STORAGE for k in map(parse, draw.types.values()))
    feed = [widened(v) if half else v for v in inputs]
    if draw.domain == "ai.onnx.ml" and all(k == ("tensor", "float") for k in output_kinds(draw, len(outs))[-1:]):
        feed = [v.astype(np.float32) if isinstance(v, np.ndarray) and v.dtype.kind in "iu" else v for v in feed]
    names = ["" if v is None else f"x{i}" for i, v in enumerate(feed)]
    while names and not names[-1]:
        names.pop()
    node = helper.make_node(op, names, outs, domain=draw.domain, **clean(attrs))
    graph = helper.make_graph([*case.inner, node], "case", [onnx.ValueInfoProto(name=n) for n in names if n],
                              [onnx.ValueInfoProto(name=o) for o in outs if o])
    imports = [helper.make_opsetid(draw.domain, OTHER_DOMAINS[draw.domain])] + ([helper.make_opsetid("", NEWEST)] if draw.domain else [])
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    return ReferenceEvaluator(model).run(None, {n: v for n, v in zip(names, feed) if n})


def results(draw, case, outs):
    if case.want is not None:
        return case.want(*case.inputs) if callable(case.want) else case.want
    with np.errstate(all="ignore"):
        return evaluate(draw, case, outs)


def map_proto(value, kind, name=""):
    """numpy_helper.from_dict knows int64, float64 and str values only."""
    key, of = kind[1], elem(kind)
    p = onnx.MapProto(name=name, key_type=code(key))
    (p.string_keys if key == "string" else p.keys).extend(k.encode() if key == "string" else int(k) for k in value)
    p.values.elem_type = onnx.SequenceProto.TENSOR
    p.values.tensor_values.extend(numpy_helper.from_array(array(v, of)) for v in value.values())
    return p


def sequence_proto(value, kind, name):
    if kind[1][0] == "map":
        return onnx.SequenceProto(name=name, elem_type=onnx.SequenceProto.MAP, map_values=[map_proto(v, kind[1]) for v in value])
    return onnx.SequenceProto(name=name, elem_type=onnx.SequenceProto.TENSOR,
                              tensor_values=[numpy_helper.from_array(np.asarray(v)) for v in value])


def serialized(value, kind, name):
    if kind[0] == "optional":
        return numpy_helper.from_optional(value, name)
    if kind[0] == "seq":
        return sequence_proto(value, kind, name)
    if kind[0] == "map":
        return map_proto(value, kind, name)
    return numpy_helper.from_array(np.asarray(value), name)


def out_names(draw, case):
    if isinstance(case.out, list):
        return case.out
    n = case.out if case.out is not None else len([p for p in draw.schema.outputs if p.option != onnx.defs.OpSchema.FormalParameterOption.Variadic])
    return [f"y{i}" for i in range(max(n, 1))]


def tolerance(draw, case):
    if case.loose:
        return 0, 1e300
    if case.tol:
        return case.tol
    names = [elem(parse(k)) for k in draw.types.values()] + [elem(k) for k in output_kinds(draw, len(draw.schema.outputs))]
    known = [TOLERANCE[n] for n in names if n in TOLERANCE]
    return max(known) if known else (0, 0)


def write(folder, draw, case):
    outs = out_names(draw, case)
    kinds = case.kinds or [draw.type(i) for i in range(len(case.inputs))]
    model = node_model(draw.op, draw.domain, case.inputs, kinds, case.attrs, outs, draw.v, case.inner, case.extra)
    got = results(draw, case, outs)
    want_kinds = output_kinds(draw, len(outs))
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    rtol, atol = tolerance(draw, case)
    (folder / "data.json").write_text(json.dumps({"rtol": rtol, "atol": atol}))
    present = [(v, k) for v, k in zip(case.inputs, kinds) if v is not None] + list(case.extra.values())
    for i, (value, kind) in enumerate(present):
        (data / f"input_{i}.pb").write_bytes(serialized(value, kind, f"x{i}").SerializeToString())
    for i, (value, kind) in enumerate(zip(got, want_kinds)):
        (data / f"output_{i}.pb").write_bytes(serialized(narrowed(value, kind), kind, outs[i]).SerializeToString())
