# SPDX-License-Identifier: Apache-2.0
"""Each check finds what it is for and nothing in a good kernel; known exceptions excuse by target, kernel and check; the page of docs is made."""

import copy
import os
import re
import subprocess
import sys
import tempfile
import json
import unittest

import stats_testing
from shader_stats import checks, statistics, table

GOOD = {
    "target": "mali-g610", "name": "gemv_q4_0_2048x2048_rows_1", "files": ["a.llmc"], "kind": "gemv", "role": "decode", "format": "Q4_0",
    "activations": "f32", "tile": [1, 4, 32], "checksum": "0", "estimated": {"registers": 30, "accumulators": 4},
    "measured": {"registers": 28, "occupancy": 2, "spills": 0, "fills": 0, "tls": 0, "instructions": 200},
    "hot_loop": {"per_mac": 2.5, "loads_per_mac": 0.2, "weight_bytes_per_load": 16.0, "doubt": ""}, "cookbook": 3.0, "peer": 5.34,
}


def changed(path, value, **members):
    row = copy.deepcopy(GOOD)
    row.update(members)
    *parents, last = path.split(".")
    place = row
    for parent in parents:
        place = place[parent]
    place[last] = value
    return row


def found(row):
    return [finding.check for finding in checks.check_all({"kernels": [row]})]


class Checks(unittest.TestCase):
    def test_good(self):
        self.assertEqual(found(GOOD), [])

    def test_each_finding(self):
        for path, value, check in [
                ("measured.spills", 1, "spills"), ("measured.fills", 1, "spills"), ("measured.tls", 16, "tls"),
                ("measured.occupancy", 1, "occupancy"), ("hot_loop", None, "hot-loop"), ("hot_loop.doubt", "why", "hot-loop"),
                ("hot_loop.weight_bytes_per_load", 8.0, "weight-loads"), ("cookbook", 2.17, "cookbook"), ("peer", 4.99, "peer")]:
            with self.subTest(path):
                self.assertEqual(found(changed(path, value)), [check])

    def test_at_the_limit(self):
        self.assertEqual(found(changed("cookbook", 2.174)), [])  # 2.5 / 1.15 = 2.1739…
        self.assertEqual(found(changed("peer", 5.0)), [])

    def test_occupancy_of_an_adreno(self):
        adreno = {"target": "adreno-840", "estimated": {"registers": 112, "accumulators": 4}}
        self.assertEqual(found(changed("measured.occupancy", 7, **adreno)), ["occupancy"])
        self.assertEqual(found(changed("measured.occupancy", 8, **adreno)), [])
        self.assertEqual(found(changed("measured.occupancy", 6, kind="gemm", **adreno)), [])
        self.assertEqual(found(changed("measured.occupancy", 5, kind="gemm", **adreno)), ["occupancy"])

    def test_occupancy_of_attention(self):
        self.assertEqual(found(changed("measured.occupancy", 1, kind="sdpa")), ["occupancy"])
        self.assertEqual(found(changed("measured.occupancy", 1, kind="sdpa", role="batch")), ["occupancy"])
        self.assertEqual(found(changed("measured.occupancy", 1, kind="sdpa", role="prefill")), [])

    def test_prefill_is_held_to_the_peer_with_integers_only(self):
        prefill = {"role": "prefill", "kind": "gemm", "cookbook": None}
        self.assertEqual(found(changed("peer", 1.0, activations="f16", **prefill)), [])
        self.assertEqual(found(changed("peer", 1.0, activations="i8", **prefill)), ["peer"])
        self.assertEqual(found(changed("peer", 4.17, activations="i8", **prefill)), [])  # 2.5 / 0.6 = 4.166…

    def test_what_does_not_compile(self):
        row = {key: value for key, value in GOOD.items() if key not in ("measured", "hot_loop")}
        self.assertEqual(found({**row, "error": "took too long"}), ["compiles"])

    def test_estimates(self):
        far = changed("estimated.registers", 36)  # 36 / 28 is 1.29
        near = changed("estimated.registers", 35)
        counts = dict((name, (close, total)) for name, close, total in checks.check_estimates([near] * 9 + [far]))
        self.assertEqual(counts, {"all": (9, 10), "mali-g610": (9, 10)})
        self.assertEqual(checks.check_all({"kernels": [near] * 9 + [far]}), [])
        self.assertEqual([f.target for f in checks.check_all({"kernels": [near] * 8 + [far]})], ["all", "mali-g610"])
        # An Adreno's register is four words.
        self.assertAlmostEqual(checks.estimate_ratio(changed("estimated.registers", 56, target="adreno-840")), 0.5)


class Exceptions(unittest.TestCase):
    def load(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(text)
            file.flush()
            return checks.load_exceptions(file.name)

    def test_patterns(self):
        exceptions = self.load("# comment\n\nmali-* gemv_q4_*  spills  being worked on\nadreno-840 * tls never\n")
        findings = checks.check_all({"kernels": [changed("measured.spills", 1), changed("measured.tls", 16)]})
        self.assertEqual(checks.apply_exceptions(findings, exceptions), [("adreno-840", "*", "tls", "never")])
        self.assertEqual([f.exception for f in findings], ["being worked on", ""])

    def test_a_line_without_reason(self):
        with self.assertRaisesRegex(ValueError, r":1: expected TARGET KERNEL CHECK REASON, found 'a b c'"):
            self.load("a b c\n")


class Text(unittest.TestCase):
    def test_bars(self):
        text = table.beside_bars({"kernels": [GOOD, changed("hot_loop.per_mac", 2.75)]})
        self.assertIn("| mali-g610 | decode | Q4_0 | f32 | 2 | 2.5–2.75 | 3 | 5.34 | 28 | 2 | 0 | 0 |", text)

    def test_kernels(self):
        failed = {**GOOD, "error": "took too long"}
        del failed["measured"], failed["hot_loop"]
        text = table.kernels({"kernels": [GOOD, failed]})
        self.assertIn("| mali-g610 | gemv_q4_0_2048x2048_rows_1 | 1x4x32 | 30 | 28 | 2 | 0 | 0 | 2.5 | 0.2 | 16 |", text)
        self.assertIn("| 1x4x32 | 30 | took too long |", text)

    def test_page_of_docs(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"mesa": "9.8.7", "kernels": [changed("checksum", "1", files=["qwen3-0.6b-Q4_0.llmc"])]}, file)
            file.flush()
            page = subprocess.run([sys.executable, os.path.join(stats_testing.TOOL, "make-doc"), file.name], stdout=subprocess.PIPE,
                                  check=True, encoding="utf-8").stdout
        self.assertIn("Mesa 9.8.7", page)
        self.assertIn("- mali-g610: 1 of 1 kernels", page)
        self.assertEqual(len(re.findall(r"^\| mali-g610 \|", page, re.MULTILINE)), 2)


class Bars(unittest.TestCase):
    def test_rows_that_the_checks_rest_on(self):
        bars = statistics.load_bars()
        self.assertEqual(bars[("cookbook", "mali-g76", "decode", "Q4_0", "f32")]["per_mac"], 3.23)
        self.assertEqual(bars[("peer", "adreno-840", "decode", "Q4_0", None)]["per_mac"], 6.83)
        for target in ("adreno-840", "mali-g76", "mali-g610"):
            for encoding in checks.QUANTIZED:
                self.assertIn(("peer", target, "decode", encoding, None), bars)


if __name__ == "__main__":
    unittest.main()
