#!/usr/bin/env python3
"""Writes src/base/unicode_class.def: the general category of every code point, from Python's unicodedata.

    tools/unicode_class.py > src/base/unicode_class.def

CATEGORY(name) lists the categories in the order of their numbers. CATEGORY_RUN(length, name) are the runs of code points
from 0 on, of at most 2047; CATEGORY_MARK(code point) says where every 64th of them starts.
"""
import unicodedata

LONGEST, EVERY = 2047, 64
names = sorted({unicodedata.category(chr(c)) for c in range(0x110000)})
runs, marks = [], []
for c in range(0x110000):
    name = unicodedata.category(chr(c))
    if not runs or runs[-1][1] != name or runs[-1][0] == LONGEST:
        if len(runs) % EVERY == 0:
            marks.append(c)
        runs.append([0, name])
    runs[-1][0] += 1

def lines(items, per_line):
    for i in range(0, len(items), per_line):
        print(" ".join(items[i:i + per_line]))


print("/* Written by tools/unicode_class.py; Unicode %s. */" % unicodedata.unidata_version)
print("#ifdef CATEGORY")
lines(["CATEGORY(%s)" % name for name in names], 8)
print("#endif\n#ifdef CATEGORY_RUN")
lines(["CATEGORY_RUN(%d, %s)" % tuple(run) for run in runs], 6)
print("#endif\n#ifdef CATEGORY_MARK")
lines(["CATEGORY_MARK(0x%05x)" % mark for mark in marks], 6)
print("#endif")
