# SPDX-License-Identifier: Apache-2.0
"""check-format.py names an unformatted file and line, and accepts a formatted one."""

import shutil
import unittest

from script_testing import make_tree, run_python


@unittest.skipUnless(shutil.which("clang-format-22"), "clang-format-22 is not installed")
class CheckFormat(unittest.TestCase):
    def check(self, text):
        files = {".clang-format": "BasedOnStyle: LLVM\n", "runtime/text/a.cpp": text}
        with make_tree(files) as root:
            return run_python("check-format.py", "--root", root)

    def test_formatted(self):
        self.assertEqual(self.check("int a;\nint b;\n"), (0, "0 finding(s)\n"))

    def test_unformatted(self):
        code, output = self.check("int a;\nint   b;\n")
        self.assertEqual(code, 1)
        self.assertIn("runtime/text/a.cpp:2: not formatted", output)


if __name__ == "__main__":
    unittest.main()
