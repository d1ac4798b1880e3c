"""nulls.py LIBRARY - every entry of the function table, called with nothing but NULL and zero.

An entry that answers with a status must refuse; the others must return. A crash ends this program.
"""
import re
import subprocess
import sys

from ort_abi import P, Runtime
from table import ROOT, entries

HEADERS = ["entries.h", "entries_custom.h", "entries_model.h"]


def with_status():
    """Names of the implemented entries that return one; those that are not implemented all do."""
    text = subprocess.run(["cc", "-E", "-P", "-I%s/src" % ROOT, "-x", "c", "/dev/null"] +
                          [a for name in HEADERS for a in ("-include", "ort/" + name)],
                          check=True, capture_output=True, text=True).stdout
    names = set(re.findall(r"OrtStatus \*sdx_ort_(\w+)\(", " ".join(text.split())))
    return names | {name for kind, name in entries() if kind == "STATUS"}


def main():
    rt = Runtime(sys.argv[1])
    status = with_status()
    failed = 0
    for _, name in entries():
        got = rt.entry(name, P, *[P] * 12)(*[None] * 12)
        if name not in status:
            continue
        if got:
            rt.release("Status", got)
        elif name != "ReleaseAvailableProviders":  # a release
            failed += 1
            print("FAILED %s: took NULL for everything" % name)
    print("%d passed, %d failed" % (len(rt.entries) - failed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
