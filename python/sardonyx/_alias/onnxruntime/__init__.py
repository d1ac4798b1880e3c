"""onnxruntime, as Sardonyx offers it.

Laid here by ``python -m sardonyx compat enable``; ``python -m sardonyx compat disable`` takes it away.
"""

from sardonyx.as_onnxruntime import fill as _fill

_fill(globals())
