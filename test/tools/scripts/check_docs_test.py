# SPDX-License-Identifier: Apache-2.0
"""check-docs.py names a dead link with its line, and a decision that the index lacks."""

import unittest

from script_testing import make_tree, run_python


class CheckDocs(unittest.TestCase):
    def check(self, files):
        with make_tree(files) as root:
            return run_python("check-docs.py", "--root", root)

    def test_clean(self):
        files = {"README.md": "[a](docs/a.md#part) [b](https://example.org/b)\n", "docs/a.md": "[up](../README.md)\n",
                 "docs/decisions/README.md": "[1](0001-x.md)\n", "docs/decisions/0001-x.md": "x\n"}
        self.assertEqual(self.check(files), (0, "0 finding(s)\n"))

    def test_dead_link(self):
        code, output = self.check({"docs/a.md": "x\n[up](b.md)\n"})
        self.assertEqual(code, 1)
        self.assertIn("docs/a.md:2: there is no b.md", output)

    def test_decision_without_a_line(self):
        code, output = self.check({"docs/decisions/README.md": "none\n", "docs/decisions/0001-x.md": "x\n"})
        self.assertEqual(code, 1)
        self.assertIn("0001-x.md is not in the index", output)


if __name__ == "__main__":
    unittest.main()
