"""A client of ONNX Runtime's C ABI through ctypes: the entries that the checks here need, on any library that has them.

The positions come from src/ort/ort_api.def. Values are numpy arrays, lists of str (with a shape), or lists of such.
"""
import ctypes as C
import os
import re

import numpy as np

P = C.c_void_p
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TYPES = {np.dtype(name): code for name, code in [
    ("float32", 1), ("uint8", 2), ("int8", 3), ("uint16", 4), ("int16", 5), ("int32", 6), ("int64", 7), ("bool", 9),
    ("float16", 10), ("float64", 11), ("uint32", 12), ("uint64", 13)]}
STRING = 8


class OrtError(Exception):
    def __init__(self, code, text):
        super().__init__("%d: %s" % (code, text))
        self.code = code
        self.text = text


class Runtime:
    def __init__(self, path, version=20):
        self.lib = C.CDLL(path)
        self.lib.OrtGetApiBase.restype = C.POINTER(P * 2)
        get_api, _ = self.lib.OrtGetApiBase().contents
        table = C.CFUNCTYPE(P, C.c_uint32)(get_api)(version)
        if not table:
            raise RuntimeError("%s has no API version %d" % (path, version))
        with open(os.path.join(ROOT, "src", "ort", "ort_api.def"), encoding="utf-8") as f:
            names = re.findall(r"^ORT_(?:HAVE|STATUS)\((\w+)\)", f.read(), re.M)
        self.entries = {name: i for i, name in enumerate(names)}
        self.table = C.cast(table, C.POINTER(P))
        self.env = self.out("CreateEnv", 3, b"client")
        self.cpu = self.out("CreateCpuMemoryInfo", 0, 0)
        self.allocator = self.out("GetAllocatorWithDefaultOptions")

    def entry(self, name, result, *types):
        return C.CFUNCTYPE(result, *types)(self.table[self.entries[name]])

    def call(self, name, *args):
        """A status-returning entry: ints go as 64 bits, bytes as texts, the rest as pointers."""
        types = [C.c_char_p if isinstance(a, bytes) else C.c_int64 if isinstance(a, int) else P for a in args]
        status = self.entry(name, P, *types)(*args)
        if not status:
            return
        code = self.entry("GetErrorCode", C.c_int, P)(status)
        text = self.entry("GetErrorMessage", C.c_char_p, P)(status).decode("utf-8", "replace")
        self.release("Status", status)
        raise OrtError(code, text)

    def out(self, name, *args, kind=P):
        """The same, for entries whose last parameter is where the result goes."""
        got = kind()
        self.call(name, *args, C.byref(got))
        return got if kind is P else got.value

    def release(self, what, handle):
        self.entry("Release" + what, None, P)(handle)

    # -- values

    def strings(self, texts, shape):
        dims = (C.c_int64 * len(shape))(*shape)
        value = self.out("CreateTensorAsOrtValue", self.allocator, dims, len(shape), STRING)
        texts = [t.encode() if isinstance(t, str) else t for t in texts]
        self.call("FillStringTensor", value, (C.c_char_p * max(1, len(texts)))(*texts), len(texts))
        return value

    def value(self, x):
        if isinstance(x, list):
            return self.strings(x, [len(x)])
        if x.dtype.kind in "OUS":
            return self.strings([str(t) for t in x.reshape(-1)], x.shape)
        dims = (C.c_int64 * max(1, x.ndim))(*x.shape)
        value = self.out("CreateTensorAsOrtValue", self.allocator, dims, x.ndim, TYPES[x.dtype])
        data = self.out("GetTensorMutableData", value)
        x = np.ascontiguousarray(x)
        C.memmove(data, x.ctypes.data, x.nbytes)
        return value

    def array(self, value):
        info = self.out("GetTensorTypeAndShape", value)
        code = self.out("GetTensorElementType", info, kind=C.c_int)
        rank = self.out("GetDimensionsCount", info, kind=C.c_size_t)
        dims = (C.c_int64 * max(1, rank))()
        self.call("GetDimensions", info, dims, rank)
        self.release("TensorTypeAndShapeInfo", info)
        shape = tuple(dims[:rank])
        count = int(np.prod(shape, dtype=np.int64))
        if code == STRING:
            total = self.out("GetStringTensorDataLength", value, kind=C.c_size_t)
            data, at = C.create_string_buffer(total + 1), (C.c_size_t * (count + 1))()
            if count:
                self.call("GetStringTensorContent", value, data, total, at, count)
            ends = list(at[1:count]) + [total]
            texts = [data.raw[a:b].decode("utf-8", "replace") for a, b in zip(at[:count], ends)]
            return np.array(texts, dtype=object).reshape(shape)
        dtype = {c: d for d, c in TYPES.items()}[code]
        out = np.empty(shape, dtype)
        C.memmove(out.ctypes.data, self.out("GetTensorMutableData", value), out.nbytes)
        return out

    # -- sessions

    def session(self, model, libraries=(), config=()):
        options = self.out("CreateSessionOptions")
        try:
            for path in libraries:
                self.call("RegisterCustomOpsLibrary_V2", options, path.encode())
            for key, text in config:
                self.call("AddSessionConfigEntry", options, key.encode(), text.encode())
            if isinstance(model, bytes):
                data = C.create_string_buffer(model, len(model))
                return self.out("CreateSessionFromArray", self.env, data, len(model), options)
            return self.out("CreateSession", self.env, os.fsencode(model), options)
        finally:
            self.release("SessionOptions", options)

    def names(self, session, what):
        names = []
        for i in range(self.out("SessionGet%sCount" % what, session, kind=C.c_size_t)):
            text = self.out("SessionGet%sName" % what, session, i, self.allocator)
            names.append(C.string_at(text.value).decode())
            self.call("AllocatorFree", self.allocator, text)
        return names

    def run(self, session, feeds):
        names = self.names(session, "Output")
        ins = [self.value(x) for x in feeds.values()]
        outs = (P * len(names))()
        self.call("Run", session, None, (C.c_char_p * max(1, len(ins)))(*[n.encode() for n in feeds]),
                  (P * max(1, len(ins)))(*ins), len(ins), (C.c_char_p * len(names))(*[n.encode() for n in names]),
                  len(names), outs)
        got = {n: self.array(P(v)) for n, v in zip(names, outs)}
        for v in list(outs) + ins:
            self.release("Value", v)
        return got
