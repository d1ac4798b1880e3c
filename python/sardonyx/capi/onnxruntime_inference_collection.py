"""The names of ``onnxruntime.capi.onnxruntime_inference_collection``."""

from .._devices import OrtDevice  # noqa: F401
from .._session import InferenceSession  # noqa: F401
from .._session import InferenceSession as Session  # noqa: F401
from .._sparse import SparseTensor  # noqa: F401
from .._values import IOBinding, OrtValue, copy_tensors  # noqa: F401
