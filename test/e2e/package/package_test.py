#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""package_test BUILD SOURCE CHAT_MODEL: installs the runtime and uses it as a program would that knows nothing else.

The example program of docs/examples is built by CMake and by pkg-config and run; the library's size, symbols and needs are
looked at.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE, CHAT_MODEL = (os.path.abspath(path) for path in sys.argv[1:4])
# Of the system; libvulkan is opened at run time.
ALLOWED = {"libprotobuf-lite.so.32", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2"}
MOST_BYTES = 2 << 20


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{command} gave {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = os.path.join(cls.folder.name, "prefix")
        run("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", "runtime")
        found = [os.path.join(at, name) for at, _, names in os.walk(cls.prefix) for name in names]
        cls.files = {os.path.relpath(path, cls.prefix) for path in found}
        cls.library = next(path for path in found if re.search(r"libllmc\.so\.\d+\.\d+", path))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def build_example(self):
        tree = self.path("examples")
        run("cmake", "-S", os.path.join(SOURCE, "docs", "examples"), "-B", tree, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", tree)
        return os.path.join(tree, "chat")

    def test_only_headers_library_and_package_files_are_installed(self):
        names = {os.path.basename(name) for name in self.files}
        self.assertTrue({"llmc.h", "llmc.hpp", "llmcConfig.cmake", "llmcConfigVersion.cmake", "llmc.pc"} <= names, names)
        for name in names:
            self.assertRegex(name, r"^llmc|^libllmc\.so")

    def test_library_is_small_and_needs_little(self):
        stripped = self.path("stripped.so")
        run("strip", "-o", stripped, self.library)
        self.assertLessEqual(os.path.getsize(stripped), MOST_BYTES)
        dynamic = run("readelf", "-d", self.library)
        self.assertLessEqual(set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)), ALLOWED)
        self.assertRegex(dynamic, r"SONAME.*\[libllmc\.so\.\d+\]")

    def test_only_the_api_is_exported(self):
        symbols = [line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", self.library).splitlines()]
        self.assertIn("llmc_session_save", symbols)
        for symbol in symbols:
            self.assertRegex(symbol, r"^(llmc_|LLMC_\d)")

    def test_pkg_config_builds_the_example(self):
        folder = os.path.join(self.prefix, os.path.dirname(next(f for f in self.files if f.endswith("llmc.pc"))))
        # The prefix is the one that was configured; here it is another.
        flags = run("pkg-config", f"--define-variable=prefix={self.prefix}", "--cflags", "--libs", "llmc",
                    env={**os.environ, "PKG_CONFIG_PATH": folder}).split()
        run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", os.path.join(SOURCE, "docs", "examples", "chat.c"),
            "-o", self.path("chat"), *flags)

    def test_chat_goes_on_without_evaluating_again(self):
        program, model, session = self.build_example(), self.path("model.llmc"), self.path("saved")
        run(CHAT_MODEL, model)
        done = subprocess.run([program, model, session, "a b", "ab a"], capture_output=True, text=True,
                              env={**os.environ, "LD_LIBRARY_PATH": os.path.dirname(self.library)})
        if "no Vulkan" in done.stderr or "no device" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = re.findall(r"^(b*)\n\[(\d+) tokens, (\d+) of them new\]$", done.stdout, re.M)
        self.assertEqual(len(answers), 3, done.stdout)
        first, second, again = [(text, int(total), int(new)) for text, total, new in answers]
        self.assertEqual(first[0], "b" * 64)
        self.assertEqual(first[1], first[2])
        # All of the first turn but its last token, which nothing followed.
        self.assertEqual(second[1] - second[2], first[1] + 63)
        # The restored session needs the prompt's last token, to have something to go on from.
        self.assertEqual(again, (second[0], second[1], 1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
