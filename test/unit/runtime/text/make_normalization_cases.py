#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes normalization_cases.inc: what Python's unicodedata and str.lower say of chosen and random texts.

    make_normalization_cases.py
"""

import os
import random
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
CHOSEN = [
    "", "plain", "\u00c4pfel \u212b \u03a9\u2126", "Vi\u1ec7t Vi\u00ea\u0323t", "a\u0301\u0323 a\u0323\u0301", "\u0130I\u0131",
    "\u1e9b\u0323 \u0958\u0344 \u2adc", "\ud55c\uae00 \u1112\u1161\u11ab\u1100\u1173\u11af \uac00\u11a8 \uac00\u11a7",
    "\u0301a \u0915\u093c \u0b47\u0b3e", "\u4e2d\u6587a\u3042 \u20000\U00020000", "\u01c5\u1f88\u03a3\u03c3\u03c2 \u1e9e\u10d0\u1c90\u10a0",
    "a\u00a0b\u2003c\u3000d\u0085e\u2028f\tg\rh\ni\vj\fk", "\u200b\u200d\ufeff\u00ad\ue000\ufffd\x00\x1b\x7f\U0001f999\u0378",
    "e\u0301\u0903\u20dd\u0488",
]


def random_texts(count):
    generator = random.Random(7)
    marks = [c for c in range(0x110000) if unicodedata.combining(chr(c))]
    composed = [c for c in range(0x110000) if unicodedata.decomposition(chr(c)) and c < 0x30000]
    cased = [c for c in range(0x110000) if chr(c).lower() != chr(c)]
    pools = [marks, composed, cased, range(0x20, 0x7f), range(0xac00, 0xd7a4), range(0x1100, 0x1200), range(0x4e00, 0x4e80)]
    for _ in range(count):
        yield "".join(chr(generator.choice(generator.choice(pools))) for _ in range(12))


def strip(text, prefix):
    return "".join(c for c in text if not unicodedata.category(c).startswith(prefix))


def bert(text):
    """BertNormalizer of the tokenizers library for uncased models; unassigned code points stay, as there."""
    cleaned = ""
    for c in text:
        if c in "\t\n\r":
            cleaned += " "
        elif c != "\ufffd" and unicodedata.category(c) not in ("Cc", "Cf", "Co"):
            cleaned += " " if c.isspace() else c
    blocks = [(0x4e00, 0x9fff), (0x3400, 0x4dbf), (0x20000, 0x2a6df), (0x2a700, 0x2b73f), (0x2b740, 0x2b81f),
              (0x2b920, 0x2ceaf), (0xf900, 0xfaff), (0x2f800, 0x2fa1f)]
    spaced = "".join(f" {c} " if any(a <= ord(c) <= b for a, b in blocks) else c for c in cleaned)
    return lower(strip(unicodedata.normalize("NFD", spaced), "Mn"))


def lower(text):
    """Character by character: without the rule for a sigma at the end of a word."""
    return "".join(c.lower() for c in text)


def literal(text):
    return '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'


def main():
    lines = ["// Written by make_normalization_cases.py; each entry is {text, NFC, NFD, lower case, without",
             "// nonspacing marks, without marks, as BERT has it}."]
    for text in CHOSEN + list(random_texts(150)):
        results = [unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text), lower(text), strip(text, "Mn"),
                   strip(text, "M"), bert(text)]
        lines.append("{" + ", ".join([f"std::string({literal(x)}, {len(x.encode())})" for x in [text] + results]) + "},")
    with open(os.path.join(HERE, "normalization_cases.inc"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
