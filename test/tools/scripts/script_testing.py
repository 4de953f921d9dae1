# SPDX-License-Identifier: Apache-2.0
"""What the tests of scripts share: running one on a small source tree made for the test."""

import os
import subprocess
import sys
import tempfile

SOURCE_ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


def script(name):
    return os.path.join(SOURCE_ROOT, "tools", "scripts", name)


def make_tree(files):
    """A temporary folder with the files {path: text}; the caller keeps the object alive."""
    root = tempfile.TemporaryDirectory()
    for path, text in files.items():
        path = os.path.join(root.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return root


def run_python(name, *arguments, **options):
    """Runs a Python script of tools/scripts; returns (exit code, all its output)."""
    done = subprocess.run([sys.executable, script(name), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", check=False, **options)
    return done.returncode, done.stdout
