"""Quantisation of models: not in this release."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(
        f"sardonyx.quantization.{name}: quantising models is not part of this release; models that are quantised "
        "already run"
    )
