"""``python -m sardonyx compat enable | disable | status``: programs that import ``onnxruntime`` run on Sardonyx.

``enable`` lays a package ``onnxruntime`` of two small files beside Sardonyx, and the record of a distribution of that
name, so that installers and ``importlib.metadata`` find it. ``disable`` takes both away. A genuine ``onnxruntime`` is
never touched: while one is installed, ``enable`` refuses.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import sys
import sysconfig

from . import __version__
from .as_onnxruntime import _FOLDER, VERSION

_INFO = f"onnxruntime-{VERSION}.dist-info"
_MARK = "sardonyx\n"  # in INSTALLER: this distribution is ours


def _site() -> str:
    """Where to lay the files: beside the package, when it is installed; else where packages go."""
    parent = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    installed = [n for n in os.listdir(parent) if n.startswith("sardonyx-") and n.endswith(".dist-info")]
    return parent if installed else sysconfig.get_path("purelib")


def _is_ours(info: str) -> bool:
    try:
        with open(os.path.join(info, "INSTALLER"), encoding="utf-8") as f:
            return f.read() == _MARK
    except OSError:
        return False


def _ours(site: str) -> list[str]:
    """Folders of ours: the distribution records; each vouches for the package."""
    names = [n for n in os.listdir(site) if n.startswith("onnxruntime-") and n.endswith(".dist-info")]
    return [n for n in names if _is_ours(os.path.join(site, n))]


def genuine() -> list[str]:
    """Genuine distributions that provide ``onnxruntime``."""
    from importlib.metadata import distributions

    found = []
    for d in distributions():
        name = (d.metadata["Name"] or "").lower().replace("_", "-")
        is_runtime = name == "onnxruntime" or name.startswith(("onnxruntime-", "ort-"))
        if is_runtime and name not in ("onnxruntime-extensions", "onnxruntime-genai"):
            if (d.read_text("INSTALLER") or "") != _MARK:
                found.append(f"{name} {d.version}")
    return found


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        f.write(text)


def _record(site: str, files: list[str]) -> str:
    lines = []
    for name in files:
        with open(os.path.join(site, name), "rb") as f:
            data = f.read()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}")
    return "\n".join([*lines, f"{_INFO}/RECORD,,", ""])


def enable(site: str | None = None) -> str:
    """Lays the files; returns a sentence about it. RuntimeError when a genuine onnxruntime is there."""
    there = genuine()
    site = site or _site()
    package = os.path.join(site, "onnxruntime")
    if there or (os.path.exists(package) and not _ours(site)):
        what = ", ".join(there) or package
        raise RuntimeError(f"a genuine onnxruntime is installed ({what}): uninstall it first, or use "
                           "`import sardonyx.as_onnxruntime`, which changes one process only")
    disable(site)
    files = ["onnxruntime/__init__.py", "onnxruntime/capi/__init__.py"]
    for name in files:
        with open(os.path.join(os.path.dirname(_FOLDER), name), encoding="utf-8") as f:
            _write(os.path.join(site, name), f.read())
    _write(os.path.join(site, _INFO, "METADATA"),
           f"Metadata-Version: 2.1\nName: onnxruntime\nVersion: {VERSION}\n"
           f"Summary: The interface of onnxruntime, by Sardonyx {__version__}\nRequires-Dist: sardonyx\n")
    _write(os.path.join(site, _INFO, "WHEEL"), "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    _write(os.path.join(site, _INFO, "INSTALLER"), _MARK)
    _write(os.path.join(site, _INFO, "top_level.txt"), "onnxruntime\n")
    files += [f"{_INFO}/{n}" for n in ("METADATA", "WHEEL", "INSTALLER", "top_level.txt")]
    _write(os.path.join(site, _INFO, "RECORD"), _record(site, files))
    return f"enabled: `import onnxruntime` is Sardonyx {__version__}, as version {VERSION}, in {site}"


def disable(site: str | None = None) -> str:
    """Takes the files away; returns a sentence about it."""
    site = site or _site()
    infos = _ours(site)
    if not infos:
        return f"disabled: nothing of ours in {site}"
    shutil.rmtree(os.path.join(site, "onnxruntime"), ignore_errors=True)
    for name in infos:
        shutil.rmtree(os.path.join(site, name))
    return f"disabled: removed onnxruntime from {site}"


def status(site: str | None = None) -> str:
    """A sentence about how things are."""
    site = site or _site()
    there = genuine()
    if there:
        return f"not enabled: genuine {', '.join(there)}"
    return f"enabled in {site}, as version {VERSION}" if _ours(site) else "not enabled"


def main(args: list[str]) -> int:
    """The command; returns its exit status."""
    commands = {"enable": enable, "disable": disable, "status": status}
    if len(args) != 1 or args[0] not in commands:
        print("usage: python -m sardonyx compat enable | disable | status", file=sys.stderr)
        return 2
    try:
        print(commands[args[0]]())
    except (OSError, RuntimeError) as e:
        print(f"sardonyx compat {args[0]}: {e}", file=sys.stderr)
        return 1
    return 0
