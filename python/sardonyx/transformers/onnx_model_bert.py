"""BertOnnxModel: OnnxModel under the name that callers expect for encoders."""

from .onnx_model import OnnxModel


class BertOnnxModel(OnnxModel):
    def __init__(self, model, num_heads=0, hidden_size=0):
        super().__init__(model)
        self.num_heads, self.hidden_size = num_heads, hidden_size
