#!/usr/bin/env python3
"""Lay ONNX's test cases out as files: fetch_conformance.py OUT

OUT gets node, simple, pytorch-converted, pytorch-operator, real (with light), cases of older operator
versions, and a file `complete` at the end. They come from ../shared/conformance/*.tar.xz where that
folder exists; the older cases are node-history then. Elsewhere they come from the `onnx` packages: 1.22
carries files (its node cases become node-v1.22), and the newest release generates the current node cases.
"""
import pathlib
import shutil
import subprocess
import sys
import tarfile

GENERATOR = "onnx==1.23.2"
root = pathlib.Path(__file__).resolve().parent.parent


def from_archives(archives, out):
    for a in archives:
        with tarfile.open(a) as tar:
            tar.extractall(out)


def from_packages(out):
    import onnx
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    for group in "simple", "pytorch-converted", "pytorch-operator", "real", "light":
        shutil.copytree(data / group, out / group, dirs_exist_ok=True)
    shutil.copytree(data / "node", out / "node-v1.22", dirs_exist_ok=True)

    generator = out / "generator"
    subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
                           "--target", generator, GENERATOR])
    subprocess.check_call([sys.executable, "-W", "ignore", __file__, "--generate", out],
                          env={"PYTHONPATH": str(generator), "PATH": "/usr/bin:/bin"})
    shutil.rmtree(generator)


def generate(out):
    """Runs under the newest onnx, whose node cases exist as Python code only."""
    from onnx import TensorProto, numpy_helper as nh
    from onnx.backend.test.loader import load_model_tests

    def write(path, info, value):
        kind = info.type
        proto = (nh.from_list(value, info.name) if kind.HasField("sequence_type") else
                 nh.from_optional(value, info.name) if kind.HasField("optional_type") else
                 nh.from_dict(value, info.name) if kind.HasField("map_type") else
                 value if isinstance(value, TensorProto) else nh.from_array(value, info.name))
        path.write_bytes(proto.SerializeToString())

    for case in load_model_tests(kind="node"):
        folder = out / "node" / case.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(case.model.SerializeToString())
        for k, (inputs, outputs) in enumerate(case.data_sets):
            data = folder / f"test_data_set_{k}"
            data.mkdir(exist_ok=True)
            for i, v in enumerate(inputs):
                write(data / f"input_{i}.pb", case.model.graph.input[i], v)
            for i, v in enumerate(outputs):
                write(data / f"output_{i}.pb", case.model.graph.output[i], v)


def main():
    if sys.argv[1:2] == ["--generate"]:
        return generate(pathlib.Path(sys.argv[2]))
    out = pathlib.Path(sys.argv[1]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    archives = sorted((root.parent / "shared/conformance").glob("*.tar.xz"))
    if archives:
        from_archives(archives, out)
    else:
        from_packages(out)
    counts = {g.name: len(list(g.rglob("test_data_set_0"))) or len(list(g.iterdir()))
              for g in sorted(out.iterdir()) if g.is_dir() and g.name != "light"}
    (out / "complete").write_text("".join(f"{g} {n}\n" for g, n in counts.items()))
    print(", ".join(f"{g} {n}" for g, n in counts.items()))


if __name__ == "__main__":
    main()
