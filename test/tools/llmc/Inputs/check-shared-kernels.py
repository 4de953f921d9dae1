# SPDX-License-Identifier: Apache-2.0
"""Checks `llmc inspect --json` read from standard input: `forward` is compiled for ROWS, and its steps of FIRST and of SECOND
rows are computed by the same kernels in matrix units, of linears and of attention.

Usage: check-shared-kernels.py ROWS FIRST SECOND
"""

import json
import sys

variant = json.load(sys.stdin)["variants"][0]
kernels = {
    entry["rows"]: {
        variant["kernels"][command["kernel"]]["name"] for command in entry["commands"] if command != "barrier"
    }
    for entry in variant["entries"]
    if entry["function"] == "forward"
}
rows = ",".join(str(count) for count in sorted(kernels))
if rows != sys.argv[1]:
    sys.exit(f"forward is compiled for {rows} rows, not {sys.argv[1]}")
first, second = ({name for name in kernels[int(rows)] if "_matrix_" in name} for rows in sys.argv[2:])
for kind in ("gemm_", "sdpa_"):
    if not any(name.startswith(kind) for name in first):
        sys.exit(f"no kernel {kind}… among {sorted(first)}")
if first != second:
    sys.exit(f"{sorted(first)} and {sorted(second)} are not the same kernels")
