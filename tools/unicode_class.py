#!/usr/bin/env python3
"""Writes src/base/unicode_class.def: the general category of every code point, from Python's unicodedata.

    tools/unicode_class.py > src/base/unicode_class.def

CATEGORY(name) lists the categories in the order of their numbers. CATEGORY_RUN(length, name) are the runs of code points
from 0 on, of at most 2047; CATEGORY_MARK(code point) says where every 64th of them starts. LuLl is no category: capital
and small letters by turns.
"""
import unicodedata

LONGEST, EVERY = 2047, 64
names = sorted({unicodedata.category(chr(c)) for c in range(0x110000)})
letters = [unicodedata.category(chr(c)) for c in range(0x110000)]
runs, marks, at = [], [], 0
while at < len(letters):
    name, n = letters[at], 1
    while at + n < len(letters) and letters[at + n] == name and n < LONGEST:
        n += 1
    pairs = 0
    while letters[at + 2 * pairs:at + 2 * pairs + 3] == ["Lu", "Ll", "Lu"]:
        pairs += 1
    if pairs > 1:
        name, n = "LuLl", 2 * pairs
    if len(runs) % EVERY == 0:
        marks.append(at)
    runs.append((n, name))
    at += n


def lines(items, per_line):
    for i in range(0, len(items), per_line):
        print(" ".join(items[i:i + per_line]))


print("/* Written by tools/unicode_class.py; Unicode %s. */" % unicodedata.unidata_version)
print("#ifdef CATEGORY")
lines(["CATEGORY(%s)" % name for name in names], 8)
print("#endif\n#ifdef CATEGORY_RUN")
lines(["CATEGORY_RUN(%d, %s)" % run for run in runs], 6)
print("#endif\n#ifdef CATEGORY_MARK")
lines(["CATEGORY_MARK(0x%05x)" % mark for mark in marks], 6)
print("#endif")
