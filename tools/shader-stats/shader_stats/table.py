# SPDX-License-Identifier: Apache-2.0
"""Statistics as text: a table of all kernels, and ours beside the cookbook's and the peer's."""


def number(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def hot(row, field):
    return row["hot_loop"][field] if row.get("hot_loop") else None


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


KERNEL_HEADER = ["target", "kernel", "tile", "estimated registers", "registers", "occupancy", "spills", "TLS", "instructions per multiply-add",
                 "loads per multiply-add", "bytes per load of weights"]


def kernel_cells(row):
    cells = [row["target"], row["name"], "x".join(map(str, row["tile"])), row["estimated"]["registers"]]
    if "error" in row:
        return cells + [row["error"]] + [""] * 6
    measured = row["measured"]
    return cells + [measured["registers"], measured["occupancy"], measured["spills"], measured["tls"], number(hot(row, "per_mac")),
                    number(hot(row, "loads_per_mac"), 3), number(hot(row, "weight_bytes_per_load"), 1)]


def kernels(statistics):
    rows = sorted(statistics["kernels"], key=lambda row: (row["target"], row["kind"], row["name"]))
    return markdown(KERNEL_HEADER, map(kernel_cells, rows))


BAR_HEADER = ["target", "role", "format", "activations", "kernels", "ours", "cookbook", "peer", "registers", "occupancy", "spills", "TLS"]


def span(values):
    """`least–most` of the numbers that are there."""
    values = [value for value in values if value is not None]
    if not values:
        return "–"
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low}–{high}"


def beside_bars(statistics):
    """One line for each target, role, format and activation type of linears: least and most of ours, and the bars."""
    groups = {}
    for row in statistics["kernels"]:
        if row["kind"] in ("gemv", "gemm") and "measured" in row:
            groups.setdefault((row["target"], row["role"], row["format"], row["activations"]), []).append(row)
    lines = []
    for key, rows in sorted(groups.items()):
        measured = [row["measured"] for row in rows]
        lines.append([*key, len(rows), span([hot(row, "per_mac") for row in rows]), number(rows[0]["cookbook"]), number(rows[0]["peer"]),
                      span([m["registers"] for m in measured]), span([m["occupancy"] for m in measured]),
                      span([m["spills"] for m in measured]), span([m["tls"] for m in measured])])
    return markdown(BAR_HEADER, lines)
