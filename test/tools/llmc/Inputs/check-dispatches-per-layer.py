# SPDX-License-Identifier: Apache-2.0
"""Checks `llmc inspect --json` read from standard input: decoding one token takes 1 to LIMIT dispatches a layer.

Usage: check-dispatches-per-layer.py LIMIT
"""

import json
import sys

limit = int(sys.argv[1])
entries = [
    entry
    for variant in json.load(sys.stdin)["variants"]
    for entry in variant["entries"]
    if entry["function"] == "forward" and entry["rows"] == 1
]
if not entries:
    sys.exit("no entry of forward for one row")
for entry in entries:
    least, most = entry["least_dispatches_per_layer"], entry["most_dispatches_per_layer"]
    if not 1 <= least <= most <= limit:
        sys.exit(f"{least} to {most} dispatches per layer, allowed are 1 to {limit}")
