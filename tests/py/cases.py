"""Whole-model cases: a model, feeds that fit it, and what upstream onnxruntime answers.

A case is a folder in the layout of ONNX's own tests, so `sdx test` runs it too, plus the same
arrays as .npy files for `sdx run` and for people:

    NAME/model.onnx
    NAME/data.json                     {"rtol": 1e-3, "atol": 1e-4, "min_correlation": ...}
    NAME/test_data_set_K/input_I.pb, output_I.pb
    NAME/npy_K/in/I.npy, out/I.npy     in the order of the graph's inputs and outputs
"""
import json
import pathlib
import shutil
import subprocess

import numpy as np

RTOL, ATOL = 1e-3, 1e-4


def file_name(output):
    """The name `sdx run -o` gives an output's file: what does not fit in a file name becomes _."""
    return "".join("_" if c in '/\\:"*?<>|' or ord(c) < 32 else c for c in output) + ".npy"


def upstream(model, threads=1, optimise=False):
    import onnxruntime as ort
    o = ort.SessionOptions()
    o.intra_op_num_threads = o.inter_op_num_threads = threads
    o.log_severity_level = 3
    if not optimise:
        o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(str(model), o, providers=["CPUExecutionProvider"])


def run_upstream(session, feed):
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feed)))


def write_case(root, name, model, feeds, min_correlation=None):
    """feeds: a list of {input: array}, or a function of a session that returns it."""
    from onnx import numpy_helper
    folder = pathlib.Path(root) / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if isinstance(model, bytes):
        (folder / "model.onnx").write_bytes(model)
    else:
        shutil.copy(model, folder / "model.onnx")
    judge = {"rtol": RTOL, "atol": ATOL}
    if min_correlation is not None:
        judge["min_correlation"] = min_correlation
    (folder / "data.json").write_text(json.dumps(judge))
    session = upstream(folder / "model.onnx")
    if callable(feeds):
        feeds = feeds(session)
    for k, feed in enumerate(feeds):
        result = run_upstream(session, feed)
        pbs, arrays = folder / f"test_data_set_{k}", folder / f"npy_{k}"
        for sub, prefix, ports, values in (("in", "input", session.get_inputs(), feed), ("out", "output", session.get_outputs(), result)):
            (arrays / sub).mkdir(parents=True)
            pbs.mkdir(exist_ok=True)
            for i, port in enumerate(ports):
                value = np.asarray(values[port.name])
                np.save(arrays / sub / f"{i}.npy", value)
                (pbs / f"{prefix}_{i}.pb").write_bytes(numpy_helper.from_array(value, port.name).SerializeToString())
    return folder


def correlation(a, b):
    a, b = np.ravel(a).astype(np.float64), np.ravel(b).astype(np.float64)
    if a.size < 2 or a.std() == 0 or b.std() == 0:
        return 1.0 if np.allclose(a, b, RTOL, ATOL) else 0.0
    return float(np.corrcoef(a, b)[0, 1])


def judge(got, want, rule):
    """(passed, one line): tolerance for floats, exact for the rest, correlation where the rule asks."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return False, f"{got.dtype}{list(got.shape)}, want {want.dtype}{list(want.shape)}"
    if "min_correlation" in rule:
        if want.dtype.kind in "iub":
            same = float(np.mean(got == want))
            return same >= 0.9, f"{100 * same:.1f} % of the values equal"
        r = correlation(got, want)
        return r >= rule["min_correlation"], f"correlation {r:.6f}"
    if want.dtype.kind != "f":
        return bool(np.array_equal(got, want)), f"{int(np.sum(got != want))} of {want.size} differ"
    error = np.abs(got.astype(np.float64) - want)
    error = np.where((got == want) | (np.isnan(got) & np.isnan(want)), 0, error)
    limit = rule["atol"] + rule["rtol"] * np.abs(want)
    bad = ~(error <= limit)
    return not bad.any(), f"max |error| {error.max(initial=0):.2e}" + (f", {int(bad.sum())} of {want.size} outside" if bad.any() else "")


def run_sdx(sdx, folder, dest, threads, arrays, inputs):
    """Runs one data set under `sdx run`; None, or what it said."""
    shutil.rmtree(dest, ignore_errors=True)
    dest.mkdir(parents=True)
    command = [sdx, "run", str(folder / "model.onnx"), "-o", str(dest), "--threads", str(threads)]
    for i, name in enumerate(inputs):
        command += ["--input", f"{name}={arrays / 'in' / f'{i}.npy'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode == 0:
        return None
    return f"sdx run: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}"


def check_case(sdx, folder, threads=(1, 2, 3, 8)):
    """Runs the case under `sdx run`: against the reference, and for the same bits on every number of threads.
    Returns (passed, text)."""
    folder = pathlib.Path(folder)
    rule = json.loads((folder / "data.json").read_text())
    session = upstream(folder / "model.onnx")
    inputs, outputs = [i.name for i in session.get_inputs()], [o.name for o in session.get_outputs()]
    notes, ok = [], True
    for k in range(len(list(folder.glob("npy_*")))):
        arrays, first = folder / f"npy_{k}", folder / "sdx" / f"{k}_threads_{threads[0]}"
        for n in threads:
            dest = folder / "sdx" / f"{k}_threads_{n}"
            said = run_sdx(sdx, folder, dest, n, arrays, inputs)
            if said:
                return False, said
            for i, name in enumerate(outputs):
                path = dest / file_name(name)
                if not path.exists():
                    return False, f"sdx run wrote no {path.name}"
                if n != threads[0]:
                    if path.read_bytes() != (first / path.name).read_bytes():
                        return False, f"{name}: not the bits of {threads[0]} thread(s) on {n}"
                    continue
                passed, note = judge(np.load(path), np.load(arrays / "out" / f"{i}.npy"), rule)
                ok &= passed
                notes.append(note if len(outputs) == 1 else f"{name}: {note}")
    return ok, (notes[0] if len(set(notes)) == 1 else "; ".join(notes[:4]))


def time_case(bench, libs, folder, rounds=3, seconds=0.4):
    """Ratio of upstream's median latency to ours (above 1: we are faster) and both, in ms, by ort_bench."""
    folder = pathlib.Path(folder)
    command = [str(bench), "--tsv", "--quiet", "--rounds", str(rounds), "--seconds", str(seconds)]
    for lib in libs:
        command += ["--lib", str(lib)]
    for i, port in enumerate(upstream(folder / "model.onnx").get_inputs()):
        path = folder / "npy_0" / "in" / f"{i}.npy"
        shape = np.load(path).shape
        command += ["--input", f"{port.name}={path}"]
        if shape:
            command += ["--shape", f"{port.name}={','.join(map(str, shape))}"]
    done = subprocess.run(command + [str(folder / "model.onnx")], capture_output=True, text=True, timeout=600)
    rows = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") > 8]
    if len(rows) != 2:
        return None, (done.stderr or done.stdout).strip()[-200:]
    theirs, ours = (float(r[6]) for r in rows)
    return theirs / ours, f"{theirs:.2f} -> {ours:.2f} ms"


def upstream_bytes(model):
    import onnxruntime as ort
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"])


def upstream_library():
    """The shared library inside the onnxruntime package; it has the C ABI that ort_bench opens."""
    import onnxruntime
    return next((pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*"))
