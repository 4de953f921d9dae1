#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peak-memory.py MIB COMMAND...: runs a command and fails when it had more resident memory than MIB at some time."""
import resource
import subprocess
import sys

code = subprocess.call(sys.argv[2:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(f"peak {peak:.0f} MiB")
sys.exit(code or peak > float(sys.argv[1]))
