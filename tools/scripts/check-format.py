#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that clang-format would change no C++ source. Exits with 77 where clang-format-22 is missing.

To format: `clang-format-22 -i FILE…`.
"""

import os
import shutil
import subprocess
import sys

from source_tree import find_files, run_check

CLANG_FORMAT = "clang-format-22"
SKIPPED = 77


def check_tree(root):
    findings = []
    for path in find_files(root, [".h", ".hpp", ".cpp", ".c"]):
        with open(os.path.join(root, path), "rb") as file:
            text = file.read()
        formatted = subprocess.run(
            [CLANG_FORMAT, f"--assume-filename={os.path.join(root, path)}"],
            input=text, stdout=subprocess.PIPE, check=True).stdout
        if formatted != text:
            pairs = zip(text.splitlines() + [b""], formatted.splitlines() + [b""])
            line = next((i for i, (old, new) in enumerate(pairs, 1) if old != new), 1)
            findings.append(f"{path}:{line}: not formatted; run {CLANG_FORMAT} -i {path}")
    return findings


if __name__ == "__main__":
    if not shutil.which(CLANG_FORMAT):
        print(f"{CLANG_FORMAT} is not installed")
        sys.exit(SKIPPED)
    run_check(__doc__.splitlines()[0], check_tree)
