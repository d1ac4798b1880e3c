"""Switches of fusions. Accepted: which rewrites apply is the engine's choice, see ``InferenceSession.report``."""

from __future__ import annotations

from enum import Enum


class AttentionMaskFormat(int, Enum):
    MaskIndexEnd = 0
    MaskIndexEndAndStart = 1
    AttentionMask = 3
    NoMask = 4


class AttentionOpType(Enum):
    Attention = "Attention"
    MultiHeadAttention = "MultiHeadAttention"
    GroupQueryAttention = "GroupQueryAttention"
    PagedAttention = "PagedAttention"

    def __str__(self):
        return self.value


class FusionOptions:
    """A bag of switches for a model type."""

    def __init__(self, model_type: str = "bert"):
        self.model_type = model_type
        for name in (
            "enable_gelu", "enable_layer_norm", "enable_attention", "enable_rotary_embeddings",
            "enable_skip_layer_norm", "enable_embed_layer_norm", "enable_bias_skip_layer_norm", "enable_bias_gelu",
            "enable_gemm_fast_gelu", "enable_qordered_matmul", "enable_shape_inference", "enable_nhwc_conv",
            "enable_group_norm", "enable_skip_group_norm", "enable_bias_splitgelu", "enable_packed_qkv",
            "enable_packed_kv", "enable_bias_add",
        ):  # fmt: skip
            setattr(self, name, True)
        self.enable_gelu_approximation = False
        self.use_multi_head_attention = False
        self.disable_multi_head_attention_bias = False
        self.group_norm_channels_last = True
        self.attention_mask_format = AttentionMaskFormat.AttentionMask
        self.attention_op_type = None

    def use_raw_attention_mask(self, use_raw_mask=True) -> None:
        self.attention_mask_format = (
            AttentionMaskFormat.AttentionMask if use_raw_mask else AttentionMaskFormat.MaskIndexEnd
        )

    def disable_attention_mask(self) -> None:
        self.attention_mask_format = AttentionMaskFormat.NoMask

    def set_attention_op_type(self, attn_op_type) -> None:
        self.attention_op_type = attn_op_type
