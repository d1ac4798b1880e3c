#!/usr/bin/env python3
"""Write the official operator schemas to tests/data/onnx_schemas.tsv, for tests/unit/schema_test.c.

    pip install --target DIR --no-deps onnx==1.23.2
    PYTHONPATH=DIR .venv/bin/python tools/dump_schemas.py > tests/data/onnx_schemas.tsv

Lines, tab-separated:
    V domain name since deprecated min_in max_in min_out max_out      one operator version; newest first
    I name option types                                              its inputs, in order
    O name option types                                              its outputs
    A name type required default                                     its attributes
option is single, optional or variadic (heterogeneous: variadic~). types is a mask in hexadecimal, bit n for tensors of
element type n as TensorProto numbers them, then + and the forms that are no tensors (seq, opt, map, sparse).
"""
import re

import onnx
from onnx import defs

BIT = {"float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9, "float16": 10,
       "double": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16, "float8e4m3fn": 17,
       "float8e4m3fnuz": 18, "float8e5m2": 19, "float8e5m2fnuz": 20, "uint4": 21, "int4": 22, "float4e2m1": 23, "float8e8m0": 24,
       "uint2": 25, "int2": 26, "float6e2m3": 27, "float6e3m2": 28}


def types(schema, port):
    # `types` of a formal parameter are the strings that its type variable allows.
    mask, forms = 0, set()
    for t in port.types:
        m = re.fullmatch(r"tensor\((\w+)\)", t)
        if m:
            mask |= 1 << BIT[m[1]]
        else:
            forms.add(re.match(r"(seq|optional|map|sparse_tensor|tensor)", t)[1].replace("optional", "opt").replace("sparse_tensor", "sparse"))
    return f"{mask:x}" + "".join("+" + f for f in sorted(forms))


def option(port):
    name = str(port.option).split(".")[-1].lower()
    return name + ("~" if name == "variadic" and not port.is_homogeneous else "")


def default(attribute):
    p = attribute.default_value
    if not p.type:
        return ""
    value = onnx.helper.get_attribute_value(p)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return f"{value:.9g}"
    return str(value)


print(f"# tools/dump_schemas.py, onnx {onnx.__version__}")
schemas = sorted(defs.get_all_schemas_with_history(), key=lambda s: (s.domain, s.name, -s.since_version))
for s in schemas:
    limit = lambda n: -1 if n > 10000 else n
    print("V", s.domain or "ai.onnx", s.name, s.since_version, int(s.deprecated), s.min_input, limit(s.max_input), s.min_output,
          limit(s.max_output), sep="\t")
    for letter, ports in (("I", s.inputs), ("O", s.outputs)):
        for port in ports:
            print(letter, port.name, option(port), types(s, port), sep="\t")
    for name in sorted(s.attributes):
        a = s.attributes[name]
        print("A", name, str(a.type).split(".")[-1], int(a.required), default(a), sep="\t")
