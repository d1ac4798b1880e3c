"""Small models in the place of large ones that packages fetch at run time: the same ports and kinds of operators, weights
drawn once from a fixed seed."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

_RNG = np.random.default_rng(7)


def _weight(name, *shape, scale=None):
    scale = scale or 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else 1)
    return numpy_helper.from_array((_RNG.standard_normal(shape) * scale).astype(np.float32), name)


def _model(nodes, name, inputs, outputs, weights, opset=17):
    graph = helper.make_graph(nodes, name, inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8).SerializeToString()


def _port(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def face_embedding():
    """Three strided convolutions, a pool, a projection to 64 numbers."""
    node = helper.make_node
    nodes, x, c = [], "input.1", 3
    weights = [_weight("proj", 64, 64)]
    for i, width in enumerate((16, 32, 64)):
        weights.append(_weight(f"w{i}", width, c, 3, 3))
        nodes += [node("Conv", [x, f"w{i}"], [f"c{i}"], strides=[2, 2], pads=[1, 1, 1, 1]), node("Relu", [f"c{i}"], [f"r{i}"])]
        x, c = f"r{i}", width
    nodes += [node("GlobalAveragePool", [x], ["p"]), node("Flatten", ["p"], ["f"]), node("MatMul", ["f", "proj"], ["683"])]
    return _model(nodes, "face", [_port("input.1", TensorProto.FLOAT, ["None", 3, 112, 112])],
                  [_port("683", TensorProto.FLOAT, ["None", 64])], weights)  # fmt: skip


VOICE_CONFIG = {
    "audio": {"sample_rate": 16000}, "espeak": {"voice": "en-us"}, "num_symbols": 256, "num_speakers": 1,
    "inference": {"noise_scale": 0.0, "length_scale": 1.0, "noise_w": 0.0}, "phoneme_type": "espeak",
    "phoneme_id_map": {"_": [0], "^": [1], "$": [2], **{chr(c): [c % 250 + 3] for c in [*range(32, 127), *range(0x250, 0x300)]}},
}  # fmt: skip


def voice():
    """Phonemes to an embedding, transposed convolutions up to samples."""
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "input"], ["e"]), node("Transpose", ["e"], ["t"], perm=[0, 2, 1]),
        node("ConvTranspose", ["t", "up1"], ["u1"], strides=[16]), node("LeakyRelu", ["u1"], ["a1"]),
        node("ConvTranspose", ["a1", "up2"], ["u2"], strides=[16]), node("Tanh", ["u2"], ["w"]),
        node("ReduceMax", ["scales"], ["loud"], keepdims=0), node("Mul", ["w", "loud"], ["s"]),
        node("Unsqueeze", ["s", "one"], ["output"]),
    ]  # fmt: skip
    weights = [_weight("table", 256, 32), _weight("up1", 32, 16, 16), _weight("up2", 16, 1, 16, scale=0.1),
               numpy_helper.from_array(np.array([1], np.int64), "one")]  # fmt: skip
    inputs = [_port("input", TensorProto.INT64, ["batch", "phonemes"]), _port("input_lengths", TensorProto.INT64, ["batch"]),
              _port("scales", TensorProto.FLOAT, [3])]  # fmt: skip
    return _model(nodes, "voice", inputs, [_port("output", TensorProto.FLOAT, ["batch", 1, 1, "time"])], weights)


def kokoro():
    """Tokens and a style to samples."""
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "tokens"], ["e"]), node("MatMul", ["style", "mix"], ["m"]),
        node("Unsqueeze", ["m", "one"], ["m3"]), node("Add", ["e", "m3"], ["h"]), node("Div", ["h", "speed"], ["d"]),
        node("Transpose", ["d"], ["t"], perm=[0, 2, 1]), node("ConvTranspose", ["t", "up"], ["u"], strides=[64]),
        node("Tanh", ["u"], ["w"]), node("Reshape", ["w", "flat"], ["audio"]),
    ]  # fmt: skip
    weights = [_weight("table", 256, 32), _weight("mix", 256, 32), _weight("up", 32, 1, 64),
               numpy_helper.from_array(np.array([1], np.int64), "one"),
               numpy_helper.from_array(np.array([-1], np.int64), "flat")]  # fmt: skip
    inputs = [_port("tokens", TensorProto.INT64, [1, "n"]), _port("style", TensorProto.FLOAT, [1, 256]),
              _port("speed", TensorProto.FLOAT, [1])]  # fmt: skip
    return _model(nodes, "kokoro", inputs, [_port("audio", TensorProto.FLOAT, ["time"])], weights)
