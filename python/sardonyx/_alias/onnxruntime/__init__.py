"""onnxruntime, as Sardonyx offers it.

Laid here by ``python -m sardonyx compat enable``; ``python -m sardonyx compat disable`` takes it away.
"""

_sardonyx = True  # who lays claim to the name

from sardonyx.as_onnxruntime import fill as _fill  # noqa: E402

_fill(globals())
