"""compare.py A B NAME...: results of clients.py with the genuine onnxruntime (A) and with Sardonyx (B), side by side.

Texts, labels and integers have to be equal; floats within the client's tolerance, 1e-3 if it says none, of the largest
number of their array. Exits with 1 when something differs or failed.
"""

import pathlib
import pickle
import sys

import numpy as np


def differences(a, b, where="", tolerance=1e-3):
    """Where b is not a."""
    if isinstance(a, dict) and isinstance(b, dict):
        if list(a) != list(b):
            return [f"{where}: keys {list(a)} and {list(b)}"]
        return [d for k in a for d in differences(a[k], b[k], f"{where}[{k!r}]", tolerance)]
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return [f"{where}: {len(a)} and {len(b)} elements"]
        return [d for i, (x, y) in enumerate(zip(a, b)) for d in differences(x, y, f"{where}[{i}]", tolerance)]
    if isinstance(a, (float, np.floating, np.ndarray)) and np.asarray(a).dtype.kind in "fc":
        x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if x.shape != y.shape:
            return [f"{where}: shapes {x.shape} and {y.shape}"]
        worst = float(np.abs(x - y).max()) if x.size else 0.0
        limit = tolerance * max(1.0, float(np.abs(x).max())) if x.size else 0.0
        return [] if worst <= limit else [f"{where}: differs by {worst:g}, {limit:g} is allowed"]
    same = np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
    return [] if same else [f"{where}: {a!r} and {b!r}"[:300]]


def main():
    first, second, failed = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), 0
    names = sys.argv[3:] or sorted(p.stem for p in first.glob("*.pickle"))
    for name in names:
        a, b = (pickle.loads((folder / f"{name}.pickle").read_bytes()) for folder in (first, second))
        found = [f"{side}: {r['error'].strip().splitlines()[-1]}" for side, r in (("onnxruntime", a), ("sardonyx", b)) if "error" in r]
        found = found or differences(a["result"], b["result"], tolerance=a["tolerance"])
        failed += bool(found)
        print(f"{name:22s} {'agrees' if not found else found[0]}")
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
