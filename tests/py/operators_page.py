"""docs/operators.md from what operators.py found and what the build lists."""
import collections
import json
import subprocess

HEAD = """# Operators

<!-- Made by `./dev operators --update` (tests/py/operators.py); the stage `operators` of `./dev test` compares. -->

Each operator version of the ONNX standard (onnx {onnx}) is run here with each type that it allows, as a model of one
node, and compared with the reference evaluator of the `onnx` package, or with an expectation written from the standard's
text where that evaluator has no answer or another one (listed at the end). Half precision is compared with the evaluator's
float32, rounded once. {agree} of {all} cases agree.

`native`: the operator's own code. `rewritten`: as other operators, when the model is read. Types are those of the newest
version; what does not run or agree yet is in the last column. Elementwise operators are also tried with numbers of the whole
range, infinities and NaN, in lengths that no vector divides. `sdx coverage` prints the list of a build, with the operators
of other domains.

| abbreviation | types |
|---|---|
{groups}
"""

GROUPS = [
    ("INT", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]),
    ("FLOAT", ["float16", "bfloat16", "float", "double"]),
    ("COMPLEX", ["complex64", "complex128"]),
    ("FLOAT8", ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]),
    ("SMALL", ["int2", "uint2", "int4", "uint4", "float4e2m1"]),
]


def rows(sdx):
    """What the build lists: (domain, name) -> [rows of `sdx coverage`], newest first."""
    listed = json.loads(subprocess.run([sdx, "coverage", "--json"], capture_output=True, text=True, check=True).stdout)
    found = collections.defaultdict(list)
    for r in listed["operators"]:
        found[r["domain"], r["name"]].append(r)
    return found


def grouped(kinds):
    """Types of tensors by group, then one word for each kind of container."""
    tensors = {k[7:-1] for k in kinds if k.startswith("tensor(")}
    words = []
    for name, members in GROUPS:
        if set(members) <= tensors:
            words.append(name)
            tensors -= set(members)
    words += sorted(tensors)
    for prefix in "seq", "optional", "map":
        n = sum(k.startswith(prefix + "(") for k in kinds)
        if n:
            words.append(f"{prefix} of {n} kinds" if n > 1 else next(k for k in kinds if k.startswith(prefix)).replace("tensor(", "").replace("))", ")"))
    return ", ".join(words)


def types_of(schema):
    seen = []
    for t in schema.type_constraints:
        text = grouped(t.allowed_type_strs)
        seen.append(f"{t.type_param_str}: {text}")
    return "; ".join(seen)


def gaps(cases, failed):
    """Failing cases of one operator, by version; "all" when a whole version fails."""
    by_version = collections.defaultdict(lambda: [0, []])
    for name, (schema, var, kind) in cases:
        entry = by_version[schema.since_version]
        entry[0] += 1
        if name in failed:
            entry[1].append(name.split("/")[1])
    parts = [f"{v}: {'all' if len(bad) == n else ', '.join(bad[:6]) + (', ...' if len(bad) > 6 else '')}" for v, (n, bad) in sorted(by_version.items()) if bad]
    return "; ".join(parts)


def cell(text):
    return text.replace("|", "\\|") or " "


def standard_table(domain, cases_of, failed, listed, newest, versions):
    lines = [f"## {domain}", "", "| operator | versions | types | how | not yet |", "|---|---|---|---|---|"]
    for (d, name), schema in sorted(newest.items()):
        if d != domain:
            continue
        row = listed.get((d, name))
        how = row[0]["how"] if row else "missing"
        since = ", ".join(map(str, sorted(versions[d, name])))
        lines.append(f"| {name} | {since} | {cell(types_of(schema))} | {how} | {cell(gaps(cases_of[d, name], failed))} |")
    return lines + [""]


def page(made, failed, reasons, listed, schemas):
    import onnx
    newest, versions, cases_of = {}, collections.defaultdict(set), collections.defaultdict(list)
    for s in schemas:
        key = (s.domain or "ai.onnx", s.name)
        newest.setdefault(key, s)
        versions[key].add(s.since_version)
    for name, (schema, var, kind) in made.items():
        cases_of[schema.domain or "ai.onnx", schema.name].append((name, (schema, var, kind)))
    groups = "\n".join(f"| {n} | {', '.join(m)} |" for n, m in GROUPS)
    lines = [HEAD.format(onnx=onnx.__version__, agree=len(made) - len(failed), all=len(made), groups=groups)]
    domains = sorted({d for d, _ in newest})
    for d in domains:
        lines += standard_table(d, cases_of, failed, listed, newest, versions)
    lines += ["## Where the evaluator is not the reference", "", "| operator | reason |", "|---|---|"]
    for (d, name), why in sorted(reasons.items()):
        lines.append(f"| {d + '.' if d else ''}{name} | {cell('; '.join(sorted(why)))} |")
    return "\n".join(lines) + "\n"
