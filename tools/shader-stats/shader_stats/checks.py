# SPDX-License-Identifier: Apache-2.0
"""What statistics must satisfy. A check that fails today may be listed, with the reason, in a file of known exceptions."""

import dataclasses
import fnmatch

MOST_OVER_COOKBOOK = 1.15
MOST_OF_PEER = {"decode": 0.5, "prefill": 0.6}
ESTIMATE_TOLERANCE = 0.25
ESTIMATE_SHARE = 0.9
WEIGHT_LOAD_BYTES = 16
# Vector registers of four words, where the driver counts in them.
WORDS_PER_REGISTER = {"adreno-840": 4}
QUANTIZED = ("Q8_0", "Q4_0", "Q4_K", "Q6_K")


@dataclasses.dataclass
class Finding:
    target: str
    kernel: str
    check: str
    text: str
    exception: str = ""  # why it is known; empty if it is not


def is_linear(row):
    return row["kind"] in ("gemv", "gemm")


def check_compiled(row):
    if "error" in row:
        yield "compiles", row["error"]


def check_spills(row):
    measured = row["measured"]
    if measured["spills"] or measured["fills"]:
        yield "spills", f"{measured['spills']} spills, {measured['fills']} fills"
    if measured["tls"]:
        yield "tls", f"{measured['tls']} bytes of thread-local memory"


def check_occupancy(row):
    measured, adreno = row["measured"], row["target"] == "adreno-840"
    text = f"occupancy {measured['occupancy']} with {measured['registers']} registers"
    waits_for_memory = row["kind"] == "gemv" or (row["kind"] == "sdpa" and row["role"] != "prefill")
    if waits_for_memory and measured["occupancy"] < (8 if adreno else 2):
        yield "occupancy", text
    if row["kind"] == "gemm" and adreno and measured["occupancy"] < 6:
        yield "occupancy", text


def check_hot_loop(row):
    hot = row["hot_loop"]
    if hot is None:
        yield "hot-loop", "no loop with multiply-adds"
        return
    if hot["doubt"]:
        yield "hot-loop", hot["doubt"]
    if hot["weight_bytes_per_load"] is not None and hot["weight_bytes_per_load"] < WEIGHT_LOAD_BYTES:
        yield "weight-loads", f"{hot['weight_bytes_per_load']:.1f} bytes a load of weights"
    if row["cookbook"] and hot["per_mac"] > MOST_OVER_COOKBOOK * row["cookbook"]:
        yield "cookbook", f"{hot['per_mac']:.2f} instructions per multiply-add, {MOST_OVER_COOKBOOK * row['cookbook']:.2f} allowed"
    if row["peer"] and is_held_to_peer(row) and hot["per_mac"] > MOST_OF_PEER[row["role"]] * row["peer"]:
        yield "peer", f"{hot['per_mac']:.2f} instructions per multiply-add, {MOST_OF_PEER[row['role']] * row['peer']:.2f} allowed"


def is_held_to_peer(row):
    """In prefill only kernels with integer dot products are: with floats the peer's count is near the cookbook's."""
    return row["format"] in QUANTIZED and (row["role"] == "decode" or row["activations"] == "i8")


def estimate_ratio(row):
    """The estimate over the driver's figure."""
    return row["estimated"]["registers"] / WORDS_PER_REGISTER.get(row["target"], 1) / row["measured"]["registers"]


def is_close(row):
    return abs(estimate_ratio(row) - 1) <= ESTIMATE_TOLERANCE


def check_estimates(rows):
    """(target or all, kernels whose estimate is close, kernels)."""
    rows = [row for row in rows if "measured" in row]
    groups = {"all": rows}
    for row in rows:
        groups.setdefault(row["target"], []).append(row)
    for name, group in groups.items():
        yield name, sum(map(is_close, group)), len(group)


def check_all(statistics):
    findings = []
    for row in statistics["kernels"]:
        checks = [check_compiled]
        if "error" not in row:
            checks = [check_spills, check_occupancy] + ([check_hot_loop] if is_linear(row) else [])
        for check in checks:
            findings += [Finding(row["target"], row["name"], name, text) for name, text in check(row)]
    for name, close, total in check_estimates(statistics["kernels"]):
        if close < ESTIMATE_SHARE * total:
            findings.append(Finding(name, "*", "estimates", f"{close} of {total} are within {ESTIMATE_TOLERANCE:.0%}"))
    return findings


def load_exceptions(path):
    """[(target pattern, kernel pattern, check, reason)] of the lines `TARGET KERNEL CHECK REASON`; `#` begins a comment."""
    exceptions = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            fields = line.split(None, 3)
            if len(fields) != 4:
                raise ValueError(f"{path}:{number}: expected TARGET KERNEL CHECK REASON, found '{line}'")
            exceptions.append(tuple(fields))
    return exceptions


def apply_exceptions(findings, exceptions):
    """Notes the reason on each finding that is known; returns the exceptions that no finding needs any more."""
    unused = list(exceptions)
    for finding in findings:
        for exception in exceptions:
            target, kernel, check, reason = exception
            if check == finding.check and fnmatch.fnmatch(finding.target, target) and fnmatch.fnmatch(finding.kernel, kernel):
                finding.exception = reason
                if exception in unused:
                    unused.remove(exception)
                break
    return unused
