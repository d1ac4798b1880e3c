"""Shapes and types of all values, by the engine's own inference, which keeps names of sizes and computes with them."""

from __future__ import annotations

import argparse
import re

from .._options import SessionOptions
from .._session import InferenceSession

_NAMES = {
    "float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9,
    "float16": 10, "double": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
    "float8e4m3fn": 17, "float8e4m3fnuz": 18, "float8e5m2": 19, "float8e5m2fnuz": 20, "uint4": 21, "int4": 22,
    "float4e2m1": 23,
}  # fmt: skip


def _value_info(name: str, text: str):
    """ValueInfoProto of "float[N,3]"; None for what is no tensor of known type."""
    from onnx import helper

    m = re.fullmatch(r"(\w+)(?:\[(.*)\])?", text)
    if not m or m[1] not in _NAMES:
        return None
    dims = None
    if m[2] is not None:
        dims = [int(d) if re.fullmatch(r"\d+", d) else None if d in ("", "?") else d for d in m[2].split(",")]
        dims = [] if m[2] == "" else dims
    return helper.make_tensor_value_info(name, _NAMES[m[1]], dims)


class SymbolicShapeInference:
    """Called as ``SymbolicShapeInference.infer_shapes(model)``."""

    @staticmethod
    def infer_shapes(in_mp, int_max=2**31 - 1, auto_merge=False, guess_output_rank=False, verbose=0):
        """A copy of the ModelProto with ``value_info`` for what the inference finds out. The other arguments are
        accepted: nothing is guessed, and sizes that must be equal are merged in any case."""
        from onnx import ModelProto

        options = SessionOptions()
        options.add_session_config_entry("sardonyx.level", "none")
        session = InferenceSession(in_mp.SerializeToString(), options)
        model = ModelProto()
        model.CopyFrom(in_mp)
        own = {name for node in model.graph.node for name in node.output}
        known = {v.name for v in model.graph.value_info}
        types = dict(session._sess.values())
        for name, text in types.items():
            info = _value_info(name, text) if name in own and name not in known else None
            if info is not None and name not in {o.name for o in model.graph.output}:
                model.graph.value_info.append(info)
        for output in model.graph.output:
            info = _value_info(output.name, types.get(output.name, ""))
            if info is not None and not output.type.tensor_type.HasField("shape"):
                output.CopyFrom(info)
        return model


def main(argv=None) -> None:
    import onnx

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--auto_merge", action="store_true")
    parser.add_argument("--int_max", type=int, default=2**31 - 1)
    parser.add_argument("--guess_output_rank", action="store_true")
    parser.add_argument("--verbose", type=int, default=0)
    args = parser.parse_args(argv)
    onnx.save(SymbolicShapeInference.infer_shapes(onnx.load(args.input)), args.output)


if __name__ == "__main__":
    main()
