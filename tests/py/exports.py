#!/usr/bin/env python3
"""Models exported here by PyTorch's exporters, against upstream onnxruntime.

    exports.py [torchscript | dynamo] [--sdx build/release/sdx] [--out build/exports] [--time ORT_BENCH]

`torchscript` uses Debian's CPU-only packages python3-torch and python3-torchvision, in the system's
Python. `dynamo` fetches a current torch and onnxscript into a virtual environment of its own
(build/exports/venv); its wheels are large, so it runs on demand only. Weights are random: the graphs
are what is tested.
"""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = ["resnet18", "mobilenet_v2", "encoder"]


# ---- the exporting side: runs in whichever Python has torch -----------------------------------------

def encoder(torch):
    """A BERT-like encoder, written as people write it: embeddings, masked attention, GELU, layer norms."""
    nn = torch.nn

    class Layer(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

        def split(self, x):
            return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

        def forward(self, x, mask):
            q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
            p = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + mask, -1)
            x = self.norm1(x + self.o((p @ v).transpose(1, 2).reshape(x.shape)))
            return self.norm2(x + self.down(nn.functional.gelu(self.up(x))))

    class Encoder(nn.Module):
        def __init__(self, words=1000, width=128, heads=4, layers=3):
            super().__init__()
            self.word, self.place = nn.Embedding(words, width), nn.Embedding(128, width)
            self.norm = nn.LayerNorm(width)
            self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
            self.pool = nn.Linear(width, width)

        def forward(self, input_ids, attention_mask):
            x = self.norm(self.word(input_ids) + self.place(torch.arange(input_ids.shape[1])))
            mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -10000.0
            for layer in self.layers:
                x = layer(x, mask)
            return x, torch.tanh(self.pool(x[:, 0]))

    return Encoder()


def settle(torch, model):
    """Batch norms learn the statistics of a few random batches; without, an untrained network fades to zero."""
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for m in norms:
        m.momentum = None
    with torch.no_grad():
        for _ in range(2 if norms else 0):
            model(torch.randn(4, 3, 96, 96))
    return model.eval()


def export(kind, folder):
    import torch
    import torchvision
    torch.manual_seed(7)
    image = (torch.randn(1, 3, 224, 224),)
    tokens = (torch.randint(0, 1000, (2, 12)), torch.ones(2, 12, dtype=torch.int64))
    makers = {"resnet18": (lambda: torchvision.models.resnet18(), image, ["image"], ["logits"]),
              "mobilenet_v2": (lambda: torchvision.models.mobilenet_v2(), image, ["image"], ["logits"]),
              "encoder": (lambda: encoder(torch), tokens, ["input_ids", "attention_mask"], ["hidden", "pooled"])}
    for name, (make, args, inputs, outputs) in makers.items():
        model = settle(torch, make().train())
        path = str(pathlib.Path(folder) / f"{name}.onnx")
        if kind == "torchscript":
            axes = {i: {0: "batch"} if len(args) == 1 else {0: "batch", 1: "length"} for i in inputs}
            # Constants stay as the exporter writes them, and batch norms stay unfolded for the other model.
            torch.onnx.export(model, args, path, input_names=inputs, output_names=outputs, dynamic_axes=axes,
                              opset_version=13 if name == "resnet18" else 16, do_constant_folding=name != "mobilenet_v2")
        else:
            batch, length = torch.export.Dim("batch"), torch.export.Dim("length")
            shapes = tuple({0: batch} if len(args) == 1 else {0: batch, 1: length} for _ in args)
            torch.onnx.export(model, args, path, input_names=inputs, output_names=outputs, dynamo=True, external_data=False,
                              dynamic_shapes=shapes)


# ---- the checking side --------------------------------------------------------------------------------

def feeds(name):
    import numpy as np
    rng = np.random.default_rng(3)
    if name == "encoder":
        made = []
        for batch, length, real in (2, 12, 9), (1, 31, 31):
            mask = np.zeros((batch, length), np.int64)
            mask[:, :real] = 1
            made.append({"input_ids": rng.integers(0, 1000, (batch, length)), "attention_mask": mask})
        return made
    return [{"image": rng.standard_normal((batch, 3, 224, 224)).astype(np.float32)} for batch in (1, 2)]


def python_with_torch(kind, out):
    if kind == "torchscript":
        return "/usr/bin/python3"
    venv = out / "venv"
    if not (venv / "complete").exists():
        subprocess.check_call([sys.executable, "-m", "venv", str(venv)])
        subprocess.check_call([str(venv / "bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check",
                               "torch", "torchvision", "onnx", "onnxscript"])
        (venv / "complete").touch()
    return str(venv / "bin/python")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("kind", nargs="?", choices=["torchscript", "dynamo"], default="torchscript")
    p.add_argument("--sdx", default=str(ROOT / "build/release/sdx"))
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build/exports")
    p.add_argument("--prepare", action="store_true", help="only write the cases")
    p.add_argument("--time", metavar="ORT_BENCH")
    p.add_argument("--lib", default=str(ROOT / "build/release/ort/libonnxruntime.so.1"))
    p.add_argument("--export-to", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.export_to:
        export(a.kind, a.export_to)
        return 0

    import cases
    raw = a.out / a.kind / "models"
    if not all((raw / f"{n}.onnx").exists() for n in NAMES):
        raw.mkdir(parents=True, exist_ok=True)
        subprocess.check_call([python_with_torch(a.kind, a.out), "-W", "ignore", __file__, a.kind, "--export-to", str(raw)],
                              stdout=subprocess.DEVNULL)
    failed = 0
    for name in NAMES:
        folder = a.out / a.kind / name
        if not (folder / "model.onnx").exists():
            cases.write_case(a.out / a.kind, name, raw / f"{name}.onnx", feeds(name))
        if a.prepare:
            continue
        ok, note = cases.check_case(a.sdx, folder)
        failed += not ok
        if ok and a.time:
            ratio, text = cases.time_case(a.time, [cases.upstream_library(), a.lib], folder)
            note += f"   {ratio:.2f}x  {text}" if ratio else f"   not timed: {text}"
        print(f"{'ok' if ok else 'FAILED':6}  {a.kind}/{name:14} {note}", flush=True)
    if not a.prepare:
        print(f"exports: {len(NAMES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
