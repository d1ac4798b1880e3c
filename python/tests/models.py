"""Small models, written in ONNX's textual form."""

from functools import cache

import onnx
from onnx import TensorProto, helper, parser


@cache
def text(graph: str, opset: int = 17, ir: int = 8, domains: str = "") -> bytes:
    """The model of one graph."""
    model = parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {opset}{domains}]> {graph}')
    return model.SerializeToString()


RELU = "relu (float[N] x) => (float[N] y) { y = Relu(x) }"
MATMUL = "g (float[N,2] x, float[2,M] w) => (float[N,M] y) { y = MatMul(x, w) }"
TWO = "g (float[2] a, float[2] b) => (float[2] s, float[2] p) { s = Add(a, b) p = Mul(a, b) }"


def relu() -> bytes:
    return text(RELU)


def matmul() -> bytes:
    return text(MATMUL)


def two() -> bytes:
    return text(TWO)


def identity(dtype: int, shape=("N",), opset: int = 21) -> bytes:
    """y = Identity(x) of one element type."""
    x = helper.make_tensor_value_info("x", dtype, shape)
    y = helper.make_tensor_value_info("y", dtype, shape)
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "identity", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString()


def loop(trips: int = 1 << 40) -> bytes:
    """A loop that runs until it is stopped."""
    body = parser.parse_graph(
        "body (int64 i, bool c, float[1] v) => (bool c2, float[1] w) { c2 = Identity(c) w = Add(v, v) }"
    )
    node = helper.make_node("Loop", ["n", "c", "x"], ["y"], body=body)
    graph = helper.make_graph(
        [node], "loop", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
        [helper.make_tensor("n", TensorProto.INT64, [], [trips]), helper.make_tensor("c", TensorProto.BOOL, [], [True])],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def sequence() -> bytes:
    """y = the sequence x and the tensor t behind it; n = its length."""
    seq = helper.make_tensor_sequence_value_info
    graph = helper.make_graph(
        [helper.make_node("SequenceInsert", ["x", "t"], ["y"]), helper.make_node("SequenceLength", ["y"], ["n"])],
        "sequence",
        [seq("x", TensorProto.FLOAT, None), helper.make_tensor_value_info("t", TensorProto.FLOAT, None)],
        [seq("y", TensorProto.FLOAT, None), helper.make_tensor_value_info("n", TensorProto.INT64, [])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def optional() -> bytes:
    """has = whether the optional x was given."""
    inner = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    x = helper.make_value_info("x", helper.make_optional_type_proto(inner))
    graph = helper.make_graph(
        [helper.make_node("OptionalHasElement", ["x"], ["has"])], "optional", [x],
        [helper.make_tensor_value_info("has", TensorProto.BOOL, [])],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8).SerializeToString()


def zipmap() -> bytes:
    """y = [{10: x[i][0], 20: x[i][1]}]."""
    y = helper.make_value_info("y", helper.make_sequence_type_proto(helper.make_map_type_proto(
        TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))))  # fmt: skip
    node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[10, 20])
    graph = helper.make_graph(
        [node], "zipmap", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2])], [y]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def dict_vectorizer() -> bytes:
    """y = the values of the dict x at "a", "b", "c"."""
    x = helper.make_value_info("x", helper.make_map_type_proto(
        TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, [])))  # fmt: skip
    node = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", string_vocabulary=["a", "b", "c"])
    graph = helper.make_graph([node], "dicts", [x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def with_metadata() -> bytes:
    model = onnx.load_from_string(relu())
    model.producer_name, model.domain, model.doc_string, model.model_version = "maker", "a.b", "what it is", 7
    model.graph.doc_string = "of the graph"
    helper.set_model_props(model, {"labels": "cat\ndog", "empty": ""})
    return model.SerializeToString()


def overridable() -> bytes:
    """y = x + w, where w is an initializer that feeds may replace."""
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> '
        "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {10, 20}> { y = Add(x, w) }"
    )
    return model.SerializeToString()


def external() -> bytes:
    """y = x + w, where w are two floats in the file w.bin, behind one that is skipped."""
    w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "w.bin"), ("offset", "4"), ("length", "8")):
        w.external_data.add(key=key, value=value)
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "external", ports[:1], ports[1:], [w])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
