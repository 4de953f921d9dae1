# SPDX-License-Identifier: Apache-2.0
"""The kernels of .llmc files, as `llmc inspect` tells them: what each is for, what the compiler estimated, and its SPIR-V."""

import dataclasses
import json
import os
import re
import subprocess
import tempfile

from . import hot_loop

# Bits of a code in the first plane of a weight; docs/layouts.md has the planes. Other encodings are repacked to 8 bits.
PLAIN_BITS = {"F32": 32, "F16": 16, "BF16": 16}
NIBBLES = re.compile("Q4_0|Q4_1|Q[456]_K|IQ4_(NL|XS)|MXFP4|I4_.*")
REPACKED_BITS = 8
LINEAR = ("gemv", "gemm")


@dataclasses.dataclass
class Kernel:
    target: str
    name: str
    kind: str              # gemv, gemm, sdpa, …
    role: str              # decode (one row), batch (up to 8 rows), prefill
    format: str            # encoding of a linear's weights, else empty
    activations: str       # the type in which a linear multiplies, else empty
    tile: list
    registers: int         # estimated, of 32 bits
    accumulators: int      # estimated
    code: bytes
    checksum: str          # of the code, as the file format makes it
    weights: object        # hot_loop.Weights of a linear, else None


def code_bits(encoding):
    return PLAIN_BITS.get(encoding, 4 if NIBBLES.fullmatch(encoding) else REPACKED_BITS)


def file_name(name):
    """As llmc names the files that it writes for kernels and targets."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
    return "_" if name in (".", "..") else name


def find_codes(manifest, variant, bindings):
    """{binding: (encoding, bits)} of the bindings that hold the codes of matrices: they lie at the beginning of a weight."""
    found = {}
    for index, piece in enumerate(bindings):
        for placement in variant["weights"]:
            section = manifest["sections"][placement["section"]]
            if section["layout"] == "vector" or placement["buffer"] != piece["buffer"]:
                continue
            bits = code_bits(section["encoding"])
            # A weight that is larger than a binding may be is bound in parts.
            if 0 <= piece["offset"] - placement["offset"] < section["elements"] * bits // 8:
                found[index] = (section["encoding"], bits)
    return found


def role_of(rows):
    return "decode" if rows == 1 else "batch" if rows <= 8 else "prefill"


def read_variant(manifest, variant, folder):
    target, uses = variant["target"], {}
    for entry in variant["entries"]:
        for command in entry["commands"]:
            if command != "barrier":
                uses.setdefault(command["kernel"], (entry["rows"], command))
    for index, kernel in enumerate(variant["kernels"]):
        rows, command = uses[index]
        with open(os.path.join(folder, file_name(target), file_name(kernel["name"]) + ".spv"), "rb") as file:
            code = file.read()
        is_linear = kernel["kind"] in LINEAR
        codes = find_codes(manifest, variant, command["bindings"]) if is_linear else {}
        formats = sorted({encoding for encoding, _ in codes.values()})
        yield Kernel(target=target, name=kernel["name"], kind=kernel["kind"], role=role_of(rows), format="+".join(formats),
                     activations=kernel["arithmetic"] if is_linear else "", tile=kernel["tile"], registers=kernel["registers"],
                     accumulators=kernel["accumulators"], code=code, checksum=kernel["code_checksum"],
                     weights=hot_loop.Weights({b: bits for b, (_, bits) in codes.items()}, kernel["tile"][0]) if codes else None)


def read(llmc, path):
    """All kernels of all targets of a file, equal ones too."""
    with tempfile.TemporaryDirectory(prefix="shader-stats-") as folder:
        text = subprocess.run([llmc, "inspect", path, "--json", f"--spirv={folder}"], stdout=subprocess.PIPE, check=True,
                              encoding="utf-8").stdout
        manifest = json.loads(text)
        return [kernel for variant in manifest["variants"] for kernel in read_variant(manifest, variant, folder)]
