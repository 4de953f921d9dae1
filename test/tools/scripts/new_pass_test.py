# SPDX-License-Identifier: Apache-2.0
"""new-pass writes one stem in four places, and nothing when it refuses."""

import os
import unittest

from script_testing import make_tree, run_python

TREE = {
    "compiler/Fusion/Passes.td": "#ifndef G\n#define G\n\ndef FuseSdpaPass : Pass<\"llmc-fuse-sdpa\">;\n\n#endif // G\n",
    "compiler/Fusion/Passes.h": "namespace mlir {}\n\nnamespace llmc::fusion {\n}\n",
    "compiler/Fusion/CMakeLists.txt": "llmc_add_mlir_library(LlmcCompilerFusion\n  SOURCES Zip.cpp\n  LINK Other)\n",
}


class NewPass(unittest.TestCase):
    def setUp(self):
        self.tree = make_tree(TREE)
        self.addCleanup(self.tree.cleanup)

    def run_script(self, *arguments):
        return run_python("new-pass", "--root", self.tree.name, *arguments)

    def read(self, path):
        with open(os.path.join(self.tree.name, path), encoding="utf-8") as file:
            return file.read()

    def test_all_four_places(self):
        code, output = self.run_script("compiler/Fusion", "fuse rms norm into matmul")
        self.assertEqual(code, 0, output)
        definitions = self.read("compiler/Fusion/Passes.td")
        self.assertIn('def FuseRmsNormIntoMatmulPass : Pass<"llmc-fuse-rms-norm-into-matmul", "::mlir::func::FuncOp">',
                      definitions)
        self.assertTrue(definitions.endswith("#endif // G\n"))
        self.assertLess(definitions.index("FuseSdpaPass"), definitions.index("FuseRmsNormIntoMatmulPass"))
        self.assertEqual(self.read("compiler/Fusion/CMakeLists.txt"),
                         "llmc_add_mlir_library(LlmcCompilerFusion\n"
                         "  SOURCES FuseRmsNormIntoMatmul.cpp Zip.cpp\n  LINK Other)\n")
        source = self.read("compiler/Fusion/FuseRmsNormIntoMatmul.cpp")
        for expected in ['#define DEBUG_TYPE "llmc-fuse-rms-norm-into-matmul"', "namespace llmc::fusion {",
                         "#define GEN_PASS_DEF_FUSERMSNORMINTOMATMULPASS", '#include "compiler/Fusion/Passes.h.inc"',
                         "struct FuseRmsNormIntoMatmulPass final"]:
            self.assertIn(expected, source)
        test = self.read("test/compiler/Fusion/fuse-rms-norm-into-matmul.mlir")
        self.assertTrue(test.startswith("// RUN: llmc-opt %s --llmc-fuse-rms-norm-into-matmul | FileCheck %s\n"))

    def test_a_pass_on_modules(self):
        self.run_script("compiler/Fusion", "fuse all", "--op", "mlir::ModuleOp")
        self.assertIn('"::mlir::ModuleOp"', self.read("compiler/Fusion/Passes.td"))

    def expect_refusal(self, message, *arguments):
        code, output = self.run_script(*arguments)
        self.assertEqual(code, 1)
        self.assertIn(message, output)
        for path, text in TREE.items():
            self.assertEqual(self.read(path), text)

    def test_refusals(self):
        self.expect_refusal("must be two or more words", "compiler/Fusion", "fuse")
        self.expect_refusal("must be two or more words", "compiler/Fusion", "fuse it!")
        self.expect_refusal("Passes.h does not exist", "compiler/Nowhere", "fuse all")

    def test_an_existing_pass_is_not_overwritten(self):
        self.assertEqual(self.run_script("compiler/Fusion", "fuse all")[0], 0)
        code, output = self.run_script("compiler/Fusion", "fuse all")
        self.assertEqual(code, 1)
        self.assertIn("compiler/Fusion/FuseAll.cpp exists", output)


if __name__ == "__main__":
    unittest.main()
