# SPDX-License-Identifier: Apache-2.0
"""check-layering.py finds each kind of violation, at its line, and nothing in a clean tree."""

import unittest

from script_testing import make_tree, run_python

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


def check(files):
    with make_tree(files) as root:
        return run_python("check-layering.py", "--root", root)


class CheckLayering(unittest.TestCase):
    def expect_clean(self, path, text):
        code, output = check({path: LICENCE + text})
        self.assertEqual((code, output), (0, "0 finding(s)\n"))

    def expect_finding(self, path, text, finding):
        code, output = check({path: text})
        self.assertEqual(code, 1, output)
        self.assertIn(finding, output)
        self.assertIn("1 finding(s)", output)

    def expect_forbidden(self, path, include):
        self.expect_finding(path, LICENCE + f"#include {include}\n", f"{path}:2: may not include {include[1:-1]}")

    def test_allowed_includes(self):
        self.expect_clean("dialects/Program/A.cpp", '#include "dialects/Target/Target.h"\n#include "mlir/IR/Value.h"\n')
        self.expect_clean("codegen/Lowering/A.cpp", '#include "codegen/Strategy/S.h"\n#include "dialects/Graph/Graph.h"\n')
        self.expect_clean("codegen/Targets/A.cpp", '#include "runtime/format/manifest.pb.h"\n')
        self.expect_clean("compiler/Import/A.cpp", '#include "runtime/format/Reader.h"\n#include <vector>\n')
        self.expect_clean("runtime/session/A.cpp", '#include "runtime/vulkan/Device.h"\n#include <vulkan/vulkan.h>\n')
        self.expect_clean("tools/llmc/A.cpp", '#include "compiler/Driver/D.h"\n#include "llmc/llmc.h"\n')

    def test_dialects_use_dialects_only(self):
        self.expect_forbidden("dialects/Graph/A.cpp", '"dialects/Target/Target.h"')
        self.expect_forbidden("dialects/Target/A.cpp", '"dialects/Program/Program.h"')
        self.expect_forbidden("dialects/Program/A.cpp", '"codegen/Targets/Targets.h"')

    def test_codegen_knows_neither_compiler_nor_runtime(self):
        self.expect_forbidden("codegen/Lowering/A.cpp", '"compiler/Planning/P.h"')
        self.expect_forbidden("codegen/Lowering/A.cpp", '"runtime/format/manifest.pb.h"')
        self.expect_forbidden("codegen/Targets/A.cpp", '"runtime/vulkan/Device.h"')

    def test_compiler_shares_the_file_format_only(self):
        self.expect_forbidden("compiler/Driver/A.cpp", '"runtime/session/Session.h"')
        self.expect_forbidden("compiler/Driver/A.cpp", "<vulkan/vulkan.h>")

    def test_runtime_knows_no_compiler(self):
        for include in ['"mlir/IR/Value.h"', '"llvm/ADT/STLExtras.h"', '"dialects/Graph/Graph.h"', '"compiler/Driver/D.h"']:
            self.expect_forbidden("runtime/session/A.cpp", include)
        self.expect_forbidden("runtime/format/A.cpp", "<vulkan/vulkan.h>")
        self.expect_forbidden("runtime/text/A.cpp", '"runtime/vulkan/Device.h"')

    def test_includes_are_paths_from_the_root(self):
        self.expect_finding("runtime/text/A.cpp", LICENCE + '#include "A.h"\n', 'A.cpp:2: "A.h" is not a path from the root')

    def test_header_guard(self):
        good = "#ifndef LLMC_RUNTIME_TEXT_BYTE_PAIR_H\n#define LLMC_RUNTIME_TEXT_BYTE_PAIR_H\n#endif // guard\n"
        self.expect_clean("runtime/text/byte-pair.h", good)
        self.expect_finding("runtime/text/other.h", LICENCE + good, "must be LLMC_RUNTIME_TEXT_OTHER_H")
        self.expect_finding("runtime/text/none.h", LICENCE, "must be LLMC_RUNTIME_TEXT_NONE_H")
        self.expect_clean("runtime/include/llmc/llmc.h", "#ifndef LLMC_LLMC_H\n#define LLMC_LLMC_H\n#endif\n")

    def test_licence(self):
        self.expect_finding("dialects/Graph/A.td", "def A;\n", "A.td:1: the first line must say SPDX")
        self.expect_finding("runtime/format/a.proto", "\n\n" + LICENCE, "a.proto:1: the first line must say SPDX")

    def test_using_namespace(self):
        self.expect_finding("compiler/Fusion/A.cpp", LICENCE + "\n  using namespace mlir;\n", "A.cpp:3: `using namespace`")
        self.expect_clean("compiler/Fusion/A.cpp", "using mlir::Value; // not using namespace\n")


if __name__ == "__main__":
    unittest.main()
