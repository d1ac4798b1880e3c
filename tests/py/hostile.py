#!/usr/bin/env python3
"""One-node models with absurd inputs and attributes: an answer or an error is fine, a signal is not.

    hostile.py [--sdx build/asan/sdx] [--out build/hostile] [--seed N] [--each K] [PATTERN ...]

Takes the cases of operators.py and changes each K times: extreme numbers in integer inputs, NaN and infinities in
others, no elements, other ranks, extreme or missing attributes.
"""
import argparse
import dataclasses
import fnmatch
import json
import pathlib
import shutil
import subprocess
import sys
import warnings
import zlib

import numpy as np

import generate
import operators
import recipes

ROOT = pathlib.Path(__file__).resolve().parents[2]
INTS = [0, -1, 1, 2**31 - 1, -2**31, 2**62, -2**63, 2**63 - 1, 7, -2, 1 << 40]
FLOATS = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e38, -1e-38, -1.0, 1e300]


def changed_array(rng, x):
    how = rng.integers(5)
    if how == 0 and x.ndim:
        shape = list(x.shape)
        shape[rng.integers(x.ndim)] = 0
        return np.zeros(shape, x.dtype) if x.dtype != object else np.full(shape, "", object)
    if how == 1:
        return x.reshape((1,) * int(rng.integers(4)) + x.shape) if rng.integers(2) or not x.ndim else x.reshape(-1)[:1].reshape(())
    if how == 2 and x.size:
        return np.concatenate([x.reshape(-1), x.reshape(-1)[:1]])
    y = x.copy()
    if not y.size:
        return y
    at = np.unravel_index(rng.integers(y.size), y.shape)
    if x.dtype == object:
        y[at] = rng.choice(["", "\0", "\u0130" * 50, "-1e999", "0x"])
    elif x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        y[at] = np.array(max(info.min, min(info.max, INTS[rng.integers(len(INTS))])), x.dtype)
    elif x.dtype != bool:
        with np.errstate(all="ignore"):
            y[at] = np.array(FLOATS[rng.integers(len(FLOATS))]).astype(x.dtype)
    return y


def changed_attrs(rng, attrs):
    attrs = dict(attrs)
    plain = [k for k, v in attrs.items() if isinstance(v, (int, float, str)) or isinstance(v, list) and v and isinstance(v[0], (int, float, str))]
    if not plain:
        return attrs
    key = plain[rng.integers(len(plain))]
    value = attrs[key]
    how = rng.integers(4)
    if how == 0:
        del attrs[key]
    elif isinstance(value, list):
        value = list(value)
        if how == 1:
            value.append(value[0])
        elif how == 2:
            value.pop()
        else:
            value[rng.integers(len(value))] = INTS[rng.integers(len(INTS))] if isinstance(value[0], int) else "" if isinstance(value[0], str) else 1e38
        attrs[key] = value
        if not value:
            del attrs[key]
    else:
        attrs[key] = INTS[rng.integers(len(INTS))] if isinstance(value, int) else float("nan") if isinstance(value, float) else "?"
    return attrs


def changed(rng, case):
    inputs, attrs = list(case.inputs), case.attrs
    for _ in range(1 + int(rng.integers(2))):
        arrays = [i for i, v in enumerate(inputs) if isinstance(v, np.ndarray)]
        if arrays and (rng.integers(3) or not attrs):
            i = arrays[rng.integers(len(arrays))]
            inputs[i] = changed_array(rng, inputs[i])
        else:
            attrs = changed_attrs(rng, attrs)
    return dataclasses.replace(case, inputs=inputs, attrs=attrs)


def write(folder, draw, case, original):
    outs = generate.out_names(draw, original)
    kinds = case.kinds or [draw.type(i) for i in range(len(case.inputs))]
    model = generate.node_model(draw.op, draw.domain, case.inputs, kinds, case.attrs, outs, draw.v, case.inner, case.extra)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    present = [(v, k) for v, k in zip(case.inputs, kinds) if v is not None] + list(case.extra.values())
    for i, (value, kind) in enumerate(present):
        (data / f"input_{i}.pb").write_bytes(generate.serialized(value, kind, f"x{i}").SerializeToString())
    nothing = generate.serialized(np.zeros(0, np.float32), ("tensor", "float"), "y")
    for i in range(len(outs)):
        (data / f"output_{i}.pb").write_bytes(nothing.SerializeToString())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("patterns", nargs="*")
    p.add_argument("--sdx", default=str(ROOT / "build/release/sdx"))
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build/hostile")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--each", type=int, default=2)
    a = p.parse_args()
    warnings.simplefilter("ignore")
    shutil.rmtree(a.out, ignore_errors=True)
    for schema in operators.schemas():
        for var, kind in operators.assignments(schema):
            name = operators.case_name(schema, var, kind)
            if a.patterns and not any(fnmatch.fnmatch(name, q) or q in name for q in a.patterns):
                continue
            draw = generate.Draw(schema, var, kind)
            case = recipes.case_for(draw)
            rng = np.random.default_rng([a.seed, zlib.crc32(name.encode())])
            for k in range(a.each):
                try:
                    write(a.out / name / str(k), draw, changed(rng, case), case)
                except (ValueError, TypeError, OverflowError):  # what the protobufs themselves cannot hold
                    shutil.rmtree(a.out / name / str(k), ignore_errors=True)
    done = subprocess.run([a.sdx, "test", str(a.out), "--json", "-v", "-j", "2", "--timeout", "1", "--max-bytes", str(1 << 30)], capture_output=True, text=True)
    cases = json.loads(done.stdout)["cases"]
    bad = [c for c in cases if c["text"].startswith(("CRASH", "internal"))]
    late = sum(c["text"] == "timeout" for c in cases)  # gigabytes were asked for
    for c in bad:
        print(f"{c['name']}: {c['text']}")
    print(f"hostile: {len(cases) - len(bad) - late} answered, {late} took too long, {len(bad)} crashed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
