#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that clang-format would change no C++ source. Exits with 77 where clang-format-22 is missing.

To format: `clang-format-22 -i FILE…`.
"""

import re
import shutil
import subprocess
import sys

from source_tree import find_files, run_check

CLANG_FORMAT = "clang-format-22"
SKIPPED = 77
WARNING = re.compile(r"^([^:\n]+):(\d+):\d+: warning: code should be clang-formatted", re.MULTILINE)


def check_tree(root):
    paths = find_files(root, [".h", ".hpp", ".cpp", ".c"])
    if not paths:
        return []
    report = subprocess.run([CLANG_FORMAT, "--dry-run", *paths], cwd=root, stderr=subprocess.PIPE,
                            encoding="utf-8", check=True).stderr
    first_lines = {}
    for path, line in WARNING.findall(report):
        first_lines.setdefault(path, line)
    return [f"{path}:{line}: not formatted; run {CLANG_FORMAT} -i {path}" for path, line in first_lines.items()]


if __name__ == "__main__":
    if not shutil.which(CLANG_FORMAT):
        print(f"{CLANG_FORMAT} is not installed")
        sys.exit(SKIPPED)
    run_check(__doc__.splitlines()[0], check_tree)
