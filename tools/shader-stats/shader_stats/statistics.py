# SPDX-License-Identifier: Apache-2.0
"""Statistics of all kernels of some .llmc files: estimated, measured, beside the bars, as the JSON that `llmc inspect --stats` and the
tests read."""

import dataclasses
import json
import os

from . import driver, hot_loop, model_file

BARS = os.path.join(driver.FOLDER, "bars.json")


def load_bars(path=BARS):
    """{(who, target, role, format, activations): row}; a peer's row is also found with None for its activations."""
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    bars = {}
    for row in rows:
        key = (row["who"], row["target"], row["role"], row["format"])
        bars[key + (row["activations"],)] = row
        if row["who"] == "peer":
            bars[key + (None,)] = row
    return bars


def gather(llmc, paths):
    """[(kernel, names of files)] of the distinct kernels for targets that have a driver compiler here."""
    distinct = {}
    for path in paths:
        for kernel in model_file.read(llmc, path):
            if kernel.target in driver.TARGETS:
                distinct.setdefault((kernel.target, kernel.code), (kernel, []))[1].append(os.path.basename(path))
    return [(kernel, sorted(set(names))) for kernel, names in distinct.values()]


def describe(kernel, names, result, bars):
    row = {"target": kernel.target, "name": kernel.name, "files": names, "kind": kernel.kind, "role": kernel.role,
           "format": kernel.format, "activations": kernel.activations, "tile": kernel.tile, "checksum": kernel.checksum,
           "estimated": {"registers": kernel.registers, "accumulators": kernel.accumulators}}
    if "error" in result:
        return {**row, "error": result["error"]}
    row["measured"] = driver.figures(kernel.target, result)
    hot = hot_loop.find_hot_loop(result["assembly"], kernel.code, kernel.weights)
    row["hot_loop"] = hot and dataclasses.asdict(hot)
    for who, activations in (("cookbook", kernel.activations), ("peer", None)):
        bar = bars.get((who, kernel.target, kernel.role, kernel.format, activations))
        row[who] = bar and bar["per_mac"]
    return row


def make(llmc, paths, compiler, progress=None):
    """The statistics of all distinct kernels of the files |paths|; compiler: a driver.Driver."""
    kernels = gather(llmc, paths)
    results = compiler.compile_all({i: (kernel.target, kernel.code) for i, (kernel, _) in enumerate(kernels)}, progress)
    bars = load_bars()
    return {"mesa": compiler.mesa_version,
            "kernels": [describe(kernel, names, results[i], bars) for i, (kernel, names) in enumerate(kernels)]}
