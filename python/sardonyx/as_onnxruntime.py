"""``import sardonyx.as_onnxruntime``: from here on, ``import onnxruntime`` in this process is Sardonyx.

``onnxruntime.x`` is then the very module ``sardonyx.x``. Nothing on disk changes; for that there is
``python -m sardonyx compat enable``, whose files call ``fill`` below.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

#: What ``onnxruntime.__version__`` is: the release whose interface is offered, marked as ours.
VERSION = "1.32.0+sardonyx"

_NAME = "onnxruntime"
_PUBLIC = ("capi", "backend", "datasets", "tools", "transformers", "quantization")
_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_alias", _NAME)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self):
        self.whole = False  # also find the top package, whose files are not on the path
        self.specs: dict[str, object] = {}

    def find_spec(self, fullname, path=None, target=None):
        if fullname == _NAME and self.whole:
            return importlib.util.spec_from_file_location(
                _NAME, os.path.join(_FOLDER, "__init__.py"), submodule_search_locations=[_FOLDER]
            )
        parts = fullname.split(".")
        if parts[0] != _NAME or len(parts) < 2 or parts[1] not in _PUBLIC:
            return None
        real = importlib.util.find_spec("sardonyx" + fullname[len(_NAME) :])
        if real is None:
            return None
        return importlib.machinery.ModuleSpec(
            fullname, self, origin=real.origin, is_package=real.submodule_search_locations is not None
        )

    def create_module(self, spec):
        module = importlib.import_module("sardonyx" + spec.name[len(_NAME) :])
        self.specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module):
        # The import system gave the module the alias's spec: put its own back.
        for name, spec in list(self.specs.items()):
            if spec is not None and spec.name == module.__name__:
                module.__spec__ = self.specs.pop(name)


_finder = _Finder()


def _install() -> None:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def fill(namespace: dict) -> None:
    """Makes a module's namespace that of ``onnxruntime``."""
    import sardonyx

    _install()
    for name in dir(sardonyx):
        if not name.startswith("_") and name != "as_onnxruntime":
            namespace.setdefault(name, getattr(sardonyx, name))
    namespace["__version__"] = VERSION
    namespace["get_version_string"] = lambda: VERSION
    namespace["capi"] = importlib.import_module(f"{_NAME}.capi")

    def __getattr__(name):
        if name in _PUBLIC:
            return importlib.import_module(f"{_NAME}.{name}")
        return getattr(sardonyx, name)

    namespace["__getattr__"] = __getattr__


def activate() -> None:
    """What ``import sardonyx.as_onnxruntime`` does. ImportError when the genuine one was imported before."""
    present = sys.modules.get(_NAME)
    if present is not None and not hasattr(present, "_sardonyx"):
        raise ImportError("onnxruntime was imported before sardonyx.as_onnxruntime")
    _finder.whole = True
    _install()


activate()
