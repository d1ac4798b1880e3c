#!/usr/bin/env python3
"""Contributed operators against upstream onnxruntime, one small model a case.

    contrib_parity.py [--sdx build/release/sdx] [--out build/contrib] [OPERATOR...]

A case is a row of CASES: operator, inputs, attributes, options. Inputs are written TYPE[shape]{values}, where

    T[2,3]            random, of every type that the row's T lists; a case each
    f32[4]{0.5:2}     random in [0.5, 2)
    i64[2]{1,2}       these values
    *u8[16,8]         an initializer
    -                 absent

Upstream computes what is expected, with its optimiser off; `sdx test` runs the cases and compares. A type that
upstream has no kernel for is left out and counted.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import onnxruntime

import cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
MS = "com.microsoft"
TYPES = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "u8": np.uint8, "i8": np.int8, "u16": np.uint16,
         "i16": np.int16, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "bool": np.bool_, "str": np.object_}
# By output type, docs/numerics.md: floats by their unit roundoff times the depth of what is computed; integers exact,
# 8-bit results within one step, as a quotient may fall on either side of a half.
TOLERANCE = {"f64": (1e-6, 1e-8), "f32": (1e-4, 2e-5), "f16": (1e-2, 4e-3), "u8": (0, 1), "i8": (0, 1)}


class Case:
    def __init__(self, op, inputs, attrs="", T="f32", out="1", domain=MS, tol=None, opset=21, exact=False, typed=False):
        self.op, self.inputs, self.out, self.domain, self.tol, self.opset, self.exact = op, inputs.split(), out, domain, tol, opset, exact
        self.types, self.attrs, self.typed = T.split(), parse_attrs(attrs), typed


def parse_attrs(text):
    """name=value ...; a value is a number, a word or a list [a,b]."""
    def value(t):
        if t.startswith("["):
            return [value(v) for v in t[1:-1].split(",") if v]
        try:
            return int(t)
        except ValueError:
            pass
        try:
            return float(t)
        except ValueError:
            return t.strip("'").replace("_SPACE_", " ")
    return {k: value(v) for k, v in (item.split("=", 1) for item in text.split())}


def decoder(vocab=11, heads=2, size=3):
    """A decoder as the searches call it: its logits depend on every input and on all of the past."""
    rng, d = np.random.default_rng(5), heads * size
    def const(name, a):
        return numpy_helper.from_array(np.asarray(a), name)
    def port(name, dtype, *shape):
        return helper.make_tensor_value_info(name, dtype, shape)
    inits = [const("E", rng.standard_normal((vocab, d)).astype(np.float32)), const("P", rng.standard_normal((32, d)).astype(np.float32)),
             const("W", rng.standard_normal((d, vocab)).astype(np.float32)), const("split", np.array([0, 0, heads, size])),
             const("zero", np.array([0])), const("one", np.array([1])), const("sums", np.array([0, 3])), const("flat", np.array([0, 1, d]))]
    steps = ["Gather E input_ids e", "Gather P position_ids p", "Add e p h", "Reshape h split r", "Transpose r t perm=[0,2,1,3]", "Unsqueeze t zero u",
             "Concat u u kv axis=0", "Concat past_0 kv present_0 axis=3", "ReduceMean present_0 sums c keepdims=0", "Reshape c flat cf", "Cast attention_mask mf to=1",
             "ReduceSum mf one m keepdims=1", "Unsqueeze m one mu", "Div cf mu n", "Add h n s", "MatMul s W logits"]
    nodes = []
    for step in steps:
        words = step.split()
        names = [w for w in words[1:] if "=" not in w]
        nodes.append(helper.make_node(words[0], names[:-1], names[-1:], **parse_attrs(" ".join(w for w in words if "=" in w))))
    ins = [port(n, TensorProto.INT32, "B", t) for n, t in (("input_ids", "S"), ("position_ids", "S"), ("attention_mask", "T"))]
    ins.append(port("past_0", TensorProto.FLOAT, 2, "B", heads, "L", size))
    outs = [port("logits", TensorProto.FLOAT, "B", "S", vocab), port("present_0", TensorProto.FLOAT, 2, "B", heads, "T", size)]
    return helper.make_graph(nodes, "decoder", ins, outs, inits)


def make_array(spec, types, rng):
    """(array, is initializer) of one input as the row writes it; None when absent."""
    if spec == "-":
        return None, False
    m = re.fullmatch(r"(\*?)(\w+)\[([\d,]*)\](?:\{(.*)\})?", spec)
    dtype = np.dtype(TYPES[types.get(m[2], m[2])])
    shape = tuple(int(d) for d in m[3].split(",") if d)
    values = m[4]
    if values is None and dtype.kind == "f":
        a = rng.standard_normal(shape)
    elif values is None and dtype.kind == "b":
        a = rng.integers(0, 2, shape)
    elif values is None:
        info = np.iinfo(dtype)
        a = rng.integers(max(info.min, -1000), min(info.max, 1000), shape, endpoint=True)
    elif ":" in values:
        low, high = (float(v) for v in values.split(":"))
        a = rng.uniform(low, high, shape) if dtype.kind == "f" else rng.integers(int(low), int(high), shape)
    elif dtype.kind == "O":
        a = np.array(values.replace("_SPACE_", " ").split(","), dtype=object).reshape(shape)
    else:
        a = np.array([float(v) if dtype.kind == "f" else int(v) for v in values.split(",") if v])
        a = np.resize(a, shape) if a.size else np.zeros(shape)
    return np.asarray(a).astype(dtype), bool(m[1])


def make_model(case, arrays):
    """The model of one node, and its feed."""
    names, feed, inits, ports = [], {}, [], []
    for i, (a, constant) in enumerate(arrays):
        names.append("" if a is None else f"x{i}")
        if a is None:
            continue
        if constant:
            inits.append(numpy_helper.from_array(a, names[-1]))
        else:
            feed[names[-1]] = a
            ports.append(helper.make_tensor_value_info(names[-1], helper.np_dtype_to_tensor_dtype(a.dtype), a.shape))
    outs = [f"y{i}" if c == "1" else "" for i, c in enumerate(case.out)]
    if case.op in ("GreedySearch", "BeamSearch", "Sampling"):
        case.attrs["decoder"] = decoder()
    node = helper.make_node(case.op, names, outs, name="n", domain=case.domain, **case.attrs)
    ends = [onnx.ValueInfoProto(name=o) for o in outs if o]
    if case.typed:  # what upstream cannot infer
        ends = [helper.make_tensor_value_info(o, helper.np_dtype_to_tensor_dtype(arrays[0][0].dtype), None) for o in outs if o]
    graph = helper.make_graph([node], "g", ports, ends, inits)
    opsets = [helper.make_opsetid("", case.opset), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feed


def short(dtype):
    return next(k for k, v in TYPES.items() if np.dtype(v) == dtype)


def write(case, types, folder):
    """Writes the case; an error text, or None."""
    rng = np.random.default_rng(zlib.crc32(folder.name.encode()))
    arrays = [make_array(s, types, rng) for s in case.inputs]
    model, feed = make_model(case, arrays)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    try:
        session = cases.upstream(folder / "model.onnx")
        result = cases.run_upstream(session, feed)
    except Exception as e:
        (folder / "model.onnx").unlink()
        return str(e).strip().splitlines()[-1]
    data = folder / "test_data_set_0"
    data.mkdir(exist_ok=True)
    for prefix, values in (("input", feed), ("output", result)):
        for i, (name, a) in enumerate(values.items()):
            (data / f"{prefix}_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(a), name).SerializeToString())
    worst = [TOLERANCE.get(short(np.asarray(a).dtype), (0, 0)) for a in result.values()]
    rtol, atol = case.tol or (max(w[0] for w in worst), max(w[1] for w in worst))
    if case.exact:
        rtol = atol = 0
    (folder / "data.json").write_text(json.dumps({"rtol": rtol, "atol": atol}))
    return None


F = "f32 f16 f64"
H = "f32 f16"
Q = "u8 i8"
QP = "f32[]{0.02} Q[]{3}"   # scale and zero point
CASES = [
    # activations
    Case("Gelu", "T[3,17]", T=F), Case("BiasGelu", "T[2,3,16] T[16]", T=F), Case("BiasGelu", "T[2,3,16] *T[16]"),
    Case("FastGelu", "T[2,3,16]", T=H), Case("FastGelu", "T[2,3,16] T[16]", T=H), Case("FastGelu", "T[2,3,16] T[16]", T="f64", tol=(1e-4, 1e-6)),
    Case("QuickGelu", "T[2,5]", T=F), Case("QuickGelu", "T[2,5]", "alpha=0.7"),
    Case("GatedAdd", "T[2,3,8] T[2,3,8] T[2,3,1]", T=H),
    # normalisation
    Case("SkipLayerNormalization", "T[2,3,16] T[2,3,16] T[16] T[16] T[16]", T=H),
    Case("SkipLayerNormalization", "T[2,3,16] T[2,3,16] *T[16] *T[16] *T[16]", "epsilon=1e-5", out="1001", T=H),
    Case("SkipLayerNormalization", "T[2,3,16] T[3,16] T[16] T[16]", T=H),
    Case("SkipLayerNormalization", "T[2,3,16] T[1,3,16] T[16]", "epsilon=0.1", T=H),
    Case("SkipLayerNormalization", "T[6,16] T[6,16] T[16] T[16]"),
    Case("SkipSimplifiedLayerNormalization", "T[2,3,16] T[2,3,16] T[16]", T=H),
    Case("SkipSimplifiedLayerNormalization", "T[2,3,16] T[2,3,16] *T[16] *T[16]", "epsilon=1e-5", out="1001", T=H),
    Case("SkipSimplifiedLayerNormalization", "T[6,16] T[6,16] T[16]", out="1001"),
    Case("SimplifiedLayerNormalization", "T[2,3,16] T[16]", domain="", T=F),
    Case("SimplifiedLayerNormalization", "T[2,3,16] T[16]", "axis=2 epsilon=0.01 stash_type=1", domain="", out="11"),
    Case("SimplifiedLayerNormalization", "T[2,3,4] T[3,4]", "axis=1", domain="", out="11"),
    Case("LayerNormalization", "T[2,3,16] T[16] T[16]", domain="", opset=11, T=F, out="111"),
    Case("GatedRMSNorm", "T[2,3,16] T[8] T[2,3,16]", "epsilon=1e-5", T=H),
    Case("EmbedLayerNormalization", "i32[2,5]{0:9} i32[2,5]{0:2} T[9,8] T[6,8] T[2,8] T[8] T[8]", out="11", T=H),
    Case("EmbedLayerNormalization", "i32[2,5]{0:9} i32[2,5]{0:2} *T[9,8] *T[6,8] *T[2,8] *T[8] *T[8] i32[2,5]{0:2}", "epsilon=0.001 mask_index_type=1", out="111", T=H),
    Case("EmbedLayerNormalization", "i32[2,5]{0:9} - T[9,8] T[6,8] - T[8] T[8] - i32[2,5]{0:6}", out="111"),
    Case("EmbedLayerNormalization", "i32[2,5]{0:9} - T[9,8] T[6,8] - T[8] T[8] - i32[1,5]{0:6}", out="111"),
    Case("QEmbedLayerNormalization", "i32[2,5]{0:9} i32[2,5]{0:2} Q[9,8] Q[6,8] Q[2,8] Q[8] Q[8] i32[2,5]{0:2} f32[]{0.02} f32[]{0.03} f32[]{0.04} f32[]{0.01} f32[]{0.01} Q[]{3} Q[]{5} Q[]{7} Q[]{1} Q[]{2}", T=Q, out="11"),
    # products
    Case("FusedMatMul", "T[2,3,4] T[2,4,5]", "alpha=0.5", T=F), Case("FusedMatMul", "T[2,3,4] T[2,5,4]", "transB=1", T=F),
    Case("FusedMatMul", "T[2,4,3] T[4,5]", "transA=1 alpha=2.0", T=F), Case("FusedMatMul", "T[4,3] T[2,5,4]", "transA=1 transB=1", T=F),
    Case("FusedMatMul", "T[2,4,3] *T[5,4]", "transA=1 transB=1 alpha=-1.5", T=F), Case("FusedMatMul", "T[7,4] *T[5,4]", "transB=1"),
    Case("FusedMatMul", "T[3,2,6,4] T[2,6,4,5]", "transBatchA=1", T=F), Case("FusedMatMul", "T[4,2,6,3] T[2,6,4,5]", "transBatchA=1 transA=1", T=F),
    Case("FusedMatMul", "T[2,6,3,4] T[4,2,6,5]", "transBatchB=1", T=F), Case("FusedMatMul", "T[2,6,3,4] T[5,2,6,4]", "transBatchB=1 transB=1 alpha=3.0", T=F),
    Case("FusedMatMul", "T[40,33] T[65,33]", "transB=1 alpha=0.125"), Case("FusedMatMul", "T[4] T[4,5]", "alpha=0.5"), Case("FusedMatMul", "T[3,4] T[4]", "alpha=0.5"),
    Case("FusedMatMul", "T[2,0,4] T[2,4,5]"), Case("FusedMatMul", "T[2,3,0] T[2,0,5]"),
    Case("TransposeMatMul", "T[2,3,4] T[2,5,4]", "transB=1 alpha=0.5", T="f32 f64"),
    Case("FusedGemm", "T[3,4] T[4,5] T[5]", "activation=Relu", T="f32"), Case("FusedGemm", "T[4,3] T[5,4] T[3,5]", "activation=LeakyRelu activation_alpha=0.2 transA=1 transB=1 alpha=0.5 beta=2.0"),
    Case("FusedGemm", "T[3,4] T[4,5] T[5]", "activation=Sigmoid"), Case("FusedGemm", "T[3,4] T[4,5]", "activation=Tanh"),
    Case("FusedGemm", "T[3,4] T[4,5] T[5]", "activation=HardSigmoid activation_alpha=0.3 activation_beta=0.4"),
    Case("DynamicQuantizeMatMul", "f32[2,3,16] *Q[16,8] *f32[]{0.02} *Q[]{4} *f32[8]", T=Q), Case("DynamicQuantizeMatMul", "f32[5,16] Q[16,8] f32[8]{0.01:0.1} Q[8]{0:9}", T=Q),
    Case("DynamicQuantizeMatMul", "f32[5,16] Q[16,8] f32[]{0.02}", T=Q),
    Case("MatMulIntegerToFloat", "u8[2,3,16] Q[16,8] f32[]{0.1} f32[]{0.02} u8[]{9} Q[]{4} f32[8]", T=Q), Case("MatMulIntegerToFloat", "i8[3,16] i8[16,8] f32[]{0.1} f32[8]{0.01:0.1} i8[]{9} i8[8]{0:9}"),
    Case("MatMulIntegerToFloat", "u8[3,40] *Q[40,33] f32[]{0.1} *f32[33]{0.01:0.1}", T=Q), Case("MatMulIntegerToFloat", "u8[3,16] *i8[16,8] f32[]{0.1} *f32[]{0.02} - - *f32[8]"),
    Case("QGemm", "Q[3,16] f32[]{0.05} Q[]{7} Q[16,8] f32[]{0.02} Q[]{3} i32[8]", T=Q), Case("QGemm", "Q[3,16] f32[]{0.05} Q[]{7} *Q[8,16] *f32[]{0.02} *Q[]{3} *i32[8] f32[]{0.3} Q[]{2}", "transB=1", T=Q),
    Case("QGemm", "u8[16,3] f32[]{0.05} u8[]{7} i8[16,8] f32[8]{0.01:0.05} i8[8]{0} i32[1,8] f32[]{0.3} u8[]{90}", "transA=1 alpha=0.5"), Case("QGemm", "u8[3,16] f32[]{0.05} u8[]{7} u8[16,8] f32[]{0.02} u8[]{3} - f32[]{0.3} u8[]{90}"),
    Case("MatMulInteger16", "i16[3,5] i16[5,4]"),
    Case("CDist", "T[5,4] T[6,4]", "metric=sqeuclidean", T="f32 f64"), Case("CDist", "T[5,4] T[6,4]", "metric=euclidean", T="f32 f64"),
    Case("MatMulNBits", "T[2,3,32] u8[5,2,8] T[5,2]{0.01:0.1}", "K=32 N=5 block_size=16 bits=4", T=H), Case("MatMulNBits", "T[3,40] *u8[5,2,16] *T[10]{0.01:0.1} *u8[5]", "K=40 N=5 block_size=32 bits=4", T=H),
    Case("MatMulNBits", "T[1,64] *u8[70,2,16] *T[140]{0.01:0.1} *u8[70] - *T[70]", "K=64 N=70 block_size=32 bits=4 accuracy_level=0", T=H), Case("MatMulNBits", "T[9,64] u8[70,2,16] T[140]{0.01:0.1} T[70,2]{6:9}", "K=64 N=70 block_size=32 bits=4"),
    Case("MatMulNBits", "T[2,64] u8[5,2,32] T[5,2]{0.01:0.1} u8[5,2]", "K=64 N=5 block_size=32 bits=8"), Case("MatMulNBits", "T[2,64] u8[5,2,32] T[5,2]{0.01:0.1}", "K=64 N=5 block_size=32 bits=8"), Case("MatMulNBits", "T[2,64] u8[5,2,8] T[5,2]{0.01:0.1}", "K=64 N=5 block_size=32 bits=2"),
    Case("MatMulNBits", "T[2,64] u8[6,4,8] T[24]{0.01:0.1} T[6,4]{6:9} i32[64]{0:4}", "K=64 N=6 block_size=16 bits=4"), Case("MatMulNBits", "T[1,128] *u8[33,1,64] *T[33]{0.01:0.1}", "K=128 N=33 block_size=128 bits=4 accuracy_level=1"),
    Case("MatMulNBits", "T[1,96] *u8[33,3,16] *T[99]{0.01:0.1} *u8[66]", "K=96 N=33 block_size=32 bits=4 accuracy_level=4", tol=(0.05, 0.5)),
    Case("MatMulBnb4", "T[2,32] u8[80] T[10]{0.1:2}", "K=32 N=5 block_size=16 quant_type=0"), Case("MatMulBnb4", "T[2,32] u8[80] T[10]{0.1:2}", "K=32 N=5 block_size=16 quant_type=1"),
    Case("GatherBlockQuantized", "u8[6,16] i64[2,3]{0,5,2,-1,3,1} T[6,2]{0.1:1}", "block_size=16 bits=4 quantize_axis=1", T=H), Case("GatherBlockQuantized", "u8[6,16] i32[2]{0,5} T[6,2]{0.1:1} u8[6,1]", "block_size=16 bits=4 quantize_axis=-1", T=H),
    Case("GatherBlockQuantized", "u8[6,32] i32[2]{0,5} T[6,2]{0.1:1} u8[6,2]", "block_size=16 bits=8"), Case("GatherBlockQuantized", "u8[6,32] i32[2]{0,5} T[6,2]{0.1:1}", "block_size=16 bits=8"), Case("GatherBlockQuantized", "u8[6,16] i64[4]{0,9,-9,6} T[6,2]{0.1:1}", "block_size=16"), Case("GatherBlockQuantized", "u8[3,4,16] i32[2]{0,2} T[3,4,2]{0.1:1}", "block_size=16 quantize_axis=2"),
    Case("MoE", "T[3,8] T[3,4] T[4,12,8] T[4,12] T[4,8,12] T[4,8]", "k=2 activation_type=relu", T=H), Case("MoE", "T[2,3,8] T[6,4] *T[4,12,8] - *T[4,8,12]", "k=2 activation_type=silu normalize_routing_weights=1", T=H),
    Case("MoE", "T[3,8] T[3,4] T[4,12,8] T[4,12] T[4,8,12] T[4,8]", "k=1 activation_type=gelu"), Case("MoE", "T[3,8] T[3,4] T[4,12,8] T[4,12] T[4,8,12] T[4,8]", "k=4 activation_type=identity"),
    Case("MoE", "T[3,8] T[3,4] T[4,24,8] T[4,24] T[4,8,12] T[4,8]", "k=2 activation_type=swiglu swiglu_fusion=1 activation_alpha=1.702 activation_beta=1.0 swiglu_limit=7.0 normalize_routing_weights=1", T=H),
    Case("QMoE", "T[3,32] T[3,4] *u8[4,32,16] *T[4,32]{0.01:0.05} *T[4,32] *u8[4,32,16] *T[4,32]{0.01:0.05} *T[4,32]", "k=2 activation_type=silu expert_weight_bits=4", T=H), Case("QMoE", "T[3,32] T[3,4] *u8[4,32,32] *T[4,32]{0.001:0.005} - *u8[4,32,32] *T[4,32]{0.001:0.005}", "k=2 activation_type=relu expert_weight_bits=8 normalize_routing_weights=1"),
    Case("QMoE", "T[3,64] T[3,4] *u8[4,128,32] *T[4,128,2]{0.01:0.05} *T[4,128] *u8[4,64,32] *T[4,64,2]{0.01:0.05} *T[4,64]", "k=2 activation_type=swiglu swiglu_fusion=1 expert_weight_bits=4 block_size=32 activation_alpha=1.702 activation_beta=1.0 swiglu_limit=7.0"),
    Case("QMoE", "T[3,64] T[3,4] *u8[4,64,32] *T[4,64,2]{0.01:0.05} - *u8[4,64,32] *T[4,64,2]{0.01:0.05} - - - - *u8[4,64,1] *u8[4,64,1]", "k=2 activation_type=silu expert_weight_bits=4 block_size=32"), Case("QMoE", "T[3,64] T[3,4] *u8[4,64,32] *T[4,64]{0.01:0.05} - *u8[4,64,32] *T[4,64]{0.01:0.05} - - - - *u8[4,32] *u8[4,32]", "k=2 activation_type=silu expert_weight_bits=4"),
    # moving
    Case("Trilu", "T[3,4]", T="f32 f64 i64 bool"), Case("Trilu", "T[2,3,4] i64[]{1}", "upper=0"), Case("GatherND", "T[3,4] i64[2,1]{0,2}"), Case("GatherND", "T[3,4] i32[2,2]{0,2,1,3}"),
    Case("ExpandDims", "T[3,4] i32[]{1}"), Case("ExpandDims", "T[3,4] i32[]{-1}", T="f32 i64"), Case("ExpandDims", "T[3,4] i32[]{-2}"), Case("ExpandDims", "T[3,4] i32[]{-3}"),
    Case("Pad", "T[3,4] i64[4]{1,0,2,1}", T="f32 f64"), Case("Pad", "T[3,4] i64[1,4]{1,0,2,-1} T[1]{0.5}"), Case("Pad", "T[3,4] i64[4]{1,1,1,1}", "mode=reflect"), Case("Pad", "T[3,4] i64[4]{1,1,1,1}", "mode=edge"),
    Case("Range", "T[]{1} T[]{7} T[]{2}", T="f32 f64 i32 i64 i16"), Case("Range", "T[1]{1} T[1]{7}", T="f32 i64"),
    Case("Unique", "T[9]{3,1,3,2,1,5,5,3,0}", out="111", T="f32"),
    Case("GridSample", "T[1,2,5,6] T[1,3,4,2]{-1.2:1.2}"), Case("GridSample", "T[1,2,5,6] T[1,3,4,2]{-1.2:1.2}", "mode=nearest padding_mode=border align_corners=1"), Case("GridSample", "T[1,2,5,6] T[1,3,4,2]{-1.2:1.2}", "mode=bicubic padding_mode=reflection"),
    Case("UnfoldTensor", "T[3,9]", "size=3", T="f32 i64 u8"), Case("UnfoldTensor", "T[3,9,2]", "size=4 step=2 dim=1", T=H), Case("UnfoldTensor", "T[5]", "size=5 dim=0"),
    Case("CropAndResize", "T[2,3,6,7] T[3,4]{0:1} i32[3]{0,1,1} i32[2]{4,5}"), Case("CropAndResize", "T[2,3,6,7] T[3,4]{-0.3:1.3} i32[3]{0,1,1} i32[2]{4,5}", "mode=nearest extrapolation_value=0.5"), Case("CropAndResize", "T[1,1,6,7] T[2,4]{-0.3:1.3} i32[2]{0,0} i32[2]{1,3}", "extrapolation_value=2.0"),
    # convolution
    Case("FusedConv", "T[1,4,7,7] T[6,4,3,3] T[6]", "activation=Relu pads=[1,1,1,1]"), Case("FusedConv", "T[1,4,7,7] *T[6,2,3,3] *T[6] T[1,6,5,5]", "activation=Relu group=2"),
    Case("FusedConv", "T[1,4,7,7] *T[6,4,3,3]", "activation=LeakyRelu activation_params=[0.2] strides=[2,2]"), Case("FusedConv", "T[1,4,7,7] *T[6,4,3,3]", "activation=Clip activation_params=[-0.5,0.7]"),
    Case("FusedConv", "T[1,4,7,7] *T[6,4,3,3]", "activation=Sigmoid"), Case("FusedConv", "T[1,4,7,7] *T[6,4,3,3]", "activation=Tanh"), Case("FusedConv", "T[1,4,7,7] *T[6,4,3,3]", "activation=HardSigmoid activation_params=[0.2,0.4]"),
    Case("NhwcMaxPool", "T[1,7,7,3]", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", T=Q), Case("NhwcMaxPool", "T[2,9,3]", "kernel_shape=[2] ceil_mode=1 strides=[2]", T=Q), Case("NhwcMaxPool", "T[1,4,5,6,2]", "kernel_shape=[2,2,2] dilations=[1,2,1]", T=Q),
    Case("ConvTransposeWithDynamicPads", "T[1,2,4,4] T[2,3,3,3] i64[4]{1,1,1,1} T[3]"), Case("ConvTransposeWithDynamicPads", "T[1,2,4,4] T[2,3,3,3]", "strides=[2,2]"), Case("ConvTransposeWithDynamicPads", "T[1,2,4,4] T[2,3,3,3] i64[4]{1,0,0,1}", "strides=[2,2] output_padding=[1,1]"),
    Case("QLinearConv", "u8[1,4,7,7] f32[]{0.02} u8[]{9} *i8[6,4,3,3] *f32[6]{0.01:0.03} *i8[6]{0} f32[]{0.2} u8[]{100} *i32[6]", "pads=[1,1,1,1]"), Case("QLinearConv", "u8[1,7,7,4] f32[]{0.02} u8[]{9} *i8[6,4,3,3] *f32[]{0.02} *i8[]{0} f32[]{0.2} u8[]{100} *i32[6]", "channels_last=1 pads=[1,1,1,1]"),
    Case("QLinearConv", "u8[2,9,4] f32[]{0.02} u8[]{9} *i8[6,2,3] *f32[]{0.02} *i8[]{0} f32[]{0.2} u8[]{100}", "channels_last=1 group=2"),
    # quantised
    Case("QuantizeLinear", "T[3,4] T[]{0.02} u8[]{9}", T=H), Case("QuantizeLinear", "f32[3,4] f32[]{0.02} Z[]{3}", T="f32", tol=(0, 1)), Case("QuantizeLinear", "f32[3,4] f32[4]{0.01:0.1} i8[4]{0:9}", "axis=1"), Case("QuantizeLinear", "f32[3,4] f32[3]{0.01:0.1}", "axis=0"),
    Case("QuantizeLinear", "f32[3,4] f32[]{0.0001} u16[]{3000}", exact=True), Case("QuantizeLinear", "f32[3,4] f32[]{0.0001} i16[]{30}", exact=True),
    Case("DequantizeLinear", "Q[3,4] f32[]{0.02} Q[]{3}", T=Q + " u16 i16"), Case("DequantizeLinear", "i32[3,4] f32[]{0.02}"), Case("DequantizeLinear", "i8[3,4] f16[4]{0.1:0.3} i8[4]{0:9}"), Case("DequantizeLinear", "u8[3,4] f32[3]{0.1:0.3} u8[3]{0:9}", "axis=0"),
    Case("QLinearAdd", f"Q[2,3,8] {QP} Q[2,3,8] f32[]{{0.03}} Q[]{{5}} f32[]{{0.05}} Q[]{{7}}", T=Q), Case("QLinearAdd", f"Q[2,3,8] {QP} *Q[8] *f32[]{{0.03}} *Q[]{{5}} f32[]{{0.05}} Q[]{{7}}", T=Q), Case("QLinearAdd", "Q[2,3] f32[]{0.02} - Q[2,3] f32[]{0.02} - f32[]{0.05}", T=Q),
    Case("QLinearAdd", "Q[1] f32[]{0.02} Q[]{2} Q[2,3] f32[]{0.02} Q[]{3} f32[]{0.05} Q[]{7}", T=Q),
    Case("QLinearMul", f"Q[2,3,8] {QP} Q[2,3,8] f32[]{{0.03}} Q[]{{5}} f32[]{{0.05}} Q[]{{7}}", T=Q), Case("QLinearMul", f"Q[2,3,8] {QP} Q[3,1] f32[]{{0.03}} Q[]{{5}} f32[]{{0.05}} Q[]{{7}}", T=Q),
    Case("QLinearSigmoid", f"Q[2,37] {QP} f32[]{{0.004}} Q[]{{0}}", T=Q), Case("QLinearSigmoid", "Q[2,37] f32[]{0.02} - f32[]{0.008} Q[]{0}", T=Q), Case("QLinearLeakyRelu", f"Q[2,37] {QP} f32[]{{0.02}} Q[]{{10}}", "alpha=0.1", T=Q), Case("QLinearLeakyRelu", f"Q[2,37] {QP} f32[]{{0.02}} Q[]{{10}}", T=Q),
    Case("QLinearSoftmax", f"Q[2,9] {QP} f32[]{{0.004}} Q[]{{0}}", "opset=13 axis=-1", T=Q), Case("QLinearSoftmax", f"Q[2,3,5] {QP} f32[]{{0.004}} Q[]{{0}}", "opset=13 axis=1", T=Q), Case("QLinearSoftmax", f"Q[2,3,5] {QP} f32[]{{0.004}} Q[]{{0}}", "opset=11 axis=1", T=Q),
    Case("QLinearGlobalAveragePool", f"Q[2,3,5,4] {QP} f32[]{{0.01}} Q[]{{5}}", T=Q), Case("QLinearGlobalAveragePool", f"Q[2,5,4,3] {QP} f32[]{{0.01}} Q[]{{5}}", "channels_last=1", T=Q),
    Case("QLinearAveragePool", f"Q[2,3,5,4] {QP} f32[]{{0.01}} Q[]{{5}}", "kernel_shape=[2,2]", T=Q), Case("QLinearAveragePool", f"Q[2,3,5,4] {QP} f32[]{{0.015}} Q[]{{5}}", "kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2] count_include_pad=1", T=Q), Case("QLinearAveragePool", f"Q[2,5,4,3] {QP} f32[]{{0.015}} Q[]{{5}}", "kernel_shape=[2,2] channels_last=1 ceil_mode=1 strides=[2,2]", T=Q),
    Case("QLinearConcat", f"f32[]{{0.03}} Q[]{{4}} Q[2,3] {QP} Q[2,5] f32[]{{0.05}} Q[]{{6}}", "axis=1", T=Q), Case("QLinearConcat", f"f32[]{{0.03}} Q[]{{4}} Q[2,3,4] {QP} Q[2,3,4] {QP} Q[2,3,4] f32[]{{0.03}} Q[]{{4}}", "axis=-2", T=Q),
    Case("QLinearWhere", f"bool[2,3] Q[2,3] {QP} Q[2,3] f32[]{{0.05}} Q[]{{6}} f32[]{{0.04}} Q[]{{1}}", T=Q), Case("QLinearWhere", f"bool[2,1] Q[3] {QP} Q[2,3] f32[]{{0.05}} Q[]{{6}} f32[]{{0.04}} Q[]{{1}}", T=Q),
    # onnxruntime's own in the default domain
    Case("Affine", "T[2,3]", "alpha=2.0 beta=0.5", domain="", opset=9), Case("ImageScaler", "T[1,3,4,5]", "scale=0.5 bias=[0.1,0.2,0.3]", domain="", opset=9), Case("Crop", "T[1,3,8,9]", "border=[1,2,1,1]", domain="", opset=9), Case("Crop", "T[1,3,8,9]", "border=[1,2,1,1] scale=[3,4]", domain="", opset=9),
    Case("ParametricSoftplus", "T[2,3]", "alpha=0.5 beta=2.0", domain="", opset=9), Case("ScaledTanh", "T[2,3]", "alpha=0.5 beta=2.0", domain="", opset=9), Case("ThresholdedRelu", "T[2,3]", "alpha=0.5", domain="", opset=9), Case("Scale", "T[2,3]", "scale=0.5", domain="", opset=9),
    Case("DynamicSlice", "T[4,5] i64[1]{1} i64[1]{3} i64[1]{1}", domain="", opset=9),
    # attention
    Case("Attention", "T[2,4,16] T[16,48] T[48]", "num_heads=4", T=H), Case("Attention", "T[2,4,16] *T[16,48] - - - T[1,1,4,4]", "num_heads=2 scale=0.3 unidirectional=1", T=H),
    Case("Attention", "T[2,4,16] *T[16,48] *T[48] i32[2]{3,4}", "num_heads=4"), Case("Attention", "T[2,4,16] *T[16,48] *T[48] i32[2,4]{1,1,0,1,0,1,1,1}", "num_heads=4 mask_filter_value=-3.0"),
    Case("Attention", "T[2,4,16] *T[16,48] *T[48] i32[4]{4,3,0,1}", "num_heads=4"), Case("Attention", "T[2,4,16] *T[16,48] *T[48] i32[2,4,4]{1,1,0,1,0}", "num_heads=4 unidirectional=1"),
    Case("Attention", "T[2,4,16] *T[16,48] *T[48] i32[2,7]{1,1,0,1,1} T[2,2,4,3,4] T[2,4,4,7]", "num_heads=4", out="11"), Case("Attention", "T[2,1,16] *T[16,48] *T[48] - T[2,2,4,3,4]", "num_heads=4 unidirectional=1", out="11"),
    Case("Attention", "T[2,4,16] *T[16,56] *T[56]", "num_heads=4 qkv_hidden_sizes=[16,16,24]"), Case("Attention", "T[2,4,16] *T[16,48] *T[48] i32[2,1,6,6]{1,1,1,0,1} T[2,2,4,2,4]", "num_heads=4", out="11"),
    Case("Attention", "T[1,1,16] *T[16,48] *T[48]", "num_heads=1", out="11"), Case("Attention", "T[2,70,32] *T[32,96] *T[96] i32[2]{50,70}", "num_heads=2 unidirectional=1"),
    Case("MultiHeadAttention", "T[2,3,16] T[2,5,16] T[2,5,16]", "num_heads=4", T=H), Case("MultiHeadAttention", "T[2,3,16] T[2,5,16] T[2,5,24] T[56]", "num_heads=4 scale=0.4", T=H),
    Case("MultiHeadAttention", "T[2,3,16] T[2,4,5,4] T[2,4,5,4] T[48]", "num_heads=4"), Case("MultiHeadAttention", "T[2,3,16] T[2,4,5,4] T[2,4,5,4] - - T[2,4,3,5]", "num_heads=4"),
    Case("MultiHeadAttention", "T[2,3,16] T[2,5,16] T[2,5,16] - i32[2]{4,2}", "num_heads=4"), Case("MultiHeadAttention", "T[2,3,16] T[2,5,16] T[2,5,16] - i32[2,5]{1,0,1,1,1,1,0,0,1,1} T[1,4,3,5]", "num_heads=4 mask_filter_value=-2.5"),
    Case("MultiHeadAttention", "T[2,3,16] T[2,3,16] T[2,3,16] *T[48] i32[2,5]{1,0,1,1,1,1} - T[2,4,2,4] T[2,4,2,4]", "num_heads=4 unidirectional=1", out="111"), Case("MultiHeadAttention", "T[2,3,16] T[2,3,16] T[2,3,16] - i32[2,3,5]{1,0,1,1,1,1} T[2,1,3,5] T[2,4,2,4] T[2,4,2,4]", "num_heads=4", out="1111", typed=True),
    Case("MultiHeadAttention", "T[2,3,16] T[2,5,16] T[2,5,16]", "num_heads=4", out="1001", typed=True), Case("MultiHeadAttention", "T[2,3,4,3,4]", "num_heads=4"), Case("MultiHeadAttention", "T[2,3,16] T[2,5,4,2,4]", "num_heads=4"),
    Case("MultiHeadAttention", "T[2,3,16] T[2,3,16] T[2,3,16]", "num_heads=4 unidirectional=1", out="1111", typed=True), Case("MultiHeadAttention", "T[1,1,16] T[1,1,16] T[1,1,16] - - - T[1,4,9,4] T[1,4,9,4]", "num_heads=4", out="111"),
    Case("DecoderMaskedMultiHeadAttention", "T[2,1,16] T[2,1,16] T[2,1,16] - - T[2,4,6,4] T[2,4,6,4] i32[1]{3} - - T[48]", "num_heads=4 past_present_share_buffer=1", out="111"), Case("DecoderMaskedMultiHeadAttention", "T[2,1,16] T[2,4,5,4] T[2,4,5,4] i32[2,5]{1,1,0,1,1,1,0}", "num_heads=4", out="1"), Case("DecoderMaskedMultiHeadAttention", "T[2,1,16] T[2,4,5,4] T[2,4,5,4] - T[2,4,1,5]", "num_heads=4 output_qk=1", out="1001", typed=True),
    Case("DecoderMaskedMultiHeadAttention", "T[4,1,16] T[4,1,16] T[4,1,16] - - T[4,4,6,4] T[4,4,6,4] i32[1]{3} i32[1]{2} i32[2,2,6]{0,1,1,0,0,0,1,0,1,0,0,0}", "num_heads=4 past_present_share_buffer=1", out="111"),
    Case("GroupQueryAttention", "T[1,4,32] T[1,4,16] T[1,4,16] - - i32[1]{3} i32[1]{4}", "num_heads=4 kv_num_heads=2", T=H, out="111"), Case("GroupQueryAttention", "T[2,1,32] T[2,1,16] T[2,1,16] T[2,2,5,8] T[2,2,5,8] i32[2]{5,3} i32[1]{6}", "num_heads=4 kv_num_heads=2", T=H, out="111"),
    Case("GroupQueryAttention", "T[1,4,64] - - - - i32[1]{3} i32[1]{4} T[9,8] T[9,8]", "num_heads=2 kv_num_heads=1 do_rotary=1", T=H, out="111"), Case("GroupQueryAttention", "T[2,1,64] - - T[2,1,7,16] T[2,1,7,16] i32[2]{5,3} i32[1]{6} T[9,8] T[9,8]", "num_heads=2 kv_num_heads=1 do_rotary=1 rotary_interleaved=1", T=H, out="111"),
    Case("GroupQueryAttention", "T[1,3,32] T[1,3,16] T[1,3,16] T[1,2,5,8] T[1,2,5,8] i32[1]{7} i32[1]{8}", "num_heads=4 kv_num_heads=2 local_window_size=4", out="111"), Case("GroupQueryAttention", "T[1,3,32] T[1,3,16] T[1,3,16] T[1,2,9,8] T[1,2,9,8] i32[1]{6} i32[1]{7}", "num_heads=4 kv_num_heads=2 softcap=1.5 scale=0.8 smooth_softmax=1", out="111"),
    Case("GroupQueryAttention", "T[1,4,32] T[1,4,16] T[1,4,16] - - i32[1]{3} i32[1]{4} - - - T[1,4,4,4] T[4]", "num_heads=4 kv_num_heads=2 softcap=2.0", out="111"), Case("GroupQueryAttention", "T[1,4,32] T[1,4,16] T[1,4,16] - - i32[1]{3} i32[1]{4}", "num_heads=4 kv_num_heads=2 qk_output=1", out="1111"),
    Case("GroupQueryAttention", "T[1,4,32] T[1,4,16] T[1,4,16] - - i32[1]{3} i32[1]{4}", "num_heads=4 kv_num_heads=2 qk_output=2", out="1111"), Case("GroupQueryAttention", "T[1,4,64] - - - - i32[1]{3} i32[1]{4} T[9,8] T[9,8] i64[1,4]{2,5,1,7}", "num_heads=2 kv_num_heads=1 do_rotary=1", out="111"),
    Case("GroupQueryAttention", "T[2,1,64] - - T[2,1,7,16] T[2,1,7,16] i32[2]{5,3} i32[1]{6} T[9,8] T[9,8] i64[2,1]{1,4}", "num_heads=2 kv_num_heads=1 do_rotary=1", out="111"), Case("GroupQueryAttention", "T[1,3,32] T[1,3,16] T[1,3,16] - - i32[1]{2} i32[1]{3}", "num_heads=4 kv_num_heads=2 causal=0", out="111"),
    Case("GroupQueryAttention", "T[2,4,32] T[2,4,16] T[2,4,16] T[2,2,9,8] T[2,2,9,8] i32[2]{5,3} i32[1]{9} - - - - - - - - - i32[2]{4,4}", "num_heads=4 kv_num_heads=2", out="111"), Case("GroupQueryAttention", "T[2,3,32] T[2,3,16] T[2,3,16] - - i32[2]{2,2} i32[1]{3}", "num_heads=4 kv_num_heads=2 local_window_size=2", out="111"),
    Case("GroupQueryAttention", "T[1,1,32] T[1,1,16] T[1,1,16] i8[1,1,5,16]{-100:100} i8[1,1,5,16]{-100:100} i32[1]{3} i32[1]{4} - - - - - f32[1]{0.05} f32[1]{0.04}", "num_heads=2 kv_num_heads=1 k_quant_type=PER_TENSOR v_quant_type=PER_TENSOR kv_cache_bit_width=8", out="111", T=H), Case("GroupQueryAttention", "T[1,1,32] T[1,1,16] T[1,1,16] u8[1,1,5,8]{0:255} u8[1,1,5,8]{0:255} i32[1]{3} i32[1]{4} - - - - - f32[1]{0.4} f32[1]{0.3}", "num_heads=2 kv_num_heads=1 k_quant_type=PER_TENSOR v_quant_type=PER_TENSOR kv_cache_bit_width=4", out="111"),
    Case("GroupQueryAttention", "T[2,1,32] T[2,1,16] T[2,1,16] i8[2,2,5,8]{-100:100} i8[2,2,5,8]{-100:100} i32[2]{5,3} i32[1]{6} - - - - - f32[1,2,1,8]{0.02:0.05} f32[1,2,1,8]{0.02:0.05}", "num_heads=4 kv_num_heads=2 k_quant_type=PER_CHANNEL v_quant_type=PER_CHANNEL kv_cache_bit_width=8", out="111"), Case("GroupQueryAttention", "T[1,4,64] - - u8[1,1,0,8] u8[1,1,0,8] i32[1]{3} i32[1]{4} T[9,8] T[9,8] - - - f32[1,1,1,16]{0.1:0.4} f32[1,1,1,16]{0.1:0.4}", "num_heads=2 kv_num_heads=1 do_rotary=1 k_quant_type=PER_CHANNEL v_quant_type=PER_CHANNEL kv_cache_bit_width=4", out="111"),
    Case("GroupQueryAttention", "T[1,1,32] T[1,1,16] T[1,1,16] T[1,2,6,8] T[1,2,6,8] i32[1]{11} i32[1]{12}", "num_heads=4 kv_num_heads=2 local_window_size=4 sliding_window_cache=1", out="111"), Case("GroupQueryAttention", "T[1,5,32] T[1,5,16] T[1,5,16] T[1,2,6,8] T[1,2,6,8] i32[1]{14} i32[1]{15}", "num_heads=4 kv_num_heads=2 local_window_size=4 sliding_window_cache=1", out="111"),
    Case("GroupQueryAttention", "T[2,1,64] - - T[2,1,4,16] T[2,1,4,16] i32[2]{7,5} i32[1]{8} T[20,8] T[20,8]", "num_heads=2 kv_num_heads=1 do_rotary=1 local_window_size=4 sliding_window_cache=1", out="111"), Case("GroupQueryAttention", "T[1,10,32] T[1,10,16] T[1,10,16] T[1,2,6,8] T[1,2,6,8] i32[1]{9} i32[1]{10}", "num_heads=4 kv_num_heads=2 local_window_size=3 sliding_window_cache=1", out="111"),
    Case("RotaryEmbedding", "T[2,3,32] i64[1]{2} T[9,4] T[9,4]", T=H), Case("RotaryEmbedding", "T[2,4,3,8] i64[2,3]{0,1,2,5,6,7} T[9,4] T[9,4]", "interleaved=1", T=H), Case("RotaryEmbedding", "T[2,3,32] i64[2,3]{0,1,2,5,6,7} T[9,2] T[9,2]", "num_heads=4 rotary_embedding_dim=4"),
    Case("MRotaryEmbedding", "T[2,3,48] i64[3,2,3]{0:9} T[9,6] T[9,6]", "mrope_section=[2,2,2] num_heads=4"), Case("MRotaryEmbedding", "T[2,3,48] i64[3,2,3]{0:9} T[9,6] T[9,6]", "mrope_section=[4,1,1] num_heads=4 mrope_layout=1", T=H),
    Case("QAttention", "Q[2,4,16] Z[16,48]{0:255} f32[48] f32[]{0.02} f32[]{0.01} - Q[]{3} Z[]{120}", "num_heads=4", T=Q), Case("QAttention", "u8[2,4,16]{0:255} *i8[16,48]{-120:120} *f32[48] f32[]{0.02} *f32[48]{0.01:0.02} i32[2,7]{1,1,0,1,1} u8[]{120} *i8[48]{0} f32[2,2,4,3,4]", "num_heads=4 unidirectional=1", out="11"),
    Case("LinearAttention", "T[2,3,16] T[2,3,16] T[2,3,16] T[2,4,4,4] T[2,3,4]{-1:0} T[2,3,4]{0:1}", "q_num_heads=4 kv_num_heads=4", out="11", T=H), Case("LinearAttention", "T[2,3,16] T[2,3,8] T[2,3,12] - T[2,3,8]{-1:0} -", "q_num_heads=4 kv_num_heads=2 update_rule=gated", out="11"), Case("LinearAttention", "T[2,3,8] T[2,3,16] T[2,3,24] - - T[2,3,4]{0:1}", "q_num_heads=2 kv_num_heads=4 update_rule=delta scale=0.7", out="11"), Case("LinearAttention", "T[2,3,16] T[2,3,16] T[2,3,16] T[4,2,4,4,4]", "q_num_heads=4 kv_num_heads=4 update_rule=linear state_window=4", out="11"),
    Case("CausalConvWithState", "T[2,3,7] T[3,1,4] T[3] T[2,3,3]", "activation=silu", out="11", T=H), Case("CausalConvWithState", "T[2,3,7] T[3,1,4]", "dilation=2", out="11"), Case("CausalConvWithState", "T[2,7,3] T[3,1,4] - T[2,3,3]", "channels_last=1 activation=swish", out="11"), Case("CausalConvWithState", "T[2,3,2] T[3,1,4] - T[4,2,3,3]", "state_window=4", out="11"),
    Case("SparseAttention", "T[1,6,32] T[1,6,16] T[1,6,16] T[1,2,32,8] T[1,2,32,8] i32[1,3]{0,1,2} i32[1,2]{0,1} i32[1]{6} i32[1]{6}", "num_heads=4 kv_num_heads=2 sparse_block_size=16", out="111"), Case("SparseAttention", "T[1,20,32] T[1,20,16] T[1,20,16] T[1,2,32,8] T[1,2,32,8] i32[2,3]{0,1,3,0,1,2} i32[2,3]{0,0,1,0,1,-1} i32[1]{20} i32[1]{20}", "num_heads=4 kv_num_heads=2 sparse_block_size=16", out="111"),
    Case("SparseAttention", "T[1,1,64] - - T[1,1,32,16] T[1,1,32,16] i32[2,3]{0,1,3,0,1,2} i32[2,3]{0,0,1,0,1,-1} i32[1]{20} i32[1]{20} T[40,8] T[40,8]", "num_heads=2 kv_num_heads=1 sparse_block_size=16 do_rotary=1", out="111"),
    # generation; upstream leaves what follows the end of all rows undefined, so one row goes on
    Case("GreedySearch", "i32[2,3]{1:10} *i32[1]{12}", "eos_token_id=9 pad_token_id=0"), Case("GreedySearch", "i32[2,4]{0,0,3,4,5,6,7,8} *i32[1]{14} *i32[1]{9} *f32[1]{1.7}", "eos_token_id=4 pad_token_id=0 no_repeat_ngram_size=2"),
    Case("GreedySearch", "i32[2,3]{1:10} *i32[1]{12} - *f32[1]{1.2} *i32[11]{1,1,1,0,1,1,0,1,1,1,1} i32[2,11]{1,0,1,0,1,1,0,1,0,1,1,1,1,0,1,0,1,1,0,1,1,1} i32[2,3]{1,1,1,0,1,1}", "eos_token_id=3 pad_token_id=0"),
    Case("BeamSearch", "i32[2,3]{1:10} *i32[1]{9} *i32[1]{1} *i32[1]{3} *i32[1]{2} *f32[1]{1.0}", "eos_token_id=9 pad_token_id=0", out="11"), Case("BeamSearch", "i32[1,4]{0,3,4,5} *i32[1]{10} *i32[1]{6} *i32[1]{4} *i32[1]{4} *f32[1]{0.7} *f32[1]{1.3}", "eos_token_id=2 pad_token_id=0 no_repeat_ngram_size=2 early_stopping=1", out="111"),
    Case("BeamSearch", "i32[2,2]{3,4,5,6} *i32[1]{12} *i32[1]{0} *i32[1]{2} *i32[1]{1} *f32[1]{2.0} - *i32[11]{1,1,1,0,1,1,0,1,1,1,1}", "eos_token_id=7 pad_token_id=0", out="11"), Case("BeamSearch", "i32[2,2]{3,4,5,6} *i32[1]{8} *i32[1]{0} *i32[1]{1} *i32[1]{1} *f32[1]{1.0}", "eos_token_id=7 pad_token_id=0", out="11"),
    Case("Sampling", "i32[2,3]{1:10} *i32[1]{8} - - - - - - *i32[1]{7}", "eos_token_id=8 pad_token_id=0 top_p=0.0001 min_tokens_to_keep=1"),
    # text
    Case("Tokenizer", "str[3]{abcdef,hello_SPACE_world,}", "mark=1 mincharnum=1 pad_value=PAD separators=['']"), Case("Tokenizer", "str[2,2]{abcdef,hello_SPACE_world,a,b_SPACE_c_SPACE_d}", "mark=0 mincharnum=1 pad_value=# separators=['_SPACE_']"),
    Case("Tokenizer", "str[3]{a-b;c,x;;y--z,-}", "mark=1 mincharnum=1 pad_value=# separators=[';','-']"), Case("Tokenizer", "str[2]{one;three;of-it,aa;b}", "mark=0 mincharnum=2 pad_value=# separators=[';','-']"), Case("Tokenizer", "str[2]{a_SPACE__SPACE_b_SPACE_,_SPACE_c}", "mark=0 mincharnum=1 pad_value=# separators=['[\\s]+']"),
    Case("Tokenizer", "str[2]{ab12cd345,12}", "mark=0 mincharnum=1 pad_value=# tokenexp='[a-z]+'"), Case("Tokenizer", "str[2]{ab12cd345,x12}", "mark=1 mincharnum=2 pad_value=# tokenexp='[a-z]+|[0-9]+'"), Case("Tokenizer", "str[2]{aab,abab}", "mark=0 mincharnum=1 pad_value=# tokenexp='a|ab'"), Case("Tokenizer", "str[2]{schön,größe}", "mark=0 mincharnum=1 pad_value=# separators=['']"), Case("Tokenizer", "str[2]{,}", "mark=0 mincharnum=1 pad_value=# tokenexp='a'"),
    # several kinds
    Case("Inverse", "T[3,3]", T="f32 f64"), Case("Inverse", "T[2,2,4,4]", T=F), Case("Inverse", "T[1,1]{2}"),
    Case("MurmurHash3", "T[2,3]", T="i32 u32 i64 u64 f32 f64", exact=True), Case("MurmurHash3", "T[4]", "seed=7 positive=0", T="i32 i64", exact=True), Case("MurmurHash3", "str[3]{abc,defgh,x}", exact=True), Case("MurmurHash3", "str[2]{onnx,sardonyx}", "positive=0 seed=42", exact=True),
    Case("NGramRepeatBlock", "i64[2,7]{0:3} f32[2,5]", "ngram_size=2"), Case("NGramRepeatBlock", "i64[1,9]{0:2} f32[1,5]", "ngram_size=3"),
    Case("BifurcationDetector", "i64[8]{1,2,3,4,5,6,7,8} i64[4]{1,2,3,4} i64[]{4} i64[5]{5,6,9,8,7}", out="11"), Case("BifurcationDetector", "i64[5]{2,1,8,3,9} i64[1]{2} i64[]{0} -", out="11"), Case("BifurcationDetector", "i64[6]{4,5,6,4,5,7} i64[2]{4,5} i64[]{0} i64[7]{4,5,6,4,5,7,9}", "min_ngram_size=1 max_ngram_size=3", out="11"),
    Case("DynamicTimeWarping", "f32[5,7]"), Case("DynamicTimeWarping", "f32[1,6,4]"),
    Case("WordConvEmbedding", "i32[2,6]{0:5} f32[4,1,3,3] f32[4] f32[5,3]"), Case("WordConvEmbedding", "i32[2,6]{3,2,1,0,0,0,1,0,0,0,0,0} f32[4,1,2,3] f32[4] f32[5,3]", "embedding_size=4 conv_window_size=2 char_embedding_size=3"),
    Case("LinearAttentionGate", "f32[2,3,4] f32[4] f32[4] f32[2,3,4]", out="11"),
]


def main():
    onnxruntime.set_default_logger_severity(4)
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--sdx", default=str(ROOT / "build/release/sdx"))
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build/contrib")
    p.add_argument("names", nargs="*", help="only these operators")
    a = p.parse_args()
    subprocess.run(["rm", "-rf", str(a.out)], check=True)
    count, without = {}, []
    for case in CASES:
        if a.names and case.op not in a.names:
            continue
        for t in case.types:
            k = count[case.op] = count.get(case.op, -1) + 1
            name = f"{case.op}_{k}_{t}"
            said = write(case, {"T": t, "Q": t, "Z": "u8"}, a.out / name)
            if said:
                without.append(f"{name}: {said}")
    for line in without:
        print("upstream:", line[:220])
    status = subprocess.run([a.sdx, "test", str(a.out), "-j", "2"]).returncode
    print(f"contrib: {sum(count.values()) + len(count) - len(without)} cases of {len(count)} operators, {len(without)} left out by upstream")
    return status


if __name__ == "__main__":
    sys.exit(main())
