"""What each operator is fed to be tried with one version and one type: a function of a Draw (generate.py) that returns
a Case. Operators without a recipe get one small tensor for each input.

Where the reference evaluator of the onnx package lacks an operator or differs from the standard's text, the recipe gives
the expected values itself (`want`), or the newest form to evaluate instead (`ref`), and says why.
"""
import math
import struct
import zlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from generate import Case, array, code, elem, parse, proto

RECIPES = {}
LACKS = "the evaluator lacks the operator"
OLD = "an old form, which the evaluator lacks: its newest form is evaluated"


def recipe(*names, domain=""):
    def add(f):
        for name in names:
            RECIPES[domain, name] = f
        return f
    return add


WIDE_TOO = {plain_op for plain_op in
            "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Clip Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Log Mish "
            "Neg Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Add And BitwiseAnd "
            "BitwiseOr BitwiseXor Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mean Mul Or PRelu Sub Sum Where Xor".split()}


def case_for(c):
    return RECIPES.get((c.domain, c.op), plain)(c)


def plain(c):
    inputs = []
    for i, port in enumerate(c.schema.inputs):
        inputs += [c.value(i, 2, 3)] * 1 if "Variadic" not in str(port.option) else [c.value(i, 2, 3), c.value(i, 2, 3)]
    return Case(inputs)


def i64(*v):
    return np.array(v, np.int64)


def attr_tensor(values, name="t"):
    return numpy_helper.from_array(np.asarray(values), name)


# ---- one input, elementwise --------------------------------------------------------------------------------------

RANGES = {"Acos": (-0.75, 0.75), "Asin": (-0.75, 0.75), "Atanh": (-0.75, 0.75), "Acosh": (1, 3), "Log": (0.25, 4), "Sqrt": (0, 4),
          "Tan": (-1, 1), "Reciprocal": (0.5, 3), "Cosh": (-2, 2), "Sinh": (-2, 2)}


@recipe(*RANGES)
def ranged(c):
    lo, hi = RANGES[c.op]
    return Case([c.x(0, 2, 3, lo=lo, hi=hi, step=0.25)])


@recipe("IsInf", "IsNaN")
def is_special(c):
    # float8e4m3fn and the fnuz types have no infinity; the cast gives what they have instead.
    values = np.array([1, np.nan, np.inf, -np.inf, 0, -2], np.float64)
    with np.errstate(invalid="ignore"):
        return Case([array(values, c.elem(0)).reshape(2, 3)])


@recipe("Clip")
def clip(c):
    x = c.x(0, 2, 3)
    if c.v < 11:
        ref = ("Clip", [x, array(-1, c.elem(0)), array(2, c.elem(0))], {})
        return Case([x], {"min": -1.0, "max": 2.0}, ref=ref, why=OLD)
    return Case([x, array(-1, c.elem(0)), array(2, c.elem(0))])


@recipe("Mish")
def mish(c):
    return Case([c.x(0, 2, 3)], want=lambda x: [f64(x) * np.tanh(np.log1p(np.exp(f64(x))))], why=LACKS)


@recipe("HardSwish")
def hard_swish(c):
    return Case([c.x(0, 2, 3)], want=lambda x: [f64(x) * np.clip(f64(x) / 6 + 0.5, 0, 1)], why=LACKS)


def f64(x):
    return np.asarray(x).astype(np.float64)


@recipe("Gelu")
def gelu(c):
    erf = np.vectorize(math.erf)
    return Case([c.x(0, 2, 3)], want=lambda x: [f64(x) * 0.5 * (1 + erf(f64(x) / math.sqrt(2)))], why="the evaluator's error function has 7 digits")


@recipe("Shrink")
def shrink(c):
    x = c.x(0, 2, 3)
    if "int" in c.elem(0):
        return Case([x], want=[x], why="the evaluator takes 64-bit integers through double")

    def want(v):
        v = f64(v)
        return [np.where(np.isnan(v), v, np.where(v > 1.5, v - 0.5, np.where(v < -1.5, v + 0.5, 0)))]

    return Case([x], {"lambd": 1.5, "bias": 0.5}, want=want, why="the evaluator makes 0 of NaN")


@recipe("ThresholdedRelu")
def thresholdedrelu(c):
    return Case([c.x(0, 2, 3)], want=lambda x: [np.where(f64(x) <= 1, 0, f64(x))], why="the evaluator makes 0 of NaN")


@recipe("Erf")
def erf(c):
    return Case([c.x(0, 2, 3)], want=lambda x: [np.vectorize(math.erf)(f64(x))], why="the evaluator rounds small integers before the function")


@recipe("Celu")
def celu(c):
    return Case([c.x(0, 2, 3)], want=lambda x: [np.maximum(0, f64(x)) + np.minimum(0, np.expm1(f64(x)))],
                why="the evaluator computes in float only")


@recipe("Selu")
def selu(c):
    return Case([c.x(0, 2, 3)], {"alpha": 1.5, "gamma": 1.25})


@recipe("Softmax", "LogSoftmax", "Hardmax")
def softmax(c):
    x = c.x(0, 2, 3, 2)
    if c.v >= 13:
        return Case([x], {"axis": 1})
    flat = x.reshape(2, 6)
    def want(x):
        e = np.exp(f64(flat) - f64(flat).max(1, keepdims=True))
        p = e / e.sum(1, keepdims=True)
        hard = np.eye(6)[f64(flat).argmax(1)]
        return [{"Softmax": p, "LogSoftmax": np.log(p), "Hardmax": hard}[c.op].reshape(2, 3, 2)]
    return Case([x], {"axis": 1}, want=want, why="before 13 the input is viewed as 2-D, which the evaluator does not do")


# ---- several inputs, elementwise ---------------------------------------------------------------------------------

def second(c):
    """A divisor has no zeros, a shift and an exponent are small."""
    name = c.elem(1)
    if c.op in ("Div", "Mod"):
        x = c.numbers(name, 3, lo=1, hi=3)
        return x if name.startswith("uint") else (x * array([1, -1, 1], name)).astype(x.dtype)
    if c.op in ("BitShift", "Pow"):
        return c.numbers(name, 3, lo=0, hi=2, step=1)
    return c.numbers(name, 3)


@recipe("Add", "Sub", "Mul", "Div", "Pow", "Mod", "And", "Or", "Xor", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
        "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift", "PRelu")
def binary(c):
    name = c.elem(0)
    low = 0 if c.op in ("Pow", "BitShift") or name.startswith("uint") else -3
    a, b = c.numbers(name, 2, 3, lo=low), second(c)
    attrs = {}
    if c.op == "Mod" and "float" in name or c.op == "Mod" and name == "double":
        attrs["fmod"] = 1
    if c.op == "BitShift":
        attrs["direction"] = "LEFT"
    if not c.takes("broadcast"):
        return Case([a, b], attrs)
    b = b[:len(a)]
    return Case([a, b], {"broadcast": 1, "axis": 0}, ref=(c.op, [a, b.reshape(-1, 1)], {}), why=OLD)


@recipe("Max", "Min", "Mean", "Sum")
def variadic(c):
    shapes = [(2, 3), (3,), (2, 1)] if c.v >= 8 else [(2, 3)] * 3
    inputs = [c.x(0, *s) for s in shapes]
    def want(*xs):
        if elem(c.type(0)).startswith(("int", "uint")):
            wide = [x.astype(object) for x in xs]
        else:
            wide = [f64(x) for x in xs]
        total = wide[0]
        for x in wide[1:]:
            total = {"Max": np.maximum, "Min": np.minimum}.get(c.op, np.add)(total, x)
        return [np.asarray(total / len(xs) if c.op == "Mean" else total)]
    return Case(inputs, want=want, why="the evaluator takes two inputs only in some versions")


@recipe("Where")
def where(c):
    return Case([c.x(0, 2, 3), c.x(1, 2, 3), c.x(2, 3)])


@recipe("SwiGLU")
def swiglu(c):
    return Case([c.x(0, 2, 3), c.x(1, 2, 3)])


@recipe("Einsum")
def einsum(c):
    return Case([c.x(0, 2, 3), c.x(0, 3, 2)], {"equation": "ij,jk->ik"})


# ---- types -------------------------------------------------------------------------------------------------------

CAST_NUMBERS = [[1.0, -2.0, 0.5], [3.0, 0.0, 6.0]]


@recipe("Cast", "CastLike")
def cast(c):
    frm, to = c.elem("T1"), c.elem("T2")
    source = np.array(CAST_NUMBERS)
    if to == "string" and ("float" in frm or frm == "double"):
        source = source + 0.25  # whether "1" or "1.0" is meant is nowhere said
    if to.startswith(("uint", "float8e8m0")) or frm.startswith("uint"):
        source = np.abs(source)
    if to == "float8e8m0" or frm == "float8e8m0":
        source = np.array([[1.0, 2.0, 0.5], [4.0, 1.0, 0.25]])
    if to in ("uint2", "int2") or frm in ("uint2", "int2"):
        source = np.clip(source, -2, 1)
    x = np.array([[repr(float(v)) for v in row] for row in source], dtype=object) if frm == "string" else array(source, frm)
    if frm == "bool":
        x = source != 0
    if c.op == "CastLike":
        return Case([x, array(np.zeros((1,)) if to != "string" else ["x"], to)], direct=True)
    if c.v < 6:
        return Case([x], {"to": to.upper()}, ref=("Cast", [x], {"to": code(to)}), why=OLD, direct=True)
    return Case([x], {"to": code(to)}, direct=True)


def bits(name):
    import ml_dtypes
    digits = {"float": 32, "double": 64, "float16": 16, "bfloat16": 16, "bool": 8, "complex64": 64, "complex128": 128}
    if name in digits:
        return digits[name]
    return 8 if name.startswith("float8") else 4 if name.startswith("float4") else int(name.lstrip("uint"))


@recipe("BitCast")
def bit_cast(c):
    fixed, free = ("T1", "T2") if c.var == "T1" else ("T2", "T1")
    n = bits(c.elem(fixed))
    other = "complex128" if n == 128 else f"uint{n}"
    c.fix(free, f"tensor({other})")
    if c.elem("T1") == "bool" or c.elem("T2") == "bool":
        x = array([[0, 1], [1, 0]], c.elem("T1"))
    else:
        x = c.x(0, 2, 2, lo=0, hi=3)
    return Case([x], {"to": c.code("T2")}, direct=True)


@recipe("QuantizeLinear")
def quantize(c):
    zero = {11: "T2"}.get(c.v, None)
    target = "T3" if "T3" in c.types else "T2"
    if "T3" in c.types and c.var not in ("T2",):
        c.fix("T2", c.types["T1"]) if c.v < 23 else None
    if c.var is None or c.var != target:
        c.fix(target, "tensor(uint8)")
    if c.v < 13:
        c.fix("T1", "tensor(float)")
    if c.var == "T2" and target == "T3" and "int" in c.elem("T2"):
        c.fix("T1", c.types["T2"])
    if c.var == "T1" and target == "T3":
        c.fix("T2", c.types["T1"])
    q = c.elem(target)
    unsigned = q.startswith("uint")
    x = c.x(0, 2, 4, lo=0 if unsigned else -2, hi=1, step=0.5)
    scale = array(1 if "int" in c.elem(1) or c.elem(1) == "float8e8m0" else 0.5, c.elem(1))
    zero = array(0 if "float" in q else 1 if unsigned else 0, q)
    return Case([x, scale, zero], direct=True)


@recipe("DequantizeLinear")
def dequantize(c):
    q = c.elem("T" if "T" in c.types else "T1")
    x = c.x(0, 2, 4, lo=-2, hi=2, step=0.5)
    zero = array(0 if "float" in q or q == "int32" else 1, q)
    if "T3" in c.types:
        if c.var == "T3":
            c.fix("T2", c.types["T3"])
        elif c.elem("T2") != "float8e8m0":
            c.fix("T3", c.types["T2"])
    scale = array(0.5, c.elem(1))
    attrs = {}
    if c.takes("output_dtype") and c.elem(1) == "float8e8m0":
        attrs["output_dtype"] = TensorProto.FLOAT
        scale = array(1, c.elem(1))
    return Case([x, scale, zero], attrs, direct=True)


@recipe("DynamicQuantizeLinear")
def dynamic_quantize(c):
    return Case([np.array([[0, 2, -3], [-2.5, 1.34, 0.5]], np.float32)])


# ---- shapes, constants -------------------------------------------------------------------------------------------

@recipe("Reshape")
def reshape(c):
    x = c.x(0, 2, 3)
    return Case([x], {"shape": [3, -1]}, want=[x.reshape(3, 2)], why=OLD) if c.v < 5 else Case([x, i64(3, -1)])


@recipe("Flatten")
def flatten(c):
    return Case([c.x(0, 2, 3, 2)], {"axis": 2})


@recipe("Squeeze", "Unsqueeze")
def squeeze(c):
    x = c.x(0, 1, 3, 1, 2) if c.op == "Squeeze" else c.x(0, 3, 2)
    want = [x.reshape((3, 2) if c.op == "Squeeze" else (1, 3, 1, 2))]
    if c.v < 13:
        return Case([x], {"axes": [0, 2]}, want=want, why=OLD)
    return Case([x, i64(0, 2)])


@recipe("Expand")
def expand(c):
    return Case([c.x(0, 3, 1), i64(2, 1, 2)])


@recipe("Tile")
def tile(c):
    x = c.x(0, 2, 3)
    if c.v < 6:
        two, axis = (array([v], c.elem(1)) for v in (2, 1))
        return Case([x, two, axis], want=[np.tile(x, (1, 2))], why=OLD)
    return Case([x, i64(2, 2)])


@recipe("Shape", "Size")
def shape(c):
    x = c.x(0, 2, 3)
    return Case([x], want=[i64(2, 3) if c.op == "Shape" else np.array(6, np.int64)])


@recipe("Constant")
def constant(c):
    x = c.numbers(c.elem("T"), 2, 3)
    return Case([], {"value": attr_tensor(x)}, want=[x])


@recipe("ConstantOfShape")
def constant_of_shape(c):
    one = array([1], c.elem("T2"))
    return Case([i64(2, 3)], {"value": attr_tensor(one)}, want=[np.full((2, 3), one[0])])


@recipe("EyeLike")
def eye_like(c):
    return Case([c.x(0, 3, 4)], {"k": 1, "dtype": c.code("T2")}, direct=True, want=[np.eye(3, 4, 1)])


@recipe("Range")
def range_(c):
    return Case([c.const(0, v) for v in (1, 9, 3)], want=[np.array([1, 4, 7])])


# ---- moving elements ---------------------------------------------------------------------------------------------

@recipe("Concat")
def concat(c):
    a, b = c.x(0, 2, 3), c.x(0, 2, 2)
    return Case([a, b], {"axis": 1}, want=[np.concatenate([a, b], 1)])


@recipe("Transpose")
def transpose(c):
    return Case([c.x(0, 2, 3, 2)], {"perm": [2, 0, 1]})


@recipe("Slice")
def slice_(c):
    x = c.x(0, 4, 5)
    if c.v < 10:
        return Case([x], {"starts": [1, 0], "ends": [3, -1], "axes": [0, 1]}, want=[x[1:3, 0:-1]], why=OLD)
    idx = [array(v, c.elem(1)) for v in ([1, 4], [3, 0], [0, 1], [1, -2])]
    return Case([x, *idx], want=[x[1:3, 4:0:-2]])


@recipe("Split")
def split(c):
    x = c.x(0, 2, 6)
    want = [x[:, :2], x[:, 2:]]
    if c.v < 13:
        if c.v == 1 and c.var is not None:
            return Case([x, array([2, 4], c.elem(0))] if c.elem(0) in () else [x], {"axis": 1, "split": [2, 4]}, out=2, want=want, why=OLD)
        return Case([x], {"axis": 1, "split": [2, 4]}, out=2, want=want, why=OLD)
    return Case([x, i64(2, 4)], {"axis": 1}, out=2, want=want)


@recipe("Pad")
def pad(c):
    x = c.x(0, 2, 3)
    want = lambda x, *_: [np.pad(x, ((0, 1), (1, 0)), constant_values=array("x" if x.dtype == object else 1, c.elem(0)).item()
                                 if x.dtype.kind in "OV" and x.dtype == object else array(1, c.elem(0)))]
    if c.v < 11:
        return Case([x], {("paddings" if c.v == 1 else "pads"): [0, 1, 1, 0], "value": 1.0}, want=want, why=OLD)
    fill = np.array("x", dtype=object) if c.elem(0) == "string" else array(1, c.elem(0))
    inputs = [x, i64(0, 1, 1, 0), fill]
    if c.v >= 18:
        inputs = [x, i64(0, 1, 1, 0), fill, array([0, 1], c.elem(3))]
    return Case(inputs, want=want)


@recipe("Gather")
def gather(c):
    return Case([c.x(0, 3, 2), array([[0, 2], [-1, 1]], c.elem(1)) if c.v >= 11 else array([[0, 2], [1, 1]], c.elem(1))])


@recipe("GatherElements")
def gather_elements(c):
    return Case([c.x(0, 3, 2), array([[0, 2], [-1, 1]], c.elem(1))])


@recipe("GatherND")
def gather_nd(c):
    return Case([c.x(0, 2, 2, 2), i64(0, 1, 1, 0).reshape(2, 2)])


@recipe("Scatter", "ScatterElements")
def scatter(c):
    x, u = c.x(0, 3, 3), c.x(0, 2, 3)
    idx = array([[1, 0, 2], [0, 2, 1]], c.elem(1))
    want = x.copy()
    for i in range(2):
        for j in range(3):
            want[int(idx[i, j]), j] = u[i, j]
    return Case([x, idx, u], want=[want], why=LACKS if c.op == "Scatter" else "")


@recipe("ScatterND")
def scatter_nd(c):
    return Case([c.x(0, 4, 2), i64(2, 0).reshape(2, 1), c.x(0, 2, 2)])


@recipe("TensorScatter")
def tensor_scatter(c):
    return Case([c.x(0, 2, 4, 3), c.x(0, 2, 1, 3), i64(1, 2)])


@recipe("Compress")
def compress(c):
    x = c.x(0, 3, 2)
    return Case([x, np.array([False, True, True])], {"axis": 0}, want=[x[1:]])


@recipe("CumSum", "CumProd")
def cumulative(c):
    return Case([c.x(0, 2, 3), array(1, c.elem(1))])


@recipe("DepthToSpace", "SpaceToDepth")
def depth(c):
    x = c.x(0, 1, 4, 2, 2)
    y = x.reshape(1, 2, 2, 1, 2, 2).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 4, 4)
    z = x.reshape(1, 4, 1, 2, 1, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 16, 1, 1)
    return Case([x], {"blocksize": 2}, want=[y if c.op == "DepthToSpace" else z])


@recipe("Trilu")
def trilu(c):
    x = c.x(0, 3, 3)
    keep = np.triu(np.ones((3, 3), bool), 1)
    return Case([x, np.array(1, np.int64)], want=[np.where(keep, x, np.zeros((), x.dtype) if x.dtype != object else "")])


@recipe("ReverseSequence")
def reverse_sequence(c):
    x = c.x(0, 3, 2)
    want = x.copy()
    want[:2, 0], want[:3, 1] = x[:2, 0][::-1], x[:3, 1][::-1]
    return Case([x, i64(2, 3)], want=[want])


@recipe("Unique")
def unique(c):
    return Case([c.x(0, 6)], {"sorted": 1})


@recipe("NonZero")
def non_zero(c):
    x = c.x(0, 2, 3)
    keep = np.array([[v != "" if x.dtype == object else bool(v != 0) for v in row] for row in x])
    return Case([x], want=[np.array(np.nonzero(keep), np.int64)], why="the evaluator does not take every type")


@recipe("OneHot")
def one_hot(c):
    values = np.array(["off", "on"], dtype=object) if c.elem(2) == "string" else array([0, 1] if c.elem(2) == "bool" else [2, 3], c.elem(2))
    idx = array([0, 2, 1], c.elem(0))
    want = np.stack([np.where(np.arange(3) == int(i.real), values[1], values[0]) for i in idx])
    return Case([idx, array(3, c.elem(1)), values], want=[want])


@recipe("CenterCropPad")
def center_crop_pad(c):
    x = c.x(0, 4, 3)
    want = np.zeros((2, 5), x.dtype) if x.dtype != object else np.full((2, 5), "", object)
    want[:, 1:4] = x[1:3]
    return Case([x, array([2, 5], c.elem(1))], want=[want])


@recipe("Dropout")
def dropout(c):
    x = c.x(0, 2, 3)
    attrs = {"is_test": 1} if c.takes("is_test") else {}
    inputs = [x] if c.v < 12 else [x, array(0.5, c.elem(1)), np.array(False)]
    if c.v >= 12:
        return Case(inputs, attrs, want=[x, np.ones((2, 3), bool)])
    return Case(inputs, attrs, out=1, want=[x])


@recipe("Col2Im")
def col2im(c):
    if c.elem(0) != "string":
        return Case([c.x(0, 1, 4, 4), i64(3, 3), i64(2, 2)])
    x = c.x(0, 1, 4, 4)  # strings have no sum, so that blocks may not overlap
    want = x.reshape(1, 1, 2, 2, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(1, 1, 4, 4)
    return Case([x, i64(4, 4), i64(2, 2)], {"strides": [2, 2]}, want=[want], why="the evaluator does not take strings")


# ---- nested graphs, sequences, optionals -------------------------------------------------------------------------

def body(name, nodes, inputs, outputs):
    ports = lambda items: [helper.make_value_info(n, t) if t else helper.make_empty_tensor_value_info(n) for n, t in items]
    return helper.make_graph(nodes, name, ports(inputs), ports(outputs))


def same(a, b):
    return helper.make_node("Identity", [a], [b])


@recipe("If")
def if_(c):
    x = c.of_kind(c.type("V"), 2)
    kind = proto(c.type("V"))
    # The branches read a value of the graph around them.
    source = helper.make_node("Identity", ["outer"], ["picked"])
    branch = lambda name: body(name, [source], [], [("picked", kind)])
    return Case([np.array(True)], {"then_branch": branch("a"), "else_branch": branch("b")}, want=[x], out=1,
                extra={"outer": (x, c.type("V"))})


@recipe("Loop")
def loop(c):
    kind = c.type("V")
    x = c.of_kind(kind, 2)
    t = proto(kind)
    scalar = lambda k: helper.make_tensor_type_proto(k, [])
    nodes, outputs, want = [same("go", "go_on"), same("v", "v_out")], [("go_on", scalar(TensorProto.BOOL)), ("v_out", t)], [x]
    if kind[0] == "tensor":
        nodes.append(same("v", "scanned"))
        outputs.append(("scanned", t))
        want.append(np.stack([x, x]))
    b = body("body", nodes, [("i", scalar(TensorProto.INT64)), ("go", scalar(TensorProto.BOOL)), ("v", t)], outputs)
    return Case([np.array(2, np.int64), np.array(True), x], {"body": b}, out=len(want), want=want)


@recipe("Scan")
def scan(c):
    x = c.of_kind(c.type("V"), 1, 3, 2) if c.v == 8 else c.of_kind(c.type("V"), 3, 2)
    t = helper.make_tensor_type_proto(code(c.elem("V")), [2])
    b = body("body", [same("element", "seen")], [("element", t)], [("seen", t)])
    inputs = [None, x] if c.v == 8 else [x]
    return Case(inputs, {"body": b, "num_scan_inputs": 1}, out=1, want=[x])


@recipe("SequenceMap")
def sequence_map(c):
    kind = c.type("S")
    x = c.of_kind(kind, 2)
    b = body("body", [same("element", "seen")], [("element", proto(kind[1]))], [("seen", proto(kind[1]))])
    if c.var == "V":  # a second input of this type, which the body leaves alone
        extra = c.of_kind(c.type("V"), 2)
        inner = c.type("V")[1] if c.type("V")[0] == "seq" else c.type("V")
        b = body("body", [same("element", "seen")], [("element", proto(kind[1])), ("extra", proto(inner))], [("seen", proto(kind[1]))])
        return Case([x, extra], {"body": b}, out=1, want=[x])
    return Case([x], {"body": b}, out=1, want=[x])


@recipe("Identity")
def identity(c):
    x = c.value(0, 2, 3)
    return Case([x], want=[x])


@recipe("Optional")
def optional(c):
    if c.var == "O":
        inner = c.types["O"][len("optional("):-1]
        c.types["V"] = inner
    else:
        c.fix("O", f"optional({c.types['V']})")
    x = c.value(0, 2)
    return Case([x], want=[x])


@recipe("OptionalGetElement", "OptionalHasElement")
def optional_element(c):
    if c.op == "OptionalHasElement":
        return Case([c.value(0, 2)], want=[np.array(True)])
    if c.var == "V":
        c.types["O"] = f"optional({c.types['V']})"
    else:
        kind = c.types["O"]
        c.types["V"] = kind[len("optional("):-1] if kind.startswith("optional(") else kind
    x = c.value(0, 2)
    return Case([x], want=[x])


def pair_sequence(c):
    """The sequence type and its element's type agree."""
    if c.var == "T":
        c.types["S"] = f"seq({c.types['T']})"
    elif "T" in c.types:
        c.types["T"] = c.types["S"][len("seq("):-1]


@recipe("SequenceAt", "SequenceErase", "SequenceInsert", "SequenceConstruct", "SequenceLength", "SequenceEmpty", "ConcatFromSequence")
def sequences(c):
    pair_sequence(c)
    s = c.of_kind(c.type("S"), 2)
    at = array(1, c.elem("I")) if "I" in c.types and c.op in ("SequenceAt", "SequenceErase", "SequenceInsert") else None
    x = c.of_kind(c.type("S")[1], 2)
    if c.op == "SequenceAt":
        return Case([s, at], want=[s[1]])
    if c.op == "SequenceErase":
        return Case([s, at], want=[[s[0], s[2]]])
    if c.op == "SequenceInsert":
        return Case([s, x, at], want=[[s[0], x, s[1], s[2]]])
    if c.op == "SequenceConstruct":
        return Case(s, want=[s])
    if c.op == "SequenceLength":
        return Case([s], want=[np.array(3, np.int64)])
    if c.op == "SequenceEmpty":
        return Case([], {"dtype": c.code("S")}, want=[[]])
    return Case([s], {"axis": 0, "new_axis": 1}, want=[np.stack(s)])


@recipe("SplitToSequence")
def split_to_sequence(c):
    if c.var == "S":
        c.types["T"] = c.types["S"][len("seq("):-1]
    else:
        c.types["S"] = f"seq({c.types['T']})"
    x = c.x(0, 3, 2)
    return Case([x, array([1, 2], c.elem(1))], {"axis": 0}, want=[[x[:1], x[1:]]])


# ---- random numbers: only type and shape are compared --------------------------------------------------------------

@recipe("RandomNormal", "RandomUniform")
def random_made(c):
    return Case([], {"shape": [2, 3], "dtype": c.code("T"), "seed": 1.0}, want=[np.zeros((2, 3))], loose=True)


@recipe("RandomNormalLike", "RandomUniformLike", "Bernoulli")
def random_like(c):
    x = c.x(0, 2, 3, lo=0, hi=1)
    return Case([x], {"dtype": c.code("T2"), "seed": 1.0}, want=[np.zeros((2, 3))], loose=True)


@recipe("Multinomial")
def multinomial(c):
    return Case([c.x(0, 2, 3)], {"dtype": c.code("T2"), "sample_size": 4, "seed": 1.0}, want=[np.zeros((2, 4))], loose=True)
