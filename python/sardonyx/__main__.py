"""``python -m sardonyx``: the command ``sdx`` that comes with the package, and ``compat``."""

from __future__ import annotations

import os
import sys


def _command() -> str | None:
    here = os.path.dirname(os.path.abspath(__file__))
    build = os.path.dirname(os.path.dirname(here)) if os.path.basename(os.path.dirname(here)) == "python" else here
    for path in (os.path.join(here, "bin", "sdx"), os.path.join(build, "sdx")):
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return None


def main() -> int:
    args = sys.argv[1:]
    if args[:1] == ["compat"]:
        from .compat import main as compat

        return compat(args[1:])
    command = _command()
    if command is None:
        print("sardonyx: this build has no sdx command", file=sys.stderr)
        return 1
    sys.stdout.flush()
    os.execv(command, ["sdx", *args])


if __name__ == "__main__":
    sys.exit(main())
