# SPDX-License-Identifier: Apache-2.0
"""The hot loop of a kernel: what it issues for one multiply-add.

The hot loop is the innermost loop with the most multiply-adds. Where its trip count is known, the loop around it is
counted with it, each inner loop as often as it runs, so that scales that are applied in an outer loop are in the figure;
and so on outwards. Trip counts come from the SPIR-V, whose loops the drivers keep (they are marked DontUnroll).

A linear's multiply-adds are the weights that it loads times the rows of activations; other kernels' are their
multiply-add instructions.
"""

import collections
import dataclasses
from typing import Optional

from . import disassembly, spirv

LOADS = ("load", "const", "shared", "descriptor")


@dataclasses.dataclass
class Weights:
    """What is known of a linear: bits of a weight's code by binding, and the rows of activations that a weight meets."""
    bits: dict
    rows: int


@dataclasses.dataclass
class Count:
    """What one iteration issues, inner loops included."""
    instructions: int = 0
    nops: int = 0
    counted_macs: int = 0
    kinds: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    loads: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # by (buffer, bytes)
    weight_bytes: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # by binding
    weight_loads: int = 0  # as the SPIR-V has them

    def add(self, other, times=1):
        for field in ("instructions", "nops", "counted_macs", "weight_loads"):
            setattr(self, field, getattr(self, field) + times * getattr(other, field))
        for field in ("kinds", "loads", "weight_bytes"):
            for key, number in getattr(other, field).items():
                getattr(self, field)[key] += times * number


@dataclasses.dataclass
class HotLoop:
    instructions: float            # of one iteration of the outermost loop that was counted
    nops: float
    macs: float
    per_mac: Optional[float]       # instructions per multiply-add
    loads_per_mac: Optional[float]
    weight_bytes_per_load: Optional[float]
    kinds: dict
    doubt: str                     # why the figure may be wrong; empty if nothing speaks against it


def count_instructions(instructions):
    count = Count()
    for instruction in instructions:
        count.instructions += instruction.count
        count.nops += instruction.nops
        count.counted_macs += instruction.macs
        if instruction.count:
            count.kinds[instruction.kind] += instruction.count
        if instruction.kind == "load":
            count.loads[(instruction.buffer, instruction.width)] += instruction.count
    return count


def own_count(program, loop, source, weights):
    """What a loop issues outside its inner loops."""
    count, position = Count(), loop.first
    for child in loop.children:
        count.add(count_instructions(program[position:child.first]))
        position = child.last + 1
    count.add(count_instructions(program[position:loop.last + 1]))
    if source and weights:
        for binding, sizes in source.loads.items():
            if binding in weights.bits:
                count.weight_bytes[binding] += sum(sizes)
                count.weight_loads += len(sizes)
    return count


def count_loop(program, loop, source, weights):
    """What one iteration of a loop issues, or None if an inner loop's trip count is not known."""
    count = own_count(program, loop, source, weights)
    if not loop.children:
        return count
    if source is None or len(source.children) != len(loop.children):
        return None
    for child, child_source in zip(loop.children, source.children):
        inner = count_loop(program, child, child_source, weights) if child_source.trips is not None else None
        if inner is None:
            return None
        count.add(inner, child_source.trips)
    return count


def innermost_loops(loops, path=()):
    """The paths, outermost loop first, to all loops that hold no loop."""
    for loop in loops:
        if loop.children:
            yield from innermost_loops(loop.children, path + (loop,))
        else:
            yield path + (loop,)


def counted_macs(program, loop):
    return sum(instruction.macs for instruction in program[loop.first:loop.last + 1])


def sources_of(path, loops, sources):
    """The SPIR-V loops that became the loops of a path. Drivers add loops of their own (for subgroup operations); then the one with the
    most loads is taken, because the path leads to the hot loop."""
    found = []
    for loop in path:
        if not sources:
            source = None
        elif len(sources) == len(loops):
            source = sources[loops.index(loop)]
        else:
            source = max(sources, key=loads_in)
        found.append(source)
        loops, sources = loop.children, source.children if source else None
    return found


def loads_in(source):
    return sum(map(len, source.loads.values())) + sum(map(loads_in, source.children))


def find_hot_loop(text, code, weights=None):
    """The HotLoop of a disassembly made from the SPIR-V module |code|; None if no loop computes anything."""
    program = disassembly.parse(text)
    kernel = spirv.Kernel(code)
    loops = disassembly.find_loops(program)
    paths = list(innermost_loops(loops))
    if not paths:
        return None
    path = max(paths, key=lambda p: counted_macs(program, p[-1]))
    if not counted_macs(program, path[-1]):
        return None
    path_sources = sources_of(path, loops, kernel.loops)
    doubt, best = "", None
    for depth in reversed(range(len(path))):
        count = count_loop(program, path[depth], path_sources[depth], weights)
        if count is None:
            doubt = "an outer loop could not be counted"
            break
        best = count
    return summarize(best, weights, doubt)


def summarize(count, weights, doubt):
    macs = count.counted_macs
    if weights:
        macs = sum(8 * size // weights.bits[binding] for binding, size in count.weight_bytes.items()) * weights.rows
        if not macs:
            macs, doubt = count.counted_macs, "no loads of weights in the loop"
        elif count.counted_macs < macs:
            doubt = f"{count.counted_macs} multiply-adds found, {macs} expected"
    loads = sum(count.kinds[kind] for kind in LOADS)
    return HotLoop(instructions=count.instructions, nops=count.nops, macs=macs, per_mac=count.instructions / macs,
                   loads_per_mac=loads / macs, weight_bytes_per_load=weight_load_width(count, weights),
                   kinds=dict(count.kinds), doubt=doubt)


def weight_load_width(count, weights):
    """Bytes that a load of weights takes. Adreno's disassembly names the binding; on a Mali the wide loads are counted."""
    total = sum(count.weight_bytes.values())
    if not weights or not total:
        return None
    named = sum(number for (buffer, _), number in count.loads.items()
                if buffer and buffer.isdigit() and int(buffer) // 2 in count.weight_bytes and int(buffer) % 2 == 0)
    if named:
        return total / named
    width = total / count.weight_loads
    wide = sum(number for (_, size), number in count.loads.items() if size >= width)
    if wide >= count.weight_loads:
        return width
    narrow = sum(number for (_, size), number in count.loads.items() if size < width)
    return total / (wide + narrow)
