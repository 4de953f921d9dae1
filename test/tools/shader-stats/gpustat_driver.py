# SPDX-License-Identifier: Apache-2.0
"""The driver compilers themselves: a kernel whose loops, loads and multiply-adds are known, and modules that are none."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import stats_testing
from shader_stats import driver, hot_loop

NOT_SET_UP = 77


class Drivers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.code = stats_testing.assemble(stats_testing.NESTED_LOOPS)
        cls.results = COMPILER.compile_all({target: (target, cls.code) for target in driver.TARGETS})

    def test_small_kernels_fit(self):
        full = {"adreno-840": 16, "mali-g76": 2, "mali-g610": 2}
        for target, result in self.results.items():
            figures = driver.figures(target, result)
            self.assertEqual((figures["occupancy"], figures["spills"], figures["fills"], figures["tls"]), (full[target], 0, 0, 0), target)
            self.assertLessEqual(figures["registers"], 32 if target.startswith("mali") else 16)

    def test_the_drivers_keep_the_nest(self):
        for target, result in self.results.items():
            hot = hot_loop.find_hot_loop(result["assembly"], self.code, hot_loop.Weights({1: 32}, 1))
            self.assertEqual((hot.macs, hot.weight_bytes_per_load, hot.doubt), (4 * 4, 16, ""), target)
            # 4 × (3 loads of the inner loop) and the scale. Bifrost loads descriptors, too, and its text does not tell which loads those are.
            self.assertGreaterEqual(hot.kinds["load"], 4 * 3 + 1, target)
            if target != "mali-g76":
                self.assertEqual(hot.kinds["load"], 4 * 3 + 1, target)

    def test_modules_that_are_none(self):
        damaged = {"cut": self.code[:-8], "empty": b"", "zeros": b"\0" * 64, "no entry": self.code[:20]}
        results = COMPILER.compile_all({name: ("adreno-840", code) for name, code in damaged.items()})
        self.assertTrue(all("error" in result for result in results.values()), results)

    def test_device_report(self):
        done = subprocess.run([os.path.join(stats_testing.TOOL, "gpustat"), "mali-g610", "--device"], stdout=subprocess.PIPE, check=True,
                              env=dict(os.environ, LLMC_SHADER_STATS_DIR=COMPILER.folder))
        device = json.loads(done.stdout)
        self.assertEqual((device["vendorID"], device["subgroupSize"]), (0x13B5, 16))

    def test_measure(self):
        with tempfile.NamedTemporaryFile(suffix=".spv") as file:
            file.write(self.code)
            file.flush()
            text = subprocess.run([sys.executable, os.path.join(stats_testing.TOOL, "measure"), "adreno-840", file.name, "--weights=1:32",
                                   "--json"], stdout=subprocess.PIPE, check=True).stdout
            self.assertEqual(json.loads(text)[file.name]["hot_loop"]["macs"], 16)


if __name__ == "__main__":
    try:
        COMPILER = driver.Driver()
    except driver.NotSetUp as problem:
        print(problem)
        sys.exit(NOT_SET_UP)
    unittest.main()
