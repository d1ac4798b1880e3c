"""table.py C-HEADER ORT-SYS-SOURCE - our function table against two official descriptions of ONNX Runtime's.

The C header (its version may be older: a prefix) is compiled with an assertion for the place of each of our entries; the
Rust bindings tell order, count and the shape of each signature: how many parameters, and how deep their pointers go.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ORT = os.path.join(ROOT, "src", "ort")
FUNCTIONS = {"OrtLogFn", "OrtAsyncFn", "OrtCreateThreadFn", "OrtJoinThreadFn", "OrtLoggingFunction", "OrtCustomCreateThreadFn", "OrtCustomJoinThreadFn",
             "RunAsyncCallbackFn", "EpSelectionDelegate", "OrtReadNamedBufferFunc", "OrtExperimentalFnPtr"}

RENAMED = {"AddExternalInitializersFromMemory": "AddExternalInitializersFromFilesInMemory"}  # by the bindings


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def entries():
    return re.findall(r"^ORT_(HAVE|STATUS)\((\w+)\)", read(os.path.join(ORT, "ort_api.def")), re.M)


def split(params):
    """Parameters at the top level of a list."""
    out, depth, at = [], 0, 0
    for i, c in enumerate(params):
        depth += c in "(<[" and 1 or c in ")>]" and not params[i - 1:i] == "-" and -1 or 0
        if c == "," and depth == 0:
            out.append(params[at:i])
            at = i + 1
    return [p for p in (p.strip() for p in out + [params[at:]]) if p and p != "void"]


def depth(param):
    """Levels of pointers; a function counts as one."""
    if "fn(" in param or "(*" in param or any(re.search(r"\b%s\b" % f, param) for f in FUNCTIONS):
        return 1
    return param.count("*") + param.count("[")


def ours():
    """Prototypes of the implemented entries, macros of entries.h expanded by the compiler."""
    text = subprocess.run(["cc", "-E", "-P", "-I" + os.path.join(ROOT, "src"), "-include", "ort/entries.h", "-include",
                           "ort/entries_custom.h", "-x", "c", "/dev/null"], check=True, capture_output=True, text=True).stdout
    if os.path.exists(os.path.join(ORT, "entries_model.h")):
        text += subprocess.run(["cc", "-E", "-P", "-I" + os.path.join(ROOT, "src"), "-include", "ort/entries_model.h", "-x", "c",
                                "/dev/null"], check=True, capture_output=True, text=True).stdout
    text = " ".join(text.split())
    found = {}
    for m in re.finditer(r"(\bvoid|[\w ]+?)([ *]+)sdx_ort_(\w+)\(", text):
        end, level = m.end(), 1
        while level:
            level += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        found[m.group(3)] = [depth(p) for p in split(text[m.end():end - 1])]
    return found


def theirs(path):
    """Names in order, and signatures, of the Rust bindings; those for other targets are left out."""
    text = re.sub(r'#\[doc = "(?:[^"\\]|\\.)*"\]', "", read(path))
    body = text[text.index("pub struct OrtApi "):]
    body = body[body.index("{") + 1:body.index("\n}")]
    body = re.sub(r'#\[cfg\(all\(target_family = "wasm"[^\n]*\n\s*pub \w+:[^;]*?(?:\n\t\)[^\n]*,|,)\n(?=\s*(?:#|pub|$))', "\n", body)
    found = {}
    for m in re.finditer(r"pub (\w+)\s*:\s*(?:Option<)?\s*unsafe extern \"\w+\" fn\(", body):
        end, level = m.end(), 1
        while level:
            level += {"(": 1, ")": -1}.get(body[end], 0)
            end += 1
        found.setdefault(m.group(1), [depth(p) for p in split(" ".join(body[m.end():end - 1].split()))])
    return found


def check_places(header, names):
    source = '#include "%s"\n#include <stddef.h>\n' % header
    known = set(re.findall(r"\b(?:NAME\b|\w+)\b", read(header)))
    n = 0
    for i, name in enumerate(names):
        if name not in known and not (name.startswith("Release") and "ORT_CLASS_RELEASE(%s)" % name[7:] in read(header)):
            break
        source += '_Static_assert(offsetof(OrtApi, %s) == %d * sizeof(void (*)(void)), "%s");\n' % (name, i, name)
        n += 1
    source += '_Static_assert(sizeof(OrtApi) == %d * sizeof(void (*)(void)), "the table of this version");\n' % n
    with tempfile.NamedTemporaryFile("w", suffix=".c") as f:
        f.write(source)
        f.flush()
        got = subprocess.run(["cc", "-fsyntax-only", "-w", f.name], capture_output=True, text=True)
    if got.returncode:
        print(got.stderr[:2000])
    return n, got.returncode == 0


def main():
    header, rust = sys.argv[1:]
    table = entries()
    names = [name for _, name in table]
    mine, official = ours(), theirs(rust)
    n, good = check_places(os.path.abspath(header), names)
    print("%d entries are where the C header has them" % n)
    failed = not good
    order = [RENAMED.get(name, name) for name in official]
    official = dict(zip(order, official.values()))
    for i, name in enumerate(names):
        if i >= len(order) or order[i] != name:
            print("entry %d is %s here and %s there" % (i, name, order[i] if i < len(order) else "nothing"))
            failed = True
    if len(order) != len(names):
        print("%d entries here, %d there" % (len(names), len(order)))
        failed = True
    checked = 0
    for kind, name in table:
        if kind != "HAVE":
            continue
        checked += 1
        if mine.get(name) != official.get(name):
            print("%s: parameters %s here, %s there" % (name, mine.get(name), official.get(name)))
            failed = True
    print("%d passed, %d failed" % (checked, failed))
    return failed


if __name__ == "__main__":
    sys.exit(main())
