#!/usr/bin/env python3
"""Writes src/base/unicode_case.def: Unicode's simple case mappings as ranges, from Python's unicodedata.

    tools/unicode_case.py > src/base/unicode_case.def
"""
import unicodedata


def mapping(change):
    """Pairs of code points where `change` gives one other code point."""
    pairs = []
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000:
            continue
        s = change(chr(c))
        if len(s) == 1 and ord(s) != c:
            pairs.append((c, ord(s) - c))
    return pairs


def ranges(pairs):
    """(first, last, step, delta): code points first, first + step, ... last move by delta."""
    i = 0
    while i < len(pairs):
        ends = {}
        for step in (1, 2):
            j = i
            while j + 1 < len(pairs) and pairs[j + 1] == (pairs[j][0] + step, pairs[i][1]):
                j += 1
            ends[step] = j
        step = 2 if ends[2] > ends[1] else 1
        yield pairs[i][0], pairs[ends[step]][0], step, pairs[i][1]
        i = ends[step] + 1


print("/* Written by tools/unicode_case.py; Unicode %s. CASE_RANGE(first, last, step, delta) */" % unicodedata.unidata_version)
for name, change in (("LOWER", str.lower), ("UPPER", str.upper)):
    print("#ifdef CASE_%s" % name)
    for first, last, step, delta in ranges(mapping(change)):
        print("CASE_RANGE(0x%04x, 0x%04x, %d, %d)" % (first, last, step, delta))
    print("#endif")
