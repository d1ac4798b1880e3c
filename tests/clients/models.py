"""models.py DIR - the small models that the clients run."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

TYPES = dict(float=T.FLOAT, double=T.DOUBLE, float16=T.FLOAT16, bfloat16=T.BFLOAT16, int8=T.INT8, int16=T.INT16, int32=T.INT32,
             int64=T.INT64, uint8=T.UINT8, uint16=T.UINT16, uint32=T.UINT32, uint64=T.UINT64, bool=T.BOOL, string=T.STRING)


def tensor(name, dtype, dims):
    return h.make_tensor_value_info(name, dtype, dims)


def save(folder, name, nodes, ins, outs, inits=(), **kw):
    graph = h.make_graph(nodes, name, ins, outs, initializer=list(inits), doc_string="the graph of " + name)
    imports = [h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)] + [h.make_opsetid(d, 1) for d in kw.get("domains", ())]
    model = h.make_model(graph, opset_imports=imports, ir_version=8, producer_name="clients", model_version=7,
                         doc_string="a small model", domain="test.clients")
    h.set_model_props(model, {"key": "value", "other": "thing"})
    path = os.path.join(folder, name + ".onnx")
    onnx.save(model, path, **kw.get("save", {}))


def write_all(folder):
    os.makedirs(folder, exist_ok=True)
    for name, dtype in TYPES.items():
        save(folder, "same_" + name, [h.make_node("Identity", ["x"], ["y"])], [tensor("x", dtype, ["n", 2])],
             [tensor("y", dtype, ["n", 2])])
    two = numpy_helper.from_array(np.array([2], np.float32), "two")
    save(folder, "scale", [h.make_node("Mul", ["x", "two"], ["y"])], [tensor("x", T.FLOAT, ["n"]), tensor("two", T.FLOAT, [1])],
         [tensor("y", T.FLOAT, ["n"])], [two])
    save(folder, "scale_external", [h.make_node("Mul", ["x", "two"], ["y"])], [tensor("x", T.FLOAT, ["n"])],
         [tensor("y", T.FLOAT, ["n"])], [two],
         save=dict(save_as_external_data=True, location="scale_external.bin", size_threshold=0))
    save(folder, "add", [h.make_node("Add", ["a", "b"], ["c"])], [tensor("a", T.FLOAT, ["n", 3]), tensor("b", T.FLOAT, [3])],
         [tensor("c", T.FLOAT, ["n", 3])])
    save(folder, "sequence", [h.make_node("SequenceConstruct", ["a", "b"], ["s"])],
         [tensor("a", T.FLOAT, [2]), tensor("b", T.FLOAT, [3])], [h.make_tensor_sequence_value_info("s", T.FLOAT, None)])
    save(folder, "sequence_at", [h.make_node("SequenceAt", ["s", "i"], ["y"])],
         [h.make_tensor_sequence_value_info("s", T.FLOAT, None), tensor("i", T.INT64, [])], [tensor("y", T.FLOAT, None)])
    for name, keys, attr, key in [("map_int", [3, 5], "classlabels_int64s", T.INT64),
                                  ("map_string", ["a", "b"], "classlabels_strings", T.STRING)]:
        of = h.make_sequence_type_proto(h.make_map_type_proto(key, h.make_tensor_type_proto(T.FLOAT, [])))
        save(folder, name, [h.make_node("ZipMap", ["x"], ["m"], domain="ai.onnx.ml", **{attr: keys})],
             [tensor("x", T.FLOAT, ["n", 2])], [h.make_value_info("m", of)])
    trips = numpy_helper.from_array(np.array(1 << 40, np.int64), "trips")
    go = numpy_helper.from_array(np.array(True), "go")
    body = h.make_graph([h.make_node("Identity", ["c"], ["c_out"]), h.make_node("Add", ["v", "v"], ["v_out"])], "body",
                        [tensor("i", T.INT64, []), tensor("c", T.BOOL, []), tensor("v", T.FLOAT, [1])],
                        [tensor("c_out", T.BOOL, []), tensor("v_out", T.FLOAT, [1])])
    save(folder, "forever", [h.make_node("Loop", ["trips", "go", "x"], ["y"], body=body)], [tensor("x", T.FLOAT, [1])],
         [tensor("y", T.FLOAT, [1])], [trips, go])
    save(folder, "custom", [h.make_node("Twice", ["x"], ["t"], domain="test.custom", times=3.0, names=["p", "q"], sizes=[4, 5]),
                            h.make_node("Shout", ["s"], ["u"], domain="test.custom"),
                            h.make_node("Sum", ["t", "x", "t"], ["z"], domain="test.custom"),
                            h.make_node("Add", ["z", "x"], ["y"])],
         [tensor("x", T.FLOAT, ["n"]), tensor("s", T.STRING, ["k"])], [tensor("y", T.FLOAT, None), tensor("u", T.STRING, None)],
         domains=["test.custom"])
    custom_in_cpp(folder)


def custom_in_cpp(folder):
    def node(op, ins, outs, **kw):
        return h.make_node(op, ins, outs, domain="test.cpp", **kw)

    def model(name, nodes, ins, outs, inits=()):
        save(folder, name, nodes, ins, outs, inits, domains=["test.cpp"])

    a, b, y = (tensor(name, T.FLOAT, ["n"]) for name in "aby")
    bias = numpy_helper.from_array(np.array([3], np.float32), "bias")
    about = dict(scale=2.0, mode="sum", steps=[1, 2], weights=[0.5, 0.25], table=numpy_helper.from_array(np.array([10], np.float32)))
    model("cpp_custom", [node("Blend", ["x", "", "bias"], ["p"], name="first", **about),
                         node("Blend", ["x", "bias"], ["q"], name="second", **about), node("Plus", ["p", "q"], ["y"])],
          [tensor("x", T.FLOAT, ["n"])], [y], [bias])
    model("cpp_plus", [node("Plus", ["a", "b"], ["y"])], [a, tensor("b", T.FLOAT, ["m"])], [y])
    model("cpp_lite", [node("Mix", ["a", "b"], ["both"]), node("Mix", ["a"], ["alone"]), node("Repeat", ["s"], ["t"], times=3)],
          [a, b, tensor("s", T.STRING, ["k"])],
          [tensor("both", T.FLOAT, ["n"]), tensor("alone", T.FLOAT, ["n"]), tensor("t", T.STRING, ["k"])])
    model("cpp_refuse", [node("Refuse", ["a"], ["y"])], [a], [y])
    model("cpp_fall", [node("Fall", ["a"], ["y"])], [a], [y])

if __name__ == "__main__":
    write_all(sys.argv[1])
