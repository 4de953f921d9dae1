# SPDX-License-Identifier: Apache-2.0
"""speed's figures and ratios, of programs that print numbers known before."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SPEED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "speed")

LLMC = f"""#!{sys.executable}
import json, sys
if "--start" in sys.argv:
    print(json.dumps({{"start": {{"engine_seconds": 0.25, "load_seconds": 1.0, "first_token_seconds": 0.5,
                                "first_token_again_seconds": 0.125}}}}))
elif "bench" in sys.argv:
    print(json.dumps({{"results": [{{"name": "tg4", "tokens": 4, "seconds": [2, 1]}}], "device_bytes": 1048576}}))
"""
PEER = {"load": [1.5], "ttft32_cold": [2.0], "ttft32_warm": [0.25]}


class Speed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_loads_are_told_with_and_without_the_instance(self):
        with open(self.path("llmc"), "w", encoding="utf-8") as file:
            file.write(LLMC)
        os.chmod(self.path("llmc"), 0o755)
        done = subprocess.run([sys.executable, SPEED, "qwen3-0.6b:Q4_0", "--layers=1", "--vocab=260", "--target=any", "--repeat=1",
                               f"--llmc={self.path('llmc')}", f"--llama-time=echo '{json.dumps(PEER)}'",
                               f"--json={self.path('figures')}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        with open(self.path("figures"), encoding="utf-8") as file:
            figures = json.load(file)["qwen3-0.6b:Q4_0"]
        for name, ours, peers in (("load", 1.0, 1.5), ("load but the instance", 0.75, 1.5), ("first token", 0.5, 2.0),
                                  ("first token again", 0.125, 0.25), ("start", 1.5, 3.5)):
            for start in ("cold", "warm"):
                self.assertEqual(figures["llmc"][f"{name} {start} s"], ours, name)
                self.assertEqual(figures["llama.cpp"][f"{name} {start} s"], peers, name)
        self.assertEqual(figures["llmc"]["tg4"], 4)
        self.assertRegex(done.stdout, r"\n  load cold +1\.000 s +llama\.cpp +1\.500   of it 0\.67\n")
        self.assertRegex(done.stdout, r"\n  load but the instance cold +0\.750 s +llama\.cpp +1\.500   of it 0\.50\n")


if __name__ == "__main__":
    unittest.main()
