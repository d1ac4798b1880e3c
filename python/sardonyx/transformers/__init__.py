"""The names of ``onnxruntime.transformers`` that callers of its optimiser use, over the engine's own rewrites."""
