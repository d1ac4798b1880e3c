"""Recipes (see recipes.py) of reductions, products, convolutions, pooling, norms, recurrence, images, strings, losses and
the domains beside ai.onnx."""
import struct
import zlib

import numpy as np
from onnx import TensorProto, helper

from generate import Case, array, code, elem, proto
from recipes import LACKS, OLD, attr_tensor, body, f64, i64, recipe, same

# ---- reductions --------------------------------------------------------------------------------------------------


@recipe("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
        "ReduceSumSquare")
def reduce(c):
    x = c.x(0, 2, 3, lo=1 if c.op == "ReduceLogSum" else -3)
    if c.op.startswith("ReduceLogSum") and "int" in c.elem(0):
        y = np.log((np.exp(f64(x)) if c.op == "ReduceLogSumExp" else f64(x)).sum(1))
        axes = ([x, i64(1)], {"keepdims": 0}) if len(c.schema.inputs) == 2 else ([x], {"axes": [1], "keepdims": 0})
        return Case(*axes, want=[y], why="the evaluator does not take integers")
    if len(c.schema.inputs) == 2:
        return Case([x, i64(1)], {"keepdims": 0})
    return Case([x], {"axes": [1], "keepdims": 0}, ref=(c.op, [x, i64(1)], {"keepdims": 0}), why=OLD)


@recipe("ArgMax", "ArgMin")
def arg_reduce(c):
    x = c.x(0, 3, 4)
    f = {"ArgMax": np.argmax, "ArgMin": np.argmin}[c.op]
    return Case([x], {"axis": 1}, want=[f(f64(x), 1)[:, None].astype(np.int64)])


@recipe("TopK")
def top_k(c):
    x = array(np.array([[4, 1, 3, 2], [0, 7, 5, 6]]), c.elem(0))
    if c.v < 10:
        return Case([x], {"k": 2}, ref=("TopK", [x, i64(2)], {}), why=OLD)
    return Case([x, i64(2)])


# ---- products ----------------------------------------------------------------------------------------------------


@recipe("MatMul")
def matmul(c):
    return Case([c.x(0, 2, 3), c.x(1, 3, 2)])


@recipe("Gemm")
def gemm(c):
    a, b, bias = c.x(0, 2, 3), c.x(1, 3, 2), c.x(2, 2)
    attrs = {"broadcast": 1} if c.takes("broadcast") else {}
    return Case([a, b, bias], attrs, want=[f64(a) @ f64(b) + f64(bias)] if "int" in c.elem(0) else None,
                ref=("Gemm", [a, b, bias], {}))


@recipe("MatMulInteger")
def matmul_integer(c):
    a, b = c.x(0, 2, 3, lo=-9, hi=9), c.x(1, 3, 2, lo=-9, hi=9)
    return Case([a, b, array(1, c.elem(2)), array(2, c.elem(3))])


def half(c, var, *shape):
    return c.numbers(c.elem(var), *shape, lo=0, hi=3, step=1)


@recipe("QLinearMatMul")
def qlinear_matmul(c):
    ts = "TS" if "TS" in c.types else "tensor(float)"
    scale = lambda v: array(v, elem(c.type(ts)))
    if any(t.startswith("tensor(float8") for t in c.types.values()):
        for var in ("T1", "T2", "T3"):
            c.types[var] = c.types[c.var] if c.var != "TS" else c.types[var]
    a, b = half(c, 0, 2, 3), half(c, 3, 3, 2)
    zero = lambda i: array(0 if "float" in c.elem(i) else 1, c.elem(i))
    if "float8" in c.elem(0):
        return Case([a, scale(0.5), zero(2), b, scale(0.5), zero(5), scale(0.25), zero(7)], want=[f64(a) @ f64(b)], why="the evaluator does not take float8")
    return Case([a, scale(0.5), zero(2), b, scale(0.5), zero(5), scale(0.25), zero(7)], direct=True)


# ---- convolutions and pooling ------------------------------------------------------------------------------------


@recipe("Conv")
def conv(c):
    return Case([c.x(0, 1, 2, 5, 5), c.x(1, 3, 2, 3, 3), c.x(2, 3)], {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3], "strides": [2, 1]})


@recipe("ConvTranspose")
def conv_transpose(c):
    return Case([c.x(0, 1, 2, 3, 3), c.x(1, 2, 3, 3, 3), c.x(2, 3)], {"strides": [2, 2], "kernel_shape": [3, 3]})


@recipe("ConvInteger")
def conv_integer(c):
    x, w = c.x(0, 1, 2, 4, 4, lo=-9, hi=9), c.x(1, 3, 2, 2, 2, lo=-9, hi=9)
    want = conv_plain(f64(x) - 1, f64(w) - 1).astype(np.int32)
    return Case([x, w, array(1, c.elem(2)), array(1, c.elem(3))], want=[want], why="the evaluator ignores the weights' zero point in some cases")


def conv_plain(x, w):
    h, k = x.shape[2] - w.shape[2] + 1, w.shape[2]
    return np.stack([np.stack([np.einsum("ncij,ocij->no", x[:, :, a:a + k, b:b + k], w) for b in range(h)], -1) for a in range(h)], -2)


@recipe("QLinearConv")
def qlinear_conv(c):
    x, w = c.x(0, 1, 2, 4, 4, lo=0, hi=5), c.x(3, 3, 2, 2, 2, lo=0, hi=5)
    one = np.array(1, np.float32)
    acc = conv_plain(f64(x) - 1, f64(w) - 1)
    kind = np.iinfo(np.dtype(c.elem("T3")))
    want = np.clip(np.rint(acc / 4) + 1, kind.min, kind.max)
    inputs = [x, one, array(1, c.elem(2)), w, one, array(1, c.elem(5)), one * 4, array(1, c.elem(7))]
    return Case(inputs, want=[want], why="written from the text: the evaluator rounds in another order")


@recipe("DeformConv")
def deform_conv(c):
    return Case([c.x(0, 1, 1, 3, 3), c.x(1, 1, 1, 2, 2), c.x(2, 1, 8, 2, 2, lo=0, hi=1), c.x(3, 1), c.x(4, 1, 4, 2, 2)],
                {"kernel_shape": [2, 2], "pads": [0, 0, 0, 0]})


@recipe("AveragePool", "MaxPool", "LpPool")
def pool(c):
    x = c.x(0, 1, 2, 4, 4)
    attrs = {"kernel_shape": [2, 2], "strides": [2, 2]}
    if c.op == "LpPool":
        attrs["p"] = 2.0 if c.v == 1 else 2
    blocks = f64(x).reshape(1, 2, 2, 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(1, 2, 2, 2, 4)
    want = {"AveragePool": blocks.mean(-1), "MaxPool": blocks.max(-1), "LpPool": np.sqrt((blocks**2).sum(-1))}[c.op]
    return Case([x], attrs, out=1, want=[want], why="written from the text: the evaluator computes in the input's own type")


@recipe("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(c):
    x = c.x(0, 2, 3, 2, 2)
    f = {"GlobalAveragePool": lambda x: x.mean((2, 3), keepdims=True), "GlobalMaxPool": lambda x: x.max((2, 3), keepdims=True),
         "GlobalLpPool": lambda x: np.sqrt((x * x).sum((2, 3), keepdims=True))}[c.op]
    return Case([x], want=[f(f64(x))], why=LACKS if c.op == "GlobalLpPool" else "")


@recipe("MaxUnpool")
def max_unpool(c):
    x = c.x(0, 1, 1, 2, 2)
    want = np.zeros((1, 1, 4, 4))
    idx = i64(5, 7, 13, 15)
    want.reshape(-1)[idx] = f64(x).reshape(-1)
    return Case([x, idx.reshape(1, 1, 2, 2)], {"kernel_shape": [2, 2], "strides": [2, 2]}, want=[want])


@recipe("MaxRoiPool")
def max_roi_pool(c):
    x = c.x(0, 1, 1, 4, 4)
    want = f64(x).reshape(1, 1, 2, 2, 2, 2).max((3, 5))
    return Case([x, c.const(1, [[0, 0, 0, 3, 3]])], {"pooled_shape": [2, 2], "spatial_scale": 1.0}, want=[want], why=LACKS)


@recipe("LRN")
def lrn(c):
    x = c.x(0, 1, 4, 2, 2)
    squares = np.pad(f64(x) ** 2, ((0, 0), (1, 1), (0, 0), (0, 0)))
    total = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    return Case([x], {"size": 3}, want=[f64(x) / (1 + 1e-4 / 3 * total) ** 0.75], why="the evaluator normalises as many channels as there are images")


# ---- norms -------------------------------------------------------------------------------------------------------


@recipe("BatchNormalization")
def batch_norm(c):
    x, scale, b = c.x(0, 2, 3, 2), c.x(1, 3), c.x(2, 3)
    mean, var = c.x(3, 3), c.x(4, 3, lo=1, hi=3)
    attrs = {"is_test": 1} if c.takes("is_test") else {}
    if c.v == 1:
        attrs["consumed_inputs"] = [0, 0, 0, 1, 1]
    col = lambda v: f64(v)[None, :, None]
    want = (f64(x) - col(mean)) / np.sqrt(col(var) + 1e-5) * col(scale) + col(b)
    return Case([x, scale, b, mean, var], attrs, out=1, want=[want], why="written from the text: the evaluator has some versions only")


@recipe("InstanceNormalization")
def instance_norm(c):
    x, s, b = c.x(0, 2, 3, 4), c.x(1, 3), c.x(2, 3)
    return Case([x, s, b], ref=("InstanceNormalization", [x, s, b], {}))


@recipe("GroupNormalization")
def group_norm(c):
    x = c.x(0, 2, 4, 3)
    n = 2 if c.v < 21 else 4
    scale, b = c.x(1, n), c.x(2, n)
    g = f64(x).reshape(2, 2, 2, 3)
    y = (g - g.mean((2, 3), keepdims=True)) / np.sqrt(g.var((2, 3), keepdims=True) + 1e-5)
    per = (lambda v: np.repeat(f64(v), 2)[None, :, None]) if n == 2 else (lambda v: f64(v)[None, :, None])
    return Case([x, scale, b], {"num_groups": 2}, want=[y.reshape(2, 4, 3) * per(scale) + per(b)], why="written from the text of both forms")


@recipe("LayerNormalization")
def layer_norm(c):
    attrs = {}
    if c.var == "U":
        attrs["stash_type"] = c.code("U")
    x, s, b = c.x(0, 2, 4), c.x(1, 4), c.x(2, 4)
    mean = f64(x).mean(1, keepdims=True)
    inv = 1 / np.sqrt(f64(x).var(1, keepdims=True) + 1e-5)
    return Case([x, s, b], attrs, want=[(f64(x) - mean) * inv * f64(s) + f64(b), mean, inv], why="written from the text: the evaluator returns the input's type")


@recipe("RMSNormalization")
def rms_norm(c):
    x, s = c.x(0, 2, 4), c.x(1, 4)
    return Case([x, s], want=[f64(x) / np.sqrt((f64(x) ** 2).mean(1, keepdims=True) + 1e-5) * f64(s)])


@recipe("MeanVarianceNormalization")
def mvn(c):
    x = c.x(0, 2, 3, 2, 2)
    y = f64(x)
    return Case([x], want=[(y - y.mean((0, 2, 3), keepdims=True)) / (np.sqrt((y * y).mean((0, 2, 3), keepdims=True)
                                                                             - y.mean((0, 2, 3), keepdims=True) ** 2) + 1e-9)])


@recipe("LpNormalization")
def lp_norm(c):
    return Case([c.x(0, 2, 3, lo=1)], {"axis": 1, "p": 2})


# ---- recurrent networks ------------------------------------------------------------------------------------------


@recipe("RNN", "GRU", "LSTM")
def recurrent(c):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[c.op]
    small = dict(lo=-1, hi=1, step=0.25)
    x, w, r, b = c.x(0, 3, 2, 2, **small), c.x(1, 1, gates * 2, 2, **small), c.x(2, 1, gates * 2, 2, **small), c.x(3, 1, 2 * gates * 2, **small)
    lens = np.array([3, 3], np.int32) if c.var == "T1" else None
    inputs = [x, w, r, b, lens, c.x(5, 1, 2, 2, **small)]
    if c.op == "LSTM":
        inputs += [c.x(6, 1, 2, 2, **small), c.x(7, 1, 6, **small)]
    attrs = {"hidden_size": 2}
    if c.takes("output_sequence"):
        attrs["output_sequence"] = 1
    ref = [v if i != 4 else None for i, v in enumerate(inputs)]
    return Case(inputs, attrs, out=3 if c.op == "LSTM" else 2, want=lambda *_: recurrence(c.op, *[None if v is None else f64(v) for v in ref]),
                why="written from the text: the evaluator computes in the input's own type")


def recurrence(op, x, w, r, b, _, h, cell=None, p=None):
    n = w.shape[1]
    sig = lambda v: 1 / (1 + np.exp(-v))
    w, r, bw, br, h = w[0], r[0], b[0, :n], b[0, n:], h[0]
    cell = None if cell is None else cell[0]
    out = []
    for xt in x:
        i, hh = xt @ w.T + bw, h @ r.T + br
        if op == "RNN":
            h = np.tanh(i + hh)
        elif op == "GRU":
            z, rt = sig(i[:, :2] + hh[:, :2]), sig(i[:, 2:4] + hh[:, 2:4])
            ht = np.tanh(i[:, 4:] + (rt * h) @ r[4:].T + br[4:])
            h = (1 - z) * ht + z * h
        else:
            g = i + hh
            pi, po, pf = p[0, :2], p[0, 2:4], p[0, 4:]
            it, ft, ct = sig(g[:, :2] + pi * cell), sig(g[:, 4:6] + pf * cell), np.tanh(g[:, 6:])
            cell = ft * cell + it * ct
            h = sig(g[:, 2:4] + po * cell) * np.tanh(cell)
        out.append(h)
    y = np.stack(out)[:, None]
    return [y, h[None]] + ([cell[None]] if op == "LSTM" else [])


# ---- images ------------------------------------------------------------------------------------------------------


@recipe("Resize", "Upsample")
def resize(c):
    x = c.x(0, 1, 1, 2, 3)
    want = [x.repeat(2, 2).repeat(3, 3)]
    scales = np.array([1, 1, 2, 3], np.float32)
    if c.op == "Upsample":
        if c.v == 1:
            return Case([x], {"height_scale": 2.0, "width_scale": 3.0}, want=want, why=OLD)
        return Case([x], {"scales": [1.0, 1, 2, 3]}, want=want, why=OLD) if c.v == 7 else Case([x, scales], want=want)
    if c.v == 10:
        return Case([x, scales], want=want)
    roi = np.zeros(0, array(0, c.elem("T2")).dtype) if c.v == 11 or c.var == "T2" else None
    return Case([x, roi, scales], want=want)


@recipe("AffineGrid")
def affine_grid(c):
    return Case([c.const(0, [[[1, 0, 0.5], [0, 1, -0.5]]]), i64(1, 1, 2, 3)])


@recipe("GridSample")
def grid_sample(c):
    floats = c.elem(0) in ("float", "double", "float16", "bfloat16")
    mode = ("bilinear" if c.v < 20 else "linear") if floats else "nearest"
    grid = c.const(1, [[[[-0.5, -0.5], [0.5, 0.5]], [[0, 0.5], [0.25, -0.25]]]])
    x = c.x(0, 1, 1, 2, 2)
    if floats:
        return Case([x, grid], {"mode": mode, "align_corners": 1}, ref=("GridSample", [x, grid], {"mode": "linear", "align_corners": 1}))
    at = np.rint((f64(grid) + 1) / 2).astype(int)
    want = np.array([[[[x[0, 0, a[1], a[0]] for a in row] for row in at[0]]]], dtype=x.dtype)
    return Case([x, grid], {"mode": mode, "align_corners": 1}, want=[want])


@recipe("RoiAlign")
def roi_align(c):
    x, rois = c.x(0, 1, 1, 4, 4), c.const(1, [[0, 0, 2, 2]])
    attrs = {"output_height": 2, "output_width": 2, "sampling_ratio": 2}
    if c.v >= 16:
        attrs["coordinate_transformation_mode"] = "output_half_pixel"
    return Case([x, rois, i64(0)], attrs, ref=("RoiAlign", [x, rois, i64(0)], {**attrs, "coordinate_transformation_mode": "output_half_pixel"}))


@recipe("NonMaxSuppression")
def nms(c):
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]]], np.float32)
    return Case([boxes, np.array([[[0.9, 0.8, 0.7]]], np.float32), i64(3), np.array([0.5], np.float32), np.array([0.0], np.float32)])


@recipe("Det")
def det(c):
    x = c.x(0, 2, 3, 3)
    return Case([x], want=[np.linalg.det(f64(x))], tol=(1e-2, 0.3) if c.elem(0) == "bfloat16" else (2e-3, 1e-2) if c.elem(0) == "float16" else None)


@recipe("ImageDecoder")
def image_decoder(c):
    pixels = (np.arange(24) * 10).astype(np.uint8).reshape(2, 4, 3)
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 2, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return Case([np.frombuffer(png, np.uint8)], want=[pixels])


# ---- signals -----------------------------------------------------------------------------------------------------


@recipe("DFT")
def dft(c):
    x = c.x(0, 1, 4, 1)
    y = np.fft.fft(f64(x)[..., 0], axis=1)
    want = np.stack([y.real, y.imag], -1)
    length = array(4, c.elem(1))
    if c.v < 20:
        return Case([x, length], {"axis": 1}, want=[want])
    return Case([x, length, i64(1).reshape(())], want=[want])


@recipe("STFT")
def stft(c):
    x = c.x(0, 1, 8, 1)
    window = c.const(2, [0.5, 1, 1, 0.5])
    frames = np.stack([f64(x)[0, i:i + 4, 0] * f64(window) for i in (0, 2, 4)])
    y = np.fft.rfft(frames)[None]
    return Case([x, array(2, c.elem(1)), window, array(4, c.elem(3))], want=[np.stack([y.real, y.imag], -1)])


@recipe("HannWindow", "HammingWindow", "BlackmanWindow")
def window(c):
    t = 2 * np.pi * np.arange(8) / 8
    # The coefficients of the standard's function bodies.
    y = {"HannWindow": 0.5 - 0.5 * np.cos(t), "HammingWindow": 25 / 46 - 21 / 46 * np.cos(t),
         "BlackmanWindow": 0.42 - 0.5 * np.cos(t) + 0.08 * np.cos(2 * t)}[c.op]
    return Case([array(8, c.elem(0))], {"output_datatype": c.code("T2")}, want=[array(y, c.elem("T2"))], why="the evaluator rounds before the last cast")


@recipe("MelWeightMatrix")
def mel(c):
    ints = [array(v, c.elem(0)) for v in (4, 16, 8000)]
    edges = [c.const(3, v) for v in (0, 4000)]
    return Case(ints + edges, {"output_datatype": c.code("T3")})


# ---- strings -----------------------------------------------------------------------------------------------------


def words(*v):
    return np.array(v, dtype=object)


@recipe("StringNormalizer")
def string_normalizer(c):
    return Case([words("monday", "Tuesday", "the")], {"case_change_action": "UPPER", "stopwords": ["the"], "is_case_sensitive": 1},
                want=[words("MONDAY", "TUESDAY")])


@recipe("StringConcat")
def string_concat(c):
    return Case([words("a", "b"), words("x", "")], want=[words("ax", "b")])


@recipe("StringSplit")
def string_split(c):
    return Case([words("a,b", "c")], {"delimiter": ","}, want=[np.array([["a", "b"], ["c", ""]], dtype=object), i64(2, 1)])


@recipe("RegexFullMatch")
def regex(c):
    return Case([words("a12", "12", "b")], {"pattern": "[a-b][0-9]*"}, want=[np.array([True, False, True])])


@recipe("TfIdfVectorizer")
def tfidf(c):
    text = c.elem(0) == "string"
    pool = {"pool_strings": ["a", "b", "b", "c"]} if text else {"pool_int64s": [1, 2, 2, 3]}
    x = words("a", "b", "c") if text else array([1, 2, 3], c.elem(0))
    return Case([x], {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0, "ngram_counts": [0, 2],
                      "ngram_indexes": [0, 1, 2], **pool}, want=[np.array([1, 1, 1], np.float32)])


# ---- losses ------------------------------------------------------------------------------------------------------


@recipe("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(c):
    x, target, w = c.x(0, 3, 4), array([0, 2, 3], c.elem(1)), c.x(2, 4, lo=1, hi=3)
    y = f64(x)
    logp = y if c.op[0] == "N" else y - np.log(np.exp(y).sum(1, keepdims=True))
    t = target.astype(int)
    total = f64(w)[t]
    want = [np.array(-(logp[np.arange(3), t] * total).sum() / total.sum())]
    return Case([x, target, w], want=want if c.op[0] == "N" else want + [logp])


# ---- attention ---------------------------------------------------------------------------------------------------


@recipe("Attention")
def attention(c):
    q, k, v = c.x(0, 1, 2, 3, 4, lo=-1, hi=1), c.x(1, 1, 2, 3, 4, lo=-1, hi=1), c.x(2, 1, 2, 3, 4)
    mask = c.x(3, 3, 3)
    if c.var == "U" and "int" in c.elem("U"):
        mask = c.x(3, 3, 3, lo=0, hi=1)
    bias = np.where(mask, 0, -np.inf) if c.elem("U") == "bool" else f64(mask)
    if c.elem("U") == "bool":
        mask[:, 0] = True
        bias = np.where(mask, 0, -np.inf)
    s = f64(q) @ f64(k).transpose(0, 1, 3, 2) / 2 + bias
    p = np.exp(s - s.max(-1, keepdims=True))
    want = p / p.sum(-1, keepdims=True) @ f64(v)
    return Case([q, k, v, mask], out=1, want=[want], why="written from the text: the evaluator computes in the input's own type")


@recipe("RotaryEmbedding")
def rotary(c):
    return Case([c.x(0, 1, 2, 3, 4), c.x(1, 5, 2), c.x(2, 5, 2), i64(0, 2, 1).reshape(1, 3)])


@recipe("LinearAttention")
def linear_attention(c):
    q, k, v = (c.x(i, 1, 3, 4, lo=-1, hi=1) for i in range(3))
    return Case([q, k, v, c.x(3, 1, 2, 2, 2, lo=-1, hi=1)], {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"})


@recipe("CausalConvWithState")
def causal_conv(c):
    return Case([c.x(0, 1, 2, 4), c.x(1, 2, 1, 3), c.x(2, 2), c.x(3, 1, 2, 2)])


@recipe("FlexAttention", domain="ai.onnx.preview")
def flex_attention(c):
    q, k, v = (c.x(i, 1, 2, 3, 4, lo=-1, hi=1) for i in range(3))
    s = f64(q) @ f64(k).transpose(0, 1, 3, 2) / 2
    p = np.exp(s - s.max(-1, keepdims=True))
    return Case([q, k, v], want=[p / p.sum(-1, keepdims=True) @ f64(v)])


# ---- training ----------------------------------------------------------------------------------------------------


@recipe("Adagrad", "Adam", "Momentum", domain="ai.onnx.preview.training")
def optimizer(c):
    t3 = "T3" if "T3" in c.types else "T2"
    x, g, h = (c.numbers(elem(c.type("T3")), 3, lo=0.5, hi=3) for _ in range(3))
    attrs = {"Momentum": {"alpha": 0.9, "beta": 0.1, "mode": "standard", "norm_coefficient": 0.01}}.get(c.op, {})
    inputs = [c.const(0, 0.1), np.array(1, np.int64), x, g, h] + ([h * 2] if c.op == "Adam" else [])
    return Case(inputs, attrs, out=3 if c.op == "Adam" else 2)


@recipe("Gradient", domain="ai.onnx.preview.training")
def gradient(c):
    if c.var == "T1" and c.elem("T1") not in ("float", "double", "float16"):  # an input that the graph reads but nobody differentiates by
        x, z = array([1, 2], "float"), c.x("T1", 2)
        square = helper.make_node("Mul", ["x0", "x0"], ["square"])
        return Case([x, z], {"xs": ["x0"], "zs": ["x1"], "y": "square"}, out=1, want=[2 * x], inner=[square],
                    kinds=[("tensor", "float"), c.type("T1")])
    c.types["T1"] = c.types["T2"] = c.types[c.var]
    x = array([1, 2], c.elem("T2"))
    square = helper.make_node("Mul", ["x0", "x0"], ["square"])
    return Case([x], {"xs": ["x0"], "y": "square"}, out=1, want=[2 * x], inner=[square])


# ---- ai.onnx.ml --------------------------------------------------------------------------------------------------

ML = "ai.onnx.ml"


@recipe("ArrayFeatureExtractor", domain=ML)
def array_features(c):
    x = c.x(0, 2, 3)
    return Case([x, i64(2, 0)], want=[x[:, [2, 0]]])


@recipe("Binarizer", domain=ML)
def binarizer(c):
    return Case([c.x(0, 2, 3)], {"threshold": 1.0})


@recipe("CastMap", domain=ML)
def cast_map(c):
    x = {1: "2", 2: "3"} if c.elem("T1") == "string" else {1: 2.0, 2: 3.0}
    to = {"float": "TO_FLOAT", "int64": "TO_INT64", "string": "TO_STRING"}[c.elem("T2")]
    want = array([["2", "3"]] if c.elem("T1") == "string" else [["2.000000", "3.000000"]], "string") if c.elem("T2") == "string" else array([[2, 3]], c.elem("T2"))
    return Case([x], {"cast_to": to}, want=[want], why=LACKS)


@recipe("CategoryMapper", domain=ML)
def category_mapper(c):
    if c.var == "T2":
        c.types["T1"] = "tensor(int64)" if c.elem("T2") == "string" else "tensor(string)"
    else:
        c.types["T2"] = "tensor(int64)" if c.elem("T1") == "string" else "tensor(string)"
    attrs = {"cats_strings": ["a", "b"], "cats_int64s": [1, 2]}
    if c.elem("T1") == "string":
        return Case([words("b", "z")], attrs, want=[i64(2, -1)], why=LACKS)
    return Case([i64(2, 9)], attrs, want=[words("b", "_Unused")], why=LACKS)


@recipe("DictVectorizer", domain=ML)
def dict_vectorizer(c):
    if c.var == "T2":
        c.types["T1"] = {"int64": "map(string, int64)", "float": "map(int64, float)", "double": "map(int64, double)",
                         "string": "map(int64, string)"}[c.elem("T2")]
    kind = c.type("T1")
    c.types["T2"] = f"tensor({elem(kind)})"
    keys = ["a", "c", "d"] if kind[1] == "string" else [1, 3, 4]
    text = elem(kind) == "string"
    x = dict(zip(keys[:2], ["u", "v"] if text else [4, 5] if "int" in elem(kind) else [4.0, 5.0]))
    attrs = {"string_vocabulary" if kind[1] == "string" else "int64_vocabulary": keys[::-1]}
    return Case([x], attrs, want=[array([["", "v", "u"]] if text else [[0, 5, 4]], elem(kind))])


@recipe("FeatureVectorizer", domain=ML)
def feature_vectorizer(c):
    a, b = c.x(0, 2, 2), c.x(0, 2, 3)
    return Case([a, b], {"inputdimensions": [2, 3]}, want=[np.concatenate([a, b], 1)])


@recipe("Imputer", domain=ML)
def imputer(c):
    x = array([[1, 7], [7, 3]], c.elem(0))
    attrs = {"imputed_value_int64s": [5, 6], "replaced_value_int64": 7} if "int" in c.elem(0) else {"imputed_value_floats": [5.0, 6.0], "replaced_value_float": 7.0}
    return Case([x], attrs, want=[array([[1, 6], [5, 3]], c.elem(0))])


@recipe("LabelEncoder", domain=ML)
def label_encoder(c):
    names = {"string": "strings", "int64": "int64s", "float": "floats"}
    if c.v == 1:
        c.types["T2" if c.var == "T1" else "T1"] = "tensor(int64)" if c.elem(c.var or "T1") == "string" else "tensor(string)"
        if c.elem("T1") == "string":
            return Case([words("b", "z")], {"classes_strings": ["a", "b"]}, want=[i64(1, -1)], why=OLD)
        return Case([i64(1, 9)], {"classes_strings": ["a", "b"]}, want=[words("b", "_Unused")], why=OLD)
    k, v = c.elem("T1"), c.elem("T2")
    keys = array(["a", "b"] if k == "string" else [1, 2], k)
    values = array(["u", "v"] if v == "string" else [5, 6], v)
    x = array(["b", "z", "a"] if k == "string" else [2, 9, 1], k)
    default = array(["_Unused"] if v == "string" else [0 if v in ("float", "double") else -1], v)
    want = [np.array([values[1], default[0], values[0]], dtype=values.dtype)]
    if k in names and v in names and (c.v == 2 or c.var is None):
        return Case([x], {f"keys_{names[k]}": keys.tolist(), f"values_{names[v]}": values.tolist()}, want=want)
    return Case([x], {"keys_tensor": attr_tensor(keys), "values_tensor": attr_tensor(values), "default_tensor": attr_tensor(default)}, want=want)


@recipe("LinearClassifier", domain=ML)
def linear_classifier(c):
    labels = {"classlabels_strings": ["a", "b", "c"]} if c.elem("T2") == "string" else {"classlabels_ints": [4, 5, 6]}
    return Case([c.x(0, 4, 2)], {"coefficients": [1.0, 2, -1, 0.5, -2, 1], "intercepts": [0.25, 0.5, -0.5], "post_transform": "SOFTMAX", **labels})


@recipe("LinearRegressor", domain=ML)
def linear_regressor(c):
    return Case([c.x(0, 4, 2)], {"coefficients": [1.0, 2, -1, 0.5], "intercepts": [0.25, 0.5], "targets": 2})


@recipe("Normalizer", domain=ML)
def normalizer(c):
    return Case([c.x(0, 2, 3, lo=1)], {"norm": "L2"})


@recipe("OneHotEncoder", domain=ML)
def one_hot_encoder(c):
    text = c.elem(0) == "string"
    x = words("b", "z") if text else array([2, 9], c.elem(0))
    cats = {"cats_strings": ["a", "b"]} if text else {"cats_int64s": [1, 2]}
    return Case([x], {**cats, "zeros": 1}, want=[np.array([[0, 1], [0, 0]], np.float32)])


@recipe("Scaler", domain=ML)
def scaler(c):
    return Case([c.x(0, 2, 3)], {"offset": [1.0, 0, -1], "scale": [0.5, 2, 1]})


@recipe("SVMClassifier", domain=ML)
def svm_classifier(c):
    labels = {"classlabels_strings": ["a", "b"]} if c.elem("T2") == "string" else {"classlabels_ints": [4, 5]}
    x = c.x(0, 4, 2)
    attrs = {"kernel_type": "RBF", "kernel_params": [0.5, 0, 3], "support_vectors": [1.0, 0, 0, 1, -1, 0.5], "vectors_per_class": [2, 1],
             "coefficients": [1.0, 0.5, -1.5], "rho": [0.25], **labels}
    score = -rbf(x, [[1, 0], [0, 1], [-1, 0.5]], 0.5) @ [1, 0.5, -1.5] - 0.25
    names = np.array(["a", "b"], dtype=object) if c.elem("T2") == "string" else np.array([4, 5])
    return Case([x], attrs, want=[names[(score > 0).astype(int)], np.stack([score, -score], 1)], why="the evaluator does not take integers or string labels")


def rbf(x, vectors, gamma):
    return np.exp(-gamma * ((f64(x)[:, None] - np.array(vectors)[None]) ** 2).sum(-1))


@recipe("SVMRegressor", domain=ML)
def svm_regressor(c):
    return Case([c.x(0, 4, 2)], {"kernel_type": "RBF", "kernel_params": [0.5, 0, 3], "support_vectors": [1.0, 0, 0, 1], "n_supports": 2,
                                 "coefficients": [1.0, -0.5], "rho": [0.25]})


TREE = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0]}


def tree_numbers(c, key, values):
    """Doubles come as tensors, from version 3 on."""
    if c.v >= 3 and c.elem("T1" if "T1" in c.types else "T") == "double":
        return {key + "_as_tensor": attr_tensor(np.array(values, np.float64), key)}
    return {key: [float(v) for v in values]}


@recipe("TreeEnsembleClassifier", domain=ML)
def tree_classifier(c):
    labels = {"classlabels_strings": ["a", "b", "c"]} if c.elem("T2") == "string" else {"classlabels_int64s": [4, 5, 6]}
    x = c.x(0, 4, 2)
    left = f64(x)[:, 0] <= 0.5
    scores = np.where(left[:, None], [0.75, 0.25, 0.0], [0.0, 0.5, 1.0])
    best = scores.argmax(1)
    names = np.array(["a", "b", "c"], dtype=object)[best] if c.elem("T2") == "string" else np.array([4, 5, 6])[best]
    return Case([x], {**TREE, **tree_numbers(c, "nodes_values", [0.5, 0, 0]), "class_treeids": [0] * 4, "class_nodeids": [1, 1, 2, 2],
                      "class_ids": [0, 1, 1, 2], **tree_numbers(c, "class_weights", [0.75, 0.25, 0.5, 1]), **labels}, want=[names, scores])


@recipe("TreeEnsembleRegressor", domain=ML)
def tree_regressor(c):
    x = c.x(0, 4, 2)
    want = np.where(f64(x)[:, :1] <= 0.5, 1.5, -2)
    return Case([x], {**TREE, **tree_numbers(c, "nodes_values", [0.5, 0, 0]), "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
                      **tree_numbers(c, "target_weights", [1.5, -2]), "n_targets": 1}, want=[want])


@recipe("TreeEnsemble", domain=ML)
def tree_ensemble(c):
    t = lambda v: attr_tensor(array(v, c.elem(0)))
    x = c.x(0, 4, 2)
    want = np.where(f64(x)[:, :1] <= 0.5, 1.5, -2)
    return Case([x], {"nodes_splits": t([0.5]), "nodes_modes": attr_tensor(np.array([0], np.uint8)), "nodes_featureids": [0], "nodes_truenodeids": [0],
                      "nodes_falsenodeids": [1], "nodes_trueleafs": [1], "nodes_falseleafs": [1], "leaf_targetids": [0, 0], "leaf_weights": t([1.5, -2]),
                      "tree_roots": [0], "n_targets": 1}, want=[want])


@recipe("ZipMap", domain=ML)
def zip_map(c):
    text = "string" in c.types["T"]
    keys = ["a", "b"] if text else [4, 5]
    x = np.array([[0.25, 0.75], [1, 0]], np.float32)
    return Case([x], {"classlabels_strings" if text else "classlabels_int64s": keys},
                want=[[dict(zip(keys, row.tolist())) for row in x]], why=LACKS)
