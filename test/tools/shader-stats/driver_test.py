# SPDX-License-Identifier: Apache-2.0
"""Batches of a stand-in for gpustat: results in any order, equal modules once, what fails, ends the process or hangs, and the cache."""

import json
import os
import tempfile
import unittest
from unittest import mock

import stats_testing  # noqa: F401 (finds the package)
from shader_stats import driver, model_file

# A module is a word that says what becomes of it.
GPUSTAT = """#!/usr/bin/env python3
import json, os, sys, time
with open(os.path.join(os.environ["LLMC_SHADER_STATS_DIR"], "runs"), "a") as runs:
    runs.write(" ".join(sys.argv[1:-2]) + "\\n")
folder = sys.argv[-1]
for path in sys.argv[2:-2]:
    word = open(path).read()
    if word == "hang":
        time.sleep(60)
    if word == "crash":
        sys.exit("no such instruction")
    if word == "refused":
        print(json.dumps({"shader": path, "error": "no entry point"}), flush=True)
        continue
    with open(os.path.join(folder, os.path.basename(path) + ".0.Assembly.txt"), "w") as file:
        file.write("assembly of " + word)
    print(json.dumps({"shader": path, "executables": [{"word": word}]}), flush=True)
"""


class Batches(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, text in (("stamp", "made of this"), ("mesa-version", "1.2.3\n"), ("gpustat", GPUSTAT)):
            with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(os.path.join(self.folder.name, "gpustat"), 0o755)
        patch = mock.patch.object(driver, "FOLDER", self.folder.name)
        patch.start()
        self.addCleanup(patch.stop)

    def compile_all(self, words, target="mali-g76", **options):
        modules = {i: (target, word.encode()) for i, word in enumerate(words)}
        results = driver.Driver(self.folder.name, **options).compile_all(modules)
        return [results[i] for i in range(len(words))]

    def count_modules(self):
        with open(os.path.join(self.folder.name, "runs"), encoding="utf-8") as file:
            return sum(len(line.split()) - 1 for line in file)

    def test_each_module_gets_its_own_result(self):
        words = [f"m{i}" for i in range(3 * driver.BATCH + 1)]
        results = self.compile_all(words)
        self.assertEqual([r["statistics"]["word"] for r in results], words)
        self.assertEqual([r["assembly"] for r in results], ["assembly of " + word for word in words])

    def test_equal_modules_are_compiled_once_and_never_again(self):
        self.compile_all(["a", "b", "a"])
        self.assertEqual(self.count_modules(), 2)
        self.compile_all(["b", "a", "c"])
        self.assertEqual(self.count_modules(), 3)
        self.compile_all(["a"], target="mali-g610")
        self.assertEqual(self.count_modules(), 4)

    def test_another_version_of_mesa_compiles_anew(self):
        self.compile_all(["a"])
        with open(os.path.join(self.folder.name, "mesa-version"), "w", encoding="utf-8") as file:
            file.write("1.2.4")
        self.compile_all(["a"])
        self.assertEqual(self.count_modules(), 2)

    def test_failures_leave_the_others_alone(self):
        results = self.compile_all(["a", "refused", "b", "crash", "c", "hang", "d"], time_limit=2)
        self.assertEqual(["error" in r for r in results], [False, True, False, True, False, True, False])
        self.assertEqual(results[1]["error"], "no entry point")
        self.assertIn("ended with 1: no such instruction", results[3]["error"])
        self.assertIn("longer than 2 s", results[5]["error"])

    def test_not_set_up(self):
        os.remove(os.path.join(self.folder.name, "stamp"))
        with self.assertRaisesRegex(driver.NotSetUp, "run tools/shader-stats/setup"):
            driver.Driver(self.folder.name)


MANIFEST = {"sections": [
    {"layout": "vector", "encoding": "F32", "elements": 64},
    {"layout": "tile16", "encoding": "Q4_0", "elements": 4096},
    {"layout": "tile16", "encoding": "Q2_K", "elements": 4096}]}
VARIANT = {"weights": [{"section": 0, "buffer": 0, "offset": 0}, {"section": 1, "buffer": 0, "offset": 256},
                       {"section": 2, "buffer": 0, "offset": 4096}]}


class Codes(unittest.TestCase):
    def find(self, *places):
        return model_file.find_codes(MANIFEST, VARIANT, [{"buffer": b, "offset": o} for b, o in places])

    def test_codes_lie_at_the_beginning_of_a_matrix(self):
        # 4096 codes of 4 bits are 2048 bytes: what begins behind them is a plane of scales.
        self.assertEqual(self.find((0, 0), (0, 256), (0, 2304), (0, 4096)), {1: ("Q4_0", 4), 3: ("Q2_K", 8)})

    def test_a_weight_that_is_bound_in_parts(self):
        self.assertEqual(self.find((0, 256), (0, 1280)), {0: ("Q4_0", 4), 1: ("Q4_0", 4)})

    def test_other_buffers(self):
        self.assertEqual(self.find((1, 256)), {})

    def test_bits_of_codes(self):
        bits = {"F16": 16, "Q8_0": 8, "Q2_K": 8, "Q4_0": 4, "Q6_K": 4, "IQ4_XS": 4, "MXFP4": 4, "I4_G32_ASYM": 4, "I8_CHANNEL": 8}
        self.assertEqual({encoding: model_file.code_bits(encoding) for encoding in bits}, bits)

    def test_roles(self):
        self.assertEqual([model_file.role_of(rows) for rows in (1, 8, 32)], ["decode", "batch", "prefill"])


if __name__ == "__main__":
    unittest.main()
