"""genai.py FOLDER - onnxruntime-genai generates with a decoder made here, greedily and with beams.

The decoder has what the package asks for: token ids, an attention mask, keys and values of the past that grow. Its
weights are random; the tokens to expect are what ONNX Runtime's own library gave.
"""
import json
import os
import sys

import numpy as np
import onnx
import onnxruntime_genai as og
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

VOCAB, HEADS, SIZE = 50, 2, 8
PROMPT = [1, 5, 9, 13]
WANT = {
    1: [3, 28, 45, 27, 37, 42, 19, 10, 42, 19, 10, 42, 19, 10, 42, 19, 10, 28, 45, 27],
    3: [45, 27, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 1, 45, 27, 49, 41],
}
WIDTH = HEADS * SIZE


def decoder():
    rng = np.random.default_rng(7)

    def weight(name, *shape):
        return numpy_helper.from_array((rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32), name)

    heads = numpy_helper.from_array(np.array([0, 0, HEADS, SIZE], np.int64), "heads")
    flat = numpy_helper.from_array(np.array([0, 0, WIDTH], np.int64), "flat")
    scale = numpy_helper.from_array(np.array(1 / np.sqrt(SIZE), np.float32), "scale")
    nodes = [h.make_node("Gather", ["embed", "input_ids"], ["x"])]
    for part in "qkv":
        nodes += [h.make_node("MatMul", ["x", "w" + part], [part + "0"]), h.make_node("Reshape", [part + "0", "heads"], [part + "1"]),
                  h.make_node("Transpose", [part + "1"], [part], perm=[0, 2, 1, 3])]
    nodes += [
        h.make_node("Concat", ["past_key_values.0.key", "k"], ["present.0.key"], axis=2),
        h.make_node("Concat", ["past_key_values.0.value", "v"], ["present.0.value"], axis=2),
        h.make_node("Transpose", ["present.0.key"], ["kt"], perm=[0, 1, 3, 2]),
        h.make_node("MatMul", ["q", "kt"], ["s0"]), h.make_node("Mul", ["s0", "scale"], ["s1"]),
        h.make_node("Cast", ["attention_mask"], ["m0"], to=T.FLOAT), h.make_node("Unsqueeze", ["m0", "axes"], ["m1"]),
        h.make_node("Log", ["m1"], ["m2"]), h.make_node("Add", ["s1", "m2"], ["s2"]),
        h.make_node("Softmax", ["s2"], ["p"], axis=-1), h.make_node("MatMul", ["p", "present.0.value"], ["c"]),
        h.make_node("Transpose", ["c"], ["c1"], perm=[0, 2, 1, 3]), h.make_node("Reshape", ["c1", "flat"], ["c2"]),
        h.make_node("Add", ["x", "c2"], ["y"]), h.make_node("MatMul", ["y", "wo"], ["logits"]),
    ]
    axes = numpy_helper.from_array(np.array([1, 2], np.int64), "axes")
    inits = [weight("embed", VOCAB, WIDTH), weight("wq", WIDTH, WIDTH), weight("wk", WIDTH, WIDTH), weight("wv", WIDTH, WIDTH),
             weight("wo", WIDTH, VOCAB), heads, flat, scale, axes]
    kv = ["b", HEADS, "past", SIZE]
    ins = [("input_ids", T.INT64, ["b", "n"]), ("attention_mask", T.INT64, ["b", "total"]),
           ("past_key_values.0.key", T.FLOAT, kv), ("past_key_values.0.value", T.FLOAT, kv)]
    outs = [("logits", T.FLOAT, ["b", "n", VOCAB]), ("present.0.key", T.FLOAT, ["b", HEADS, "total", SIZE]),
            ("present.0.value", T.FLOAT, ["b", HEADS, "total", SIZE])]
    graph = h.make_graph(nodes, "decoder", [h.make_tensor_value_info(*i) for i in ins],
                         [h.make_tensor_value_info(*o) for o in outs], inits)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


def write(folder):
    os.makedirs(folder, exist_ok=True)
    onnx.save(decoder(), os.path.join(folder, "model.onnx"))
    names = {"input_ids": "input_ids", "attention_mask": "attention_mask", "past_key_names": "past_key_values.%d.key",
             "past_value_names": "past_key_values.%d.value"}
    config = {
        "model": {
            "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "context_length": 64, "type": "llama", "vocab_size": VOCAB,
            "decoder": {
                "session_options": {"log_id": "client", "provider_options": [], "intra_op_num_threads": 1},
                "filename": "model.onnx", "head_size": SIZE, "hidden_size": WIDTH, "inputs": names,
                "outputs": {"logits": "logits", "present_key_names": "present.%d.key", "present_value_names": "present.%d.value"},
                "num_attention_heads": HEADS, "num_hidden_layers": 1, "num_key_value_heads": HEADS,
            },
        },
        "search": {"max_length": 24, "do_sample": False, "num_beams": 1, "past_present_share_buffer": False},
    }
    with open(os.path.join(folder, "genai_config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f)


def main():
    folder = sys.argv[1]
    write(folder)
    model = og.Model(folder)
    failed = 0
    for beams, want in WANT.items():
        params = og.GeneratorParams(model)
        params.set_search_options(max_length=24, num_beams=beams)
        generator = og.Generator(model, params)
        generator.append_tokens(np.array([PROMPT], np.int32))
        while not generator.is_done():
            generator.generate_next_token()
        got = [int(t) for t in generator.get_sequence(0)]
        if got != PROMPT + want:
            failed += 1
            print("FAILED with %d beams: %s" % (beams, got))
    print("%d passed, %d failed" % (len(WANT) - failed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
