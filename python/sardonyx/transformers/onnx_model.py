"""OnnxModel: a ModelProto with the helpers that callers of the optimiser use."""

from __future__ import annotations

from collections import Counter


class OnnxModel:
    """``model`` is the ModelProto."""

    def __init__(self, model):
        self.model = model

    def graph(self):
        return self.model.graph

    def nodes(self) -> list:
        return list(self.model.graph.node)

    def get_nodes_by_op_type(self, op_type: str) -> list:
        return [n for n in self.model.graph.node if n.op_type == op_type]

    def get_fused_operator_statistics(self) -> dict[str, int]:
        """How many nodes there are of each operator that a rewrite may make."""
        made = ("Gelu", "LayerNormalization", "RMSNormalization", "Swish", "Attention", "HardSwish", "Softplus")
        return {op: n for op, n in Counter(n.op_type for n in self.nodes()).items() if op in made}

    def get_operator_statistics(self, include_domain=False) -> dict[str, int]:
        """How many nodes there are of each operator."""
        name = (lambda n: f"{n.domain}:{n.op_type}") if include_domain else (lambda n: n.op_type)
        return dict(Counter(name(n) for n in self.nodes()))

    def topological_sort(self, is_deterministic=False) -> None:
        """The engine writes nodes in order already."""

    def save_model_to_file(self, output_path, use_external_data_format=False, all_tensors_to_one_file=True,
                           size_threshold=1024, convert_attribute=False) -> None:  # fmt: skip
        """Writes the model."""
        import os

        import onnx

        location = os.path.basename(os.fspath(output_path)) + ".data" if use_external_data_format else None
        onnx.save_model(
            self.model, output_path, save_as_external_data=use_external_data_format,
            all_tensors_to_one_file=all_tensors_to_one_file, location=location, size_threshold=size_threshold,
            convert_attribute=convert_attribute,
        )  # fmt: skip

    def convert_float_to_float16(self, **kwargs) -> None:
        raise NotImplementedError("converting models to float16 is not part of this release")

    convert_model_float32_to_float16 = convert_float_to_float16
