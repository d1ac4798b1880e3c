"""A prepared model."""

from __future__ import annotations

from .._options import RunOptions


class SardonyxBackendRep:
    """A session with the backend's ``run``."""

    def __init__(self, session):
        self._session = session

    def run(self, inputs, **kwargs) -> list:
        """inputs: an array for each input in order, a dict by name, or the array of the only input."""
        options = RunOptions()
        for name, value in kwargs.items():
            setattr(options, name, value)
        ports = self._session.get_inputs()
        if isinstance(inputs, (list, tuple)):
            inputs = {p.name: x for p, x in zip(ports, inputs)}
        elif not isinstance(inputs, dict):
            if len(ports) != 1:
                raise RuntimeError(f"the model has {len(ports)} inputs: give a list or a dict")
            inputs = {ports[0].name: inputs}
        return self._session.run(None, inputs, options)


OnnxRuntimeBackendRep = SardonyxBackendRep
