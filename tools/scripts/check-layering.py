#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom, header guards, licence lines and `using namespace` in all C++ sources.

The rules are in RULES, first match wins; docs/architecture.md says why they are so. Each finding is one line,
`path:line: what is wrong; what is allowed`.
"""

import os
import re

from source_tree import find_files, run_check

SOURCE_SUFFIXES = [".h", ".hpp", ".cpp", ".c"]
LICENSED_SUFFIXES = SOURCE_SUFFIXES + [".td", ".proto", ".textproto"]
LICENCE = "SPDX-License-Identifier: Apache-2.0"

OURS = ["dialects", "codegen", "compiler", "runtime", "tools", "llmc"]
MLIR = ["mlir", "llvm"]
VULKAN = ["vulkan"]

# (folder, what it may include). Only the prefixes in OURS, MLIR and VULKAN are restricted; other libraries are free.
RULES = [
    ("dialects/Program", MLIR + ["dialects/Program", "dialects/Target", "dialects/Support"]),
    ("dialects/Graph", MLIR + ["dialects/Graph", "dialects/Support"]),
    ("dialects/Target", MLIR + ["dialects/Target", "dialects/Support"]),
    ("dialects", MLIR + ["dialects/Support"]),
    # A description says which devices it matches in the words of the file format.
    ("codegen/Targets", MLIR + ["dialects", "codegen/Targets", "runtime/format"]),
    ("codegen", MLIR + ["dialects", "codegen"]),
    # The tokens that a file's tests expect are those of the host's own sampler (docs/decisions/0010).
    ("compiler/Verify", MLIR + ["dialects", "codegen", "compiler", "runtime/format", "runtime/text"]),
    ("compiler", MLIR + ["dialects", "codegen", "compiler", "runtime/format"]),
    ("runtime/format", ["runtime/format", "runtime/support"]),
    ("runtime/text", ["runtime/text", "runtime/format", "runtime/support", "runtime/include", "llmc"]),
    ("runtime", VULKAN + ["runtime", "llmc"]),
    ("tools", OURS + MLIR + VULKAN),
    ("test", OURS + MLIR + VULKAN + ["test"]),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
USING_NAMESPACE = re.compile(r"^\s*using\s+namespace\b")


def is_below(path, folder):
    return path == folder or path.startswith(folder + "/")


def allowed_includes(path):
    return next(allowed for folder, allowed in RULES if is_below(path, folder))


def check_include(path, bracket, target):
    """What is wrong with one include of a file, or None."""
    if bracket == '"' and "/" not in target:
        return f'"{target}" is not a path from the root of the source tree'
    restricted = any(is_below(target, name) for name in OURS + MLIR + VULKAN)
    allowed = allowed_includes(path)
    if restricted and not any(is_below(target, name) for name in allowed):
        return f"may not include {target}; allowed: {', '.join(allowed)}"
    return None


def guard_of(path):
    """The guard a header must have; an installed header's path begins below runtime/include."""
    path = re.sub(r"^runtime/include/llmc/", "", path)
    return "LLMC_" + re.sub(r"[^A-Za-z0-9]", "_", path).upper()


def check_guard(path, lines):
    guard = guard_of(path)
    directives = [line.split("//")[0].strip() for line in lines if line.startswith("#")]
    if directives[:2] != [f"#ifndef {guard}", f"#define {guard}"]:
        return [f"{path}:1: the header guard must be {guard}"]
    return []


def check_licence(path, lines):
    if LICENCE in "".join(lines[:2]):
        return []
    return [f"{path}:1: the first line must say {LICENCE}"]


def check_source(path, lines):
    findings = check_guard(path, lines) if path.endswith((".h", ".hpp")) else []
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        problem = check_include(path, *match.groups()) if match else None
        if problem:
            findings.append(f"{path}:{number}: {problem}")
        if USING_NAMESPACE.match(line):
            findings.append(f"{path}:{number}: `using namespace` is not allowed; name what is used")
    return findings


def check_tree(root):
    findings = []
    for path in find_files(root, LICENSED_SUFFIXES):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        findings += check_licence(path, lines)
        if path.endswith(tuple(SOURCE_SUFFIXES)):
            findings += check_source(path, lines)
    return findings


if __name__ == "__main__":
    run_check(__doc__.splitlines()[0], check_tree)
