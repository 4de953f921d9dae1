#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes UnicodeTables.inc from the Unicode data in Python's standard library.

    make_unicode_tables.py

The tables hold what Unicode.cpp needs of the standard: canonical decompositions, combining classes, lower case, and the
categories that tokenizers ask for. Hangul syllables are left out: they are computed.
"""

import os
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
HANGUL = range(0xAC00, 0xD7A4)
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(predicate):
    """[first, last] of each run of code points for which the predicate holds."""
    found = []
    for c in CODE_POINTS:
        if not predicate(c):
            continue
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def category_ranges(prefix):
    return ranges(lambda c: unicodedata.category(chr(c)).startswith(prefix))


def combining_classes():
    found = []
    for c in CODE_POINTS:
        value = unicodedata.combining(chr(c))
        if not value:
            continue
        if found and found[-1][1] == c - 1 and found[-1][2] == value:
            found[-1][1] = c
        else:
            found.append([c, c, value])
    return found


def decompositions():
    """(code point, first, second or 0, 1 if NFC puts it together again), one step each."""
    found = []
    for c in CODE_POINTS:
        text = unicodedata.decomposition(chr(c))
        if not text or text.startswith("<") or c in HANGUL:
            continue
        parts = [int(part, 16) for part in text.split()]
        assert 1 <= len(parts) <= 2
        composes = len(parts) == 2 and unicodedata.normalize("NFC", chr(c)) == chr(c)
        found.append((c, parts[0], parts[1] if len(parts) == 2 else 0, int(composes)))
    return found


def lower_cases():
    """[first, last, distance between code points, difference] of simple lower-case mappings."""
    found = []
    for c in CODE_POINTS:
        lower = chr(c).lower()
        if lower == chr(c) or len(lower) != 1:
            continue
        difference = ord(lower) - c
        if found and found[-1][3] == difference and c - found[-1][1] in (1, 2):
            step = c - found[-1][1]
            if found[-1][0] == found[-1][1] or found[-1][2] == step:
                found[-1][1], found[-1][2] = c, step
                continue
        found.append([c, c, 1, difference])
    return found


def table(declaration, rows):
    body = ", ".join("{" + ", ".join(hex(v) if i < 2 else str(v) for i, v in enumerate(row)) + "}" for row in rows)
    lines, line = [], ""
    for word in body.split(" "):
        if len(line) + len(word) > 118:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word
    return f"constexpr {declaration}[] = {{\n" + "\n".join(lines + [line]) + "};\n"


def main():
    pairs = decompositions()
    several = [c for c in CODE_POINTS if len(chr(c).lower()) != 1]
    assert several == [0x130], several  # Unicode.cpp knows this one
    text = (f"// Written by make_unicode_tables.py from Unicode {unicodedata.unidata_version}.\n\n"
            + table("ClassRange kCombiningClasses", combining_classes())
            + "\n" + "// Code point, first and second part; by code point.\n"
            + table("Decomposition kDecompositions", [(c, a, hex(b), composes) for c, a, b, composes in pairs])
            + "\n" + table("CaseRange kLowerCases", lower_cases())
            + "\n" + table("Range kPunctuation", category_ranges("P"))
            + "\n" + table("Range kNonspacingMarks", category_ranges("Mn"))
            + "\n" + table("Range kMarks", category_ranges("M"))
            + "\n// Control and format characters, private use.\n"
            + table("Range kControls", ranges(lambda c: unicodedata.category(chr(c)) in ("Cc", "Cf", "Co"))))
    with open(os.path.join(HERE, "UnicodeTables.inc"), "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
