#!/usr/bin/env python3
"""Speed against upstream onnxruntime, in fresh processes that take turns.

    bench.py [--threads 1] [--rounds 7] [--seconds 0.6] [--only REGEX] [--models DIR] [--out results.tsv]

With ../shared/bench beside the repository: its models, and its ort_bench, which opens both libraries through ONNX
Runtime's C ABI; prints the ratio of medians for every model and the geometric mean of each group. Elsewhere: the
real models (real_models.py), timed by `sdx bench --against`.
"""
import argparse
import pathlib
import subprocess
import sys

import cases
import real_models

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITE = ROOT.parent / "shared/bench"


def suite(a, lib):
    work = ROOT / "build/bench"
    models = a.models or work / "models"
    work.mkdir(parents=True, exist_ok=True)
    if not (models / "manifest.tsv").exists():
        subprocess.check_call([sys.executable, str(SUITE / "make_models.py"), str(models)], stdout=subprocess.DEVNULL)
    bench = work / "ort_bench"
    if not bench.exists():
        subprocess.check_call(["cc", "-O2", "-o", str(bench), str(SUITE / "ort_bench.c"), "-ldl", "-lm"])
    command = [sys.executable, str(SUITE / "run_suite.py"), "--bench", str(bench), "--models", str(models),
               "--lib", str(cases.upstream_library()), "--lib", str(lib), "--threads", a.threads,
               "--rounds", str(a.rounds), "--seconds", str(a.seconds), "--only", a.only]
    return subprocess.call(command + (["--out", a.out] if a.out else []))


def real(a):
    out = ROOT / "build/real"
    names = [m[0] for m in real_models.MODELS if m[0] not in real_models.NOT_YET]
    real_models.prepare(out, names)
    status = 0
    for name in names:
        command = [str(ROOT / "build/release/sdx"), "bench", str(out / name / "model.onnx"), "--threads", a.threads,
                   "--against", str(cases.upstream_library())]
        for i, port in enumerate(cases.upstream(out / name / "model.onnx").get_inputs()):
            command += ["--input", f"{port.name}={out / name / 'npy_0/in' / f'{i}.npy'}"]
        print(f"== {name}", flush=True)
        status |= subprocess.call(command)
    return status


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--threads", default="1")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--seconds", type=float, default=0.6)
    p.add_argument("--only", default="")
    p.add_argument("--models", type=pathlib.Path)
    p.add_argument("--out")
    a = p.parse_args()
    return suite(a, ROOT / "build/release/ort/libonnxruntime.so.1") if SUITE.is_dir() else real(a)


if __name__ == "__main__":
    sys.exit(main())
