# SPDX-License-Identifier: Apache-2.0
#
# lit configuration of every .mlir and .test file below test/. CTest calls lit once per file (llmc_add_lit_tests)
# and passes the folders in the environment:
#   LLMC_BUILD_DIR      the build folder; tools are taken from it
#   LLMC_LIT_OUTPUT     the folder for this call's output. No two calls share one: lit keeps a file of times there, which
#                       it reads and writes without a lock, and a call that reads half of it fails, as do all after it
#   LLMC_LLVM_BIN_DIR   LLVM's own bin folder, with FileCheck, not and split-file
#   LLMC_LIT_FEATURES   comma-separated features for REQUIRES lines

import os
import shutil

import lit.formats

# Folders of the build that hold tools which RUN lines call by bare name.
TOOL_FOLDERS = ["tools/llmc", "tools/llmc-opt"]

source_dir = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build_dir = os.environ.get("LLMC_BUILD_DIR", os.path.join(source_dir, "build", "dev"))
llvm_bin_dir = os.environ.get("LLMC_LLVM_BIN_DIR", "/usr/lib/llvm-22/bin")

config.name = "llmc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "e2e", "unit", "data"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.environ.get("LLMC_LIT_OUTPUT", os.path.join(build_dir, "test", "lit"))

tool_dirs = [os.path.join(build_dir, folder) for folder in TOOL_FOLDERS]
config.environment["PATH"] = os.pathsep.join(
    tool_dirs + [llvm_bin_dir, os.environ.get("PATH", "")]
)
config.substitutions.append(("%source_dir", source_dir))
config.substitutions.append(("%test_dir", config.test_source_root))
config.substitutions.append(("%build_dir", build_dir))

config.available_features.update(
    feature for feature in os.environ.get("LLMC_LIT_FEATURES", "").split(",") if feature
)
for program in ["spirv-val", "spirv-dis"]:
    if shutil.which(program, path=config.environment["PATH"]):
        config.available_features.add(program)
