# SPDX-License-Identifier: Apache-2.0
"""What the source-tree checks share: which files are ours, and how a finding is reported."""

import argparse
import os
import sys

FOLDERS = ["dialects", "codegen", "compiler", "runtime", "tools", "test"]
SOURCE_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def find_files(root, suffixes):
    """Paths below root's source folders, relative to root with '/', that end in one of the suffixes; sorted."""
    found = []
    for folder in FOLDERS:
        for directory, subfolders, names in os.walk(os.path.join(root, folder)):
            subfolders[:] = [name for name in subfolders if not name.startswith((".", "build"))]
            for name in names:
                if name.endswith(tuple(suffixes)):
                    path = os.path.relpath(os.path.join(directory, name), root)
                    found.append(path.replace(os.sep, "/"))
    return sorted(found)


def run_check(description, check):
    """Runs check(root) → [finding…] as a program: prints the findings, exits with 1 if there are any."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", default=SOURCE_ROOT, help="root of the source tree")
    findings = check(parser.parse_args().root)
    for finding in findings:
        print(finding)
    print(f"{len(findings)} finding(s)")
    sys.exit(1 if findings else 0)
