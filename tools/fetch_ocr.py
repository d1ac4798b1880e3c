#!/usr/bin/env python3
"""fetch_ocr.py OUT - the two models of the rapidocr package (Apache-2.0): OUT/detector.onnx, OUT/reader.onnx"""
import pathlib
import subprocess
import sys
import zipfile

MEMBERS = {"detector.onnx": "rapidocr/models/PP-OCRv6_det_small.onnx", "reader.onnx": "rapidocr/models/PP-OCRv6_rec_small.onnx"}
out = pathlib.Path(sys.argv[1])
if not all((out / m).exists() for m in MEMBERS):
    out.mkdir(parents=True, exist_ok=True)
    print("fetching the rapidocr package (27 MB)", flush=True)
    subprocess.check_call([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                           "-d", str(out), "rapidocr==3.10.0"])
    with zipfile.ZipFile(next(out.glob("rapidocr-*.whl"))) as wheel:
        for name, member in MEMBERS.items():
            (out / name).write_bytes(wheel.read(member))
