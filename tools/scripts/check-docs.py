#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the documentation's links: files they name exist, and every decision is in the index of decisions."""

import os
import re

from source_tree import run_check

LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
DECISIONS = "docs/decisions"


def find_pages(root):
    pages = ["README.md"] if os.path.exists(os.path.join(root, "README.md")) else []
    for directory, _, names in os.walk(os.path.join(root, "docs")):
        pages += [os.path.relpath(os.path.join(directory, name), root) for name in names if name.endswith(".md")]
    return sorted(pages)


def check_links(root, page):
    findings = []
    with open(os.path.join(root, page), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            for link in LINK.finditer(line):
                target = link.group(1)
                if ":" not in target and not os.path.exists(os.path.join(root, os.path.dirname(page), target)):
                    findings.append(f"{page}:{number}: there is no {target}")
    return findings


def check_index(root):
    folder = os.path.join(root, DECISIONS)
    if not os.path.isdir(folder):
        return []
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
        index = file.read()
    return [f"{DECISIONS}/README.md:1: {name} is not in the index"
            for name in sorted(os.listdir(folder)) if name != "README.md" and f"({name})" not in index]


def check_tree(root):
    findings = [finding for page in find_pages(root) for finding in check_links(root, page)]
    return findings + check_index(root)


if __name__ == "__main__":
    run_check(__doc__.splitlines()[0], check_tree)
