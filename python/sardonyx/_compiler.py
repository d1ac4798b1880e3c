"""ModelCompiler: models prepared ahead for providers that compile. The CPU's preparation is the rewritten model."""

from __future__ import annotations

import os
import tempfile

from . import _native
from ._enums import GraphOptimizationLevel, OrtCompileApiFlags
from ._errors import Fail, make
from ._options import SessionOptions
from ._session import _LEVELS


class ModelCompiler:
    """Writes a model as the rewrites of the chosen level leave it; no provider here compiles nodes."""

    def __init__(self, sess_options: SessionOptions, input_model_path_or_bytes, embed_compiled_data_into_model=False,
                 external_initializers_file_path=None, external_initializers_size_threshold=1024,
                 flags=OrtCompileApiFlags.NONE, graph_optimization_level=GraphOptimizationLevel.ORT_DISABLE_ALL,
                 get_initializer_location_func=None):  # fmt: skip
        source = input_model_path_or_bytes
        if not isinstance(source, (str, bytes, os.PathLike)):
            raise TypeError(f"Unable to load from type '{type(source)}'")
        self._is_path = not isinstance(source, bytes)
        if self._is_path and not os.path.exists(source):
            raise make(Fail, f"{source}: the file does not exist")
        self._source = os.fsencode(source) if self._is_path else source
        self._flags, self._external = int(flags), external_initializers_file_path
        self._level = _LEVELS[int(graph_optimization_level)]

    def compile_to_file(self, output_model_path=None) -> None:
        """Writes the file; without a name, beside the model with ``_ctx`` in its name."""
        if output_model_path is None:
            if not self._is_path:
                raise make(Fail, "compile_to_file: a model of bytes needs the name of the file")
            stem, ext = os.path.splitext(os.fsdecode(self._source))
            output_model_path = f"{stem}_ctx{ext}"
        if self._flags & OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED:
            raise make(Fail, "no node was compiled: the providers of this build run models as they are")
        if self._flags & OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS and os.path.exists(output_model_path):
            raise make(Fail, f"{output_model_path} exists")
        external = os.path.basename(self._external) if self._external else None
        _native.optimize(self._source, self._is_path, os.fsencode(output_model_path), self._level, external)

    def compile_to_bytes(self) -> bytes:
        """The model's bytes."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            self.compile_to_file(path)
            with open(path, "rb") as f:
                return f.read()

    def compile_to_stream(self, write_function) -> None:
        """Calls write_function with the model's bytes."""
        write_function(self.compile_to_bytes())
