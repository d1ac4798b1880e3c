#!/usr/bin/env python3
"""ONNX's test cases by `sdx test`, against the ratchet.

    conformance.py [--sdx PATH] [--data build/conformance] [--quick] [--update] [GROUP ...]

Groups: node node-history simple pytorch-converted pytorch-operator real. Each is run with the optimiser off, exact
and default, with one and two threads, and at the lowest CPU level; --quick runs the default configuration only.

tests/conformance/failing.txt lists the cases that do not pass yet. A case that fails or is skipped and is not in the
list breaks the build, in any configuration. A listed case that passes everywhere is reported, and --update takes it
out of the list (or writes a first list). So the list only shrinks.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GROUPS = ["node", "node-history", "simple", "pytorch-converted", "pytorch-operator", "real"]
# label, level, threads, environment
CONFIGURATIONS = [("default, 2 threads", "default", 2, {}), ("default, 1 thread", "default", 1, {}), ("exact, 2 threads", "exact", 2, {}),
                  ("none, 1 thread", "none", 1, {}), ("default, portable kernels", "default", 2, {"SDX_CPU_LEVEL": "c"})]


def run(sdx, folder, level, threads, env):
    """{case: None when passed, else a reason}, from the TAP lines `ok 1 - name` and `not ok 2 - name # reason`."""
    done = subprocess.run([sdx, "test", str(folder), "--tap", "--level", level, "--threads", str(threads)],
                          capture_output=True, text=True, env={**os.environ, **env})
    results = {}
    for line in done.stdout.splitlines():
        m = re.match(r"(not ok|ok) \d+ - (\S+)\s*(?:#\s*(.*))?$", line)
        if m:
            skipped = (m[3] or "").upper().startswith("SKIP")
            results[m[2]] = None if m[1] == "ok" and not skipped else (m[3] or "failed")
    if not results or done.returncode not in (0, 1):
        sys.exit(f"sdx test {folder}: exit {done.returncode}\n{done.stdout[-500:]}{done.stderr[-2000:]}")
    return results


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("groups", nargs="*", metavar="GROUP")
    p.add_argument("--sdx", default=str(ROOT / "build/release/sdx"))
    p.add_argument("--data", type=pathlib.Path, default=ROOT / "build/conformance")
    p.add_argument("--list", type=pathlib.Path, default=ROOT / "tests/conformance/failing.txt")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--update", action="store_true")
    a = p.parse_args()
    groups = a.groups or GROUPS
    lines = a.list.read_text().splitlines() if a.list.exists() else []
    comments = [x for x in lines if x.startswith("#")]
    listed = {x for x in lines if x and not x.startswith("#")}

    failures, seen = {}, set()
    for label, level, threads, env in CONFIGURATIONS[:1] if a.quick else CONFIGURATIONS:
        for group in groups:
            if not (a.data / group).is_dir():
                continue
            results = {f"{group}/{name}": why for name, why in run(a.sdx, a.data / group, level, threads, env).items()}
            seen |= set(results)
            bad = {name: why for name, why in results.items() if why}
            for name, why in bad.items():
                failures.setdefault(name, f"{label}: {why}")
            print(f"{group:18} {label:26} {len(results) - len(bad):5} of {len(results)} passed", flush=True)

    broken = {n: w for n, w in failures.items() if n not in listed}
    mended = sorted(n for n in listed & seen if n not in failures)
    if a.update:
        keep = sorted((listed - set(mended)) | (set(broken) if not lines else set()))
        a.list.parent.mkdir(parents=True, exist_ok=True)
        head = comments or ["# Conformance cases that do not pass yet; tests/py/conformance.py --update takes out those that do."]
        a.list.write_text("\n".join(head + keep) + "\n")
        print(f"{a.list.relative_to(ROOT)}: {len(keep)} cases left")
        if not lines:
            broken = {}
    elif mended:
        print(f"{len(mended)} listed cases pass now (--update takes them out): {' '.join(mended[:5])}{' ...' if len(mended) > 5 else ''}")
    for name, why in sorted(broken.items())[:40]:
        print(f"FAILED {name}: {why}")
    print(f"conformance: {len(seen) - len(failures)} of {len(seen)} cases passed in every configuration, {len(broken)} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
