"""extensions.py LIBRARY EXTENSIONS - operators of the prebuilt onnxruntime-extensions library, run through the C ABI.

Texts and numbers to expect are what ONNX Runtime's own library gave for the same models.
"""
import sys

import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from ort_abi import OrtError, Runtime

S, I, F = T.STRING, T.INT64, T.FLOAT
VOCAB = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nworld\n##s\n,"


def model(op, ins, outs, attrs):
    node = h.make_node(op, [i[0] for i in ins], [o[0] for o in outs], domain="ai.onnx.contrib", **attrs)
    graph = h.make_graph([node], "g", [h.make_tensor_value_info(*i) for i in ins],
                         [h.make_tensor_value_info(*o) for o in outs])
    imports = [h.make_opsetid("", 17), h.make_opsetid("ai.onnx.contrib", 1)]
    return h.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


CASES = [
    ("StringUpper", [("x", S, [None])], [("y", S, [None])], {"x": ["abc", "d e"]}, {}, [["ABC", "D E"]]),
    ("StringLower", [("x", S, [None])], [("y", S, [None])], {"x": ["ABC", "dEf"]}, {}, [["abc", "def"]]),
    ("StringLength", [("x", S, [None])], [("y", I, [None])], {"x": ["ABC", "dEf1", ""]}, {}, [[3, 4, 0]]),
    ("StringConcat", [("x", S, [None]), ("y", S, [None])], [("z", S, [None])], {"x": ["a", "b"], "y": ["c", "d"]}, {},
     [["ac", "bd"]]),
    ("StringEqual", [("x", S, [None]), ("y", S, [None])], [("z", T.BOOL, [None])], {"x": ["a", "b"], "y": ["a", "d"]}, {},
     [[True, False]]),
    ("StringJoin", [("x", S, [None]), ("sep", S, [1]), ("axis", I, [1])], [("y", S, [None])],
     {"x": ["a", "b"], "sep": ["-"], "axis": np.array([0])}, {}, [["a-b"]]),
    ("StringRegexReplace", [("x", S, [None]), ("p", S, [1]), ("r", S, [1])], [("y", S, [None])],
     {"x": ["foo123bar"], "p": ["[0-9]+"], "r": ["#"]}, {}, [["foo#bar"]]),
    ("StringSplit", [("x", S, [None]), ("sep", S, [None]), ("skip", T.BOOL, [None])],
     [("i", I, [None, 2]), ("v", S, [None]), ("s", I, [2])], {"x": ["a,b", "c"], "sep": [","], "skip": np.array([True])}, {},
     [[[0, 0], [0, 1], [1, 0]], ["a", "b", "c"], [2, 2]]),
    ("NegPos", [("x", F, [None])], [("n", F, [None]), ("p", F, [None])], {"x": np.array([1, -2, 3], np.float32)}, {},
     [[0, -2, 0], [1, 0, 3]]),
    ("SegmentSum", [("x", F, [None, 2]), ("i", I, [None])], [("y", F, [None, None])],
     {"x": np.array([[1, 2], [3, 4], [5, 6]], np.float32), "i": np.array([0, 0, 1])}, {}, [[[4, 6], [5, 6]]]),
    ("BertTokenizer", [("x", S, [None])], [("ids", I, [None]), ("kinds", I, [None]), ("mask", I, [None])],
     {"x": ["Hello worlds, hello"]}, {"vocab_file": VOCAB}, [[2, 5, 6, 7, 8, 5, 3], [0] * 7, [1] * 7]),
    ("WordpieceTokenizer", [("x", S, [None]), ("r", I, [None])],
     [("t", S, [None]), ("ri", I, [None]), ("b", I, [None]), ("e", I, [None])],
     {"x": ["hello", "worlds"], "r": np.array([0, 2])},
     {"vocab": '{"hello":0,"world":1,"##s":2,"[unk]":3}', "unknown_token": "[UNK]", "suffix_indicator": "##"},
     [["hello", "world", "##s"], [0, 3], [0], [3]]),
]


# (operator, inputs, outputs, attributes, code, part of the text): refused when the session opens. The second fails by a
# C++ exception out of the kernel's creation.
REFUSED = [
    ("NoSuchOp", [("x", S, [None])], [("y", S, [None])], {}, 1, "not a registered function/op"),
    ("StringToVector", [("x", S, [None])], [("y", I, [None, None])], {"map": "a\t0 1", "unmapping_value": [1]}, 6, "vector"),
]


def main():
    rt = Runtime(sys.argv[1])
    failed = 0
    for op, ins, outs, feeds, attrs, want in CASES:
        try:
            session = rt.session(model(op, ins, outs, attrs), [sys.argv[2]])
            got = [v.tolist() for v in rt.run(session, feeds).values()]
            rt.release("Session", session)
        except OrtError as e:
            got = e
        if got != want:
            failed += 1
            print("FAILED %s: got %s, want %s" % (op, got, want))
    for op, ins, outs, attrs, code, text in REFUSED:
        try:
            rt.session(model(op, ins, outs, attrs), [sys.argv[2]])
            got = "was not refused"
        except OrtError as e:
            got = "" if e.code == code and text in e.text else str(e)
        if got:
            failed += 1
            print("FAILED %s: %s" % (op, got))
    print("%d passed, %d failed" % (len(CASES) + len(REFUSED) - failed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
