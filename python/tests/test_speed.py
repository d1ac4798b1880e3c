"""What small models and short programs pay: both packages measured in turn, in one run. The best of several rounds."""

import subprocess
import sys
import time

import numpy as np
import pytest

import models

ROUNDS, CALLS = 15, 4000


def per_call(session, feed):
    """Seconds of a run, best of one round."""
    run = session.run
    start = time.perf_counter()
    for _ in range(CALLS):
        run(None, feed)
    return (time.perf_counter() - start) / CALLS


def both(model, feed):
    import sardonyx

    onnxruntime = pytest.importorskip("onnxruntime")
    sessions = []
    for package in (sardonyx, onnxruntime):
        so = package.SessionOptions()
        so.intra_op_num_threads = 1
        sessions.append(package.InferenceSession(model, so, providers=["CPUExecutionProvider"]))
    best = [1.0, 1.0]
    for _ in range(ROUNDS):
        for i, s in enumerate(sessions):
            best[i] = min(best[i], per_call(s, feed))
    return best


@pytest.mark.parametrize("name", ["relu", "two"])
def test_overhead_of_run(name):
    x = np.ones(2, np.float32)
    feed = {"x": x} if name == "relu" else {"a": x, "b": x}
    ours, theirs = both(getattr(models, name)(), feed)
    print(f"{name}: {ours * 1e6:.2f} us, onnxruntime {theirs * 1e6:.2f} us")
    assert ours <= theirs / 2
    if name == "relu":
        assert ours <= 3e-6


def import_seconds(package):
    """Processor time that a process spends on importing it: other work on the machine does not count."""
    code = f"import time; t = time.process_time(); import {package}; print(time.process_time() - t)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def test_import_time():
    pytest.importorskip("onnxruntime")
    packages, best = ("sardonyx", "onnxruntime"), {}
    for _ in range(5):
        for p in packages:
            best[p] = min(best.get(p, 1e9), import_seconds(p))
    ours, theirs = (best[p] for p in packages)
    print(f"import: {ours * 1e3:.1f} ms, onnxruntime {theirs * 1e3:.1f} ms")
    assert ours < theirs / 3
