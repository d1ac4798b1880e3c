#!/usr/bin/env python3
"""Every (operator, version, type) of the standard as a one-node model: does it run, and does it agree?

    operators.py --sdx build/release/sdx [--out build/operators] [--quick] [--page docs/operators.md [--check]] [PATTERN ...]

Cases are made from the schemas of the onnx package and the recipes beside this file, compared with that package's
reference evaluator (or with the recipe's own expectation, where it says so), and run by `sdx test`. --quick takes the
newest version of each operator and the oldest with float. --page writes the table of what runs; --check compares.
"""
import argparse
import collections
import difflib
import fnmatch
import json
import pathlib
import shutil
import subprocess
import sys
import warnings

from onnx import defs

import generate
import operators_page
import recipes
import recipes_nn  # noqa: F401, adds its recipes

ROOT = pathlib.Path(__file__).resolve().parents[2]


def schemas():
    every = [s for s in defs.get_all_schemas_with_history() if not s.deprecated]
    return sorted(every, key=lambda s: (s.domain, s.name, -s.since_version))


def assignments(schema):
    """(variable, type) pairs that a version allows; (None, None) where nothing varies."""
    pairs = [(t.type_param_str, kind) for t in schema.type_constraints for kind in sorted(t.allowed_type_strs)]
    return pairs or [(None, None)]


def case_name(schema, var, kind):
    kind = (kind or "").replace("tensor", "").replace("(", "_").replace(")", "").replace(", ", "_").strip("_")
    return f"{schema.domain or 'ai.onnx'}.{schema.name}-{schema.since_version}/{var or 'only'}={kind}"


def generate_all(out, wanted, quick):
    """Writes the cases; returns {name: (schema, var, kind)}, {name: why} for those that could not be made, and
    {operator: reasons} where the evaluator is not the reference."""
    made, broken, newest, reasons = {}, {}, set(), collections.defaultdict(set)
    for schema in schemas():
        is_newest = (schema.domain, schema.name) not in newest
        newest.add((schema.domain, schema.name))
        for var, kind in assignments(schema):
            name = case_name(schema, var, kind)
            if wanted and not any(fnmatch.fnmatch(name, p) or p in name for p in wanted):
                continue
            if quick and not is_newest and kind not in ("tensor(float)", None):
                continue
            for wide in (False, True) if not schema.domain and schema.name in recipes.WIDE_TOO else (False,):
                folder = name + ("/wide" if wide else "")
                made[folder] = (schema, var, kind)
                try:
                    draw = generate.Draw(schema, var, kind, wide)
                    case = recipes.case_for(draw)
                    generate.write(out / name / ("wide" if wide else "one"), draw, case)
                    if case.why:
                        reasons[schema.domain, schema.name].add(case.why)
                except Exception as e:  # noqa: BLE001, the evaluator fails in many ways
                    broken[folder] = f"{type(e).__name__}: {e}".replace("\n", " ")[:300]
                    shutil.rmtree(out / folder, ignore_errors=True)
    return made, broken, reasons


def run(sdx, out, jobs):
    """{name: "" or what went wrong}"""
    done = subprocess.run([sdx, "test", str(out), "--json", "-v", "-j", str(jobs)], capture_output=True, text=True)
    report = json.loads(done.stdout)
    return {c["name"].removesuffix("/one"): "" if c["result"] == "passed" else c["text"] for c in report["cases"]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("patterns", nargs="*")
    p.add_argument("--sdx", default=str(ROOT / "build/release/sdx"))
    p.add_argument("--out", type=pathlib.Path, default=ROOT / "build/operators")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--page", type=pathlib.Path)
    p.add_argument("--check", action="store_true")
    a = p.parse_args()
    warnings.simplefilter("ignore")

    shutil.rmtree(a.out, ignore_errors=True)
    made, broken, reasons = generate_all(a.out, a.patterns, a.quick)
    results = run(a.sdx, a.out, a.jobs)
    failed = {n: t for n, t in results.items() if t}
    for name, why in sorted(broken.items()):
        print(f"NOT MADE {name}: {why}")
    for name, text in sorted(failed.items()):
        print(f"FAILED {name}: {text}")
    bad = bool(broken)
    if a.page:
        text = operators_page.page(made, failed, reasons, operators_page.rows(a.sdx), schemas())
        current = a.page.read_text() if a.page.exists() else ""
        if a.check and text != current:
            diff = difflib.unified_diff(current.splitlines(), text.splitlines(), str(a.page), "what runs now", lineterm="", n=0)
            print("\n".join(list(diff)[:40]) + f"\n{a.page} is not what runs now; ./dev operators --update writes it anew")
            bad = True
        elif not a.check:
            a.page.write_text(text)
    else:
        bad |= bool(failed)
    print(f"operators: {len(results) - len(failed)} of {len(made)} cases agree, {len(failed)} do not" + (f", {len(broken)} could not be made" if broken else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
