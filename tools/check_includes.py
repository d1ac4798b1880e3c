#!/usr/bin/env python3
"""Say which arrow was bent: a file includes its own folder and anything to the left.

    base <- image, tensor <- kern <- graph <- ops <- onnx, opt, train, quant <- ep <- session <- api, ort <- shells

Unit tests may look everywhere. Shells see include/ and their own folder only, and image/, which reads pictures;
demos borrow the command's pictures.
"""
import pathlib
import re
import sys

FLOORS = ["base"], ["image", "tensor"], ["kern"], ["graph"], ["ops"], ["onnx", "opt", "train", "quant"], ["ep"], ["session"], ["api", "ort"]
FLOOR = {name: i for i, names in enumerate(FLOORS) for name in names}
SHELLS = "cli", "codecs", "demo", "python", "wasm"
root = pathlib.Path(__file__).resolve().parent.parent
bent = []

for path in sorted(p for top in ("src", "include", *SHELLS) for p in (root / top).rglob("*") if p.suffix in (".c", ".h", ".def")):
    rel = path.relative_to(root)
    if path.name.endswith("_test.c"):
        continue
    home = rel.parts[1] if rel.parts[0] == "src" else rel.parts[0]
    for n, line in enumerate(path.read_text().splitlines(), 1):
        m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not m:
            continue
        to = m[1].split("/")[0] if "/" in m[1] else home
        if to == home or (home, to) == ("demo", "cli") or to == "image" and home in SHELLS or to == "sardonyx" and home in SHELLS + ("api", "base", "include"):
            continue
        if home in FLOOR and to in FLOOR and FLOOR[to] < FLOOR[home]:
            continue
        bent.append(f"{rel}:{n}: {home} must not include {m[1]}")

print("\n".join(bent) or "includes: ok")
sys.exit(bool(bent))
