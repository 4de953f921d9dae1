# SPDX-License-Identifier: Apache-2.0
"""validated_run.py LLMC MODEL.gguf TOKENS: compiles the model for lavapipe and computes logits under Khronos' validation
layer with synchronization validation: in one prefill, and with the last tokens one by one. Any message of the layer is a
failure: errors, warnings, and warnings about performance.

A last run turns on the layer's best-practices advice, of which any small program gets some: if none comes, the layer was
not at work, and that is a failure, too.
"""

import os
import subprocess
import sys
import tempfile

SETTINGS = """khronos_validation.enables = {enables}
khronos_validation.report_flags = error,warn,perf
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.log_filename = {log}
"""
SYNCHRONIZATION = "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT"
BEST_PRACTICES = "VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT"


def run(command, **environment):
    """Runs a command, or ends the test if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                          errors="replace", env={**os.environ, **environment}, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")


def run_validated(command, enables):
    """The layer's messages during a run of the command."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.txt")
        with open(os.path.join(folder, "vk_layer_settings.txt"), "w", encoding="utf-8") as file:
            file.write(SETTINGS.format(enables=enables, log=log))
        run(command, VK_INSTANCE_LAYERS="VK_LAYER_KHRONOS_validation", VK_LAYER_SETTINGS_PATH=folder)
        with open(log, encoding="utf-8", errors="replace") as file:
            return file.read()


def main():
    llmc, model, tokens = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        compiled = os.path.join(folder, "model.llmc")
        run([llmc, "compile", model, "--target=lavapipe", "-o", compiled])
        logits = [llmc, "logits", compiled, f"--tokens={tokens}", "-o", os.path.join(folder, "logits.f32")]
        in_prefill = str(max(1, tokens.count(",") - 3))
        for command in [logits, logits + [f"--stepwise={in_prefill}"]]:
            messages = run_validated(command, SYNCHRONIZATION)
            if messages:
                sys.exit(f"{' '.join(command)}: the validation layer says:\n{messages}")
        if not run_validated(logits, BEST_PRACTICES):
            sys.exit("the validation layer gave no advice either: it was not at work")
    print("no message of the validation layer")


if __name__ == "__main__":
    main()
