#!/usr/bin/env python3
"""Write tests/conformance/corrected: outputs of cases whose files are at odds with the standard.

    tools/correct_conformance.py DIR     (DIR: build/conformance/node-history; onnx 1.22.0 gave what is there)

For every case that a rule `corrected` of tests/conformance/rules.txt names, ONNX's reference evaluator runs the case's model
on its inputs. Outputs that differ from the case's own are kept.
"""
import fnmatch
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

home = pathlib.Path(__file__).resolve().parent.parent / "tests/conformance"
data = pathlib.Path(sys.argv[1])


def read(path):
    return numpy_helper.to_array(onnx.load_tensor(path))


def correct(case):
    model = onnx.load(case / "model.onnx")
    files = case / "test_data_set_0"
    feeds = {x.name: read(files / f"input_{i}.pb") for i, x in enumerate(model.graph.input)}
    for i, got in enumerate(ReferenceEvaluator(model).run(None, feeds)):
        if np.allclose(got, read(files / f"output_{i}.pb"), rtol=1e-3, atol=1e-7, equal_nan=True):
            continue
        path = home / "corrected" / case.relative_to(data) / f"output_{i}.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(numpy_helper.from_array(got, model.graph.output[i].name).SerializeToString())
        print(path.relative_to(home))


for line in (home / "rules.txt").read_text().splitlines():
    words = line.split("#")[0].split()
    if "corrected" not in words[1:]:
        continue
    for case in sorted(data.glob("*/*")):
        if fnmatch.fnmatchcase(str(case.relative_to(data)), words[0]):
            correct(case)
