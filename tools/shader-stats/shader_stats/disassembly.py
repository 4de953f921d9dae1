# SPDX-License-Identifier: Apache-2.0
"""Disassemblies of ir3 (turnip), Valhall and Bifrost (panvk) as lists of instructions, and the loops in them.

A loop is a branch to an earlier place, its body everything between. NOPs are counted apart; an ir3 instruction with (rptN) counts N+1
times. A vector multiply-add on packed halves counts as two, a dot product of four bytes as four.
"""

import dataclasses
import re
from typing import Optional

# Bits in a mnemonic → bytes.
WIDTHS = {"8": 1, "16": 2, "24": 3, "32": 4, "48": 6, "64": 8, "96": 12, "128": 16}


@dataclasses.dataclass
class Instruction:
    opcode: str
    text: str
    kind: str                     # fma, float, int, bit, conv, mov, load, store, shared, local, …
    count: int = 1                # times that it is issued; 0 for a NOP
    nops: int = 0
    macs: int = 0                 # multiply-adds that it computes, all repetitions together
    width: Optional[int] = None   # bytes of a memory access, per invocation
    buffer: Optional[str] = None  # what names the buffer of a load: Adreno's descriptor, Valhall's table entry
    target: Optional[int] = None  # index of the instruction that a branch goes to


@dataclasses.dataclass
class Loop:
    first: int
    last: int
    children: list = dataclasses.field(default_factory=list)


# ir3, the Adreno's.

IR3_KINDS = [
    (r"nop", "nop"),
    (r"dp[24]acc|mad\.f\d+", "fma"),
    (r"cov", "conv"),
    (r"mov|swz|gat|sct|mova1?|movmsk|movs", "mov"),
    (r"isam|ldib|ldg|ldgb|ldcb", "load"),
    (r"ldc", "const"),
    (r"stib|stg", "store"),
    (r"ldlw?|stlw?", "shared"),
    (r"ldp|stp", "local"),
    (r"bar|fence", "barrier"),
    (r"br|brao|braa|bany|ball|jump|predt|predf|prede|getone|getlast|shps|shpe|end|elect", "branch"),
    (r"brcst", "subgroup"),
    (r"and|or|xor|not|shl|shr|ashr|shrm|shlm|shrg|shlg|andg|bfrev|clz|cbits|getbit", "bit"),
    (r"(?:add|mul|min|max|sign|absneg|cmps|floor|ceil|trunc|rndne)\.f", "float"),
    (r"h?(?:rcp|rsq|sqrt|exp2|log2|sin|cos)", "float"),
]


def ir3_kind(opcode):
    base = opcode.split(".")[0]
    for pattern, kind in IR3_KINDS:
        if re.fullmatch(pattern, base) or ("." in pattern and re.match(pattern, opcode)):
            return kind
    return "int"


def ir3_access(opcode, body):
    """(bytes, buffer) of a memory access; the buffer is the descriptor's number."""
    if opcode.startswith("isam"):
        element = re.search(r"\([usf](\d+)\)\((\w+)\)", body)
        descriptor = re.search(r"t#(\d+)", body)
        return WIDTHS[element[1]] * len(element[2]), descriptor and descriptor[1]
    element = re.search(r"\.[usf](8|16|32)", opcode)
    width = WIDTHS[element[1]] if element else 4
    components = re.search(r"\.[123]d\.[usf]\d+\.(\d)", opcode)
    if components:
        width *= int(components[1])
    last = re.search(r", (\d+)$", body)
    if opcode.startswith(("ldib", "stib")):
        return width, last and last[1]
    if last and opcode[:3] in ("ldl", "stl", "ldp", "stp", "ldg", "stg"):
        width *= int(last[1])
    return width, None


def parse_ir3_line(line):
    """(instruction, label of a branch's target) of one line, or (None, None) for what is no instruction."""
    prefix = re.match(r"(?:\(\w+\)\s*)*", line)[0]
    body = line[len(prefix):]
    match = re.match(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*", body)
    if not match:
        return None, None
    opcode, count, nops = match[0], 1, 0
    for flag in re.findall(r"\((\w+)\)", prefix):
        if flag.startswith("rpt"):
            count += int(flag[3:])
        elif flag.startswith("nop"):
            nops += int(flag[3:])
    kind = ir3_kind(opcode)
    instruction = Instruction(opcode, line, kind, count, nops)
    if kind == "nop":
        instruction.count, instruction.nops = 0, nops + count
    elif kind == "fma":
        instruction.macs = count * (4 if "dp4" in opcode else 2 if "dp2" in opcode else 1)
    elif kind in ("load", "store", "shared", "local"):
        instruction.width, instruction.buffer = ir3_access(opcode, body)
    label = re.search(r"#l(\d+)", body)
    is_jump = kind == "branch" and label and not opcode.startswith(("shps", "getone"))
    return instruction, label[1] if is_jump else None


def parse_ir3(text):
    program, labels, jumps = [], {}, []
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith(("@", "Native", ";")):
            continue
        label = re.fullmatch(r"l(\d+):", line)
        if label:
            labels[label[1]] = len(program)
            continue
        instruction, target = parse_ir3_line(line)
        if instruction:
            program.append(instruction)
            if target:
                jumps.append((instruction, target))
    for instruction, target in jumps:
        instruction.target = labels.get(target)
    return program


# Valhall and Bifrost, the Malis'.

MALI_KINDS = [
    (r"NOP", "nop"),
    (r"FMA|FMA_RSCALE|IDP.*", "fma"),
    (r".*_TO_.*|MKVEC.*|SWZ.*", "conv"),
    (r"MOV.*", "mov"),
    (r"(?:LSHIFT|RSHIFT|ARSHIFT|BITREV|POPCOUNT|CLZ|LROT|RROT).*", "bit"),
    (r"(?:LD_PKA|LD_BUFFER|LD_ATTR|LOAD|LD_CVT|LD_TILE|LD_VAR).*", "load"),
    (r"(?:STORE|ST_).*", "store"),
    (r"LEA.*", "address"),
    (r"BARRIER.*", "barrier"),
    (r"(?:BRANCH|JUMP).*", "branch"),
    (r"(?:CLPER|WMASK).*", "subgroup"),
    (r"F.*", "float"),
]


def mali_kind(opcode):
    base = opcode.split(".")[0]
    return next((kind for pattern, kind in MALI_KINDS if re.fullmatch(pattern, base)), "int")


def mali_macs(opcode, operands):
    if "v4" in opcode:
        return 4
    if "v2f16" not in opcode:
        return 1
    # With single halves for all sources, both lanes compute one value.
    sources = operands.split(",")[1:]
    single = [re.search(r"\.h(00|11)", s) or re.fullmatch(r"\s*0x0(\.neg)?\s*", s) for s in sources]
    return 1 if all(single) else 2


def mali_instruction(line, opcode, operands):
    kind = mali_kind(opcode)
    instruction = Instruction(opcode, line.strip(), kind)
    if kind == "nop":
        instruction.count, instruction.nops = 0, 1
    elif kind == "fma":
        instruction.macs = mali_macs(opcode, operands)
    elif kind in ("load", "store"):
        width = re.search(r"\.i(8|16|24|32|48|64|96|128)", opcode)
        instruction.width = WIDTHS[width[1]] if width else 4
    return instruction


class PointerRegisters:
    """Which registers hold the upper half of a pointer to workgroup or thread-local memory."""

    BASES = {"workgroup_local_pointer": "shared", "thread_local_pointer": "local"}

    def __init__(self):
        self.kinds = {}

    def note(self, opcode, operands):
        written = re.match(r"\s*(@?r[\d:r]+)", operands)
        if opcode.startswith(("STORE", "BRANCH", "BARRIER")) or not written:
            return
        kind = None
        if opcode.startswith(("MOV", "IADD")):
            kind = next((k for base, k in self.BASES.items() if base + ".w1" in operands), None)
        source = re.match(r"\s*r\d+, (r\d+)", operands)
        if opcode.startswith("MOV") and source and not kind:
            kind = self.kinds.get(source[1])
        registers = re.findall(r"r\d+", written[1])
        self.kinds.update((register, None) for register in registers)
        self.kinds[registers[0]] = kind

    def memory(self, operands):
        """shared, local or None for the memory that an access reaches."""
        if "thread_local_pointer" in operands:
            return "local"
        pair = re.search(r"\[(r\d+)\^?:(r\d+)\^?\]", operands)
        if pair:
            return self.kinds.get(pair[2])
        return "shared" if "workgroup_local_pointer" in operands else None


def parse_valhall(text):
    program, pointers = [], PointerRegisters()
    for line in text.splitlines():
        match = re.match(r"\s+([A-Z][A-Z_0-9]*(?:\.[a-z0-9_]+)*)(.*)", line)
        if not match:
            continue
        opcode, operands = match[1], match[2]
        instruction = mali_instruction(line, opcode, operands)
        if instruction.kind in ("load", "store"):
            if opcode.startswith("LD_PKA"):
                instruction.buffer = operands.split(",")[-1].strip()
            else:
                instruction.kind = pointers.memory(operands) or instruction.kind
        pointers.note(opcode, operands)
        offset = re.search(r"offset:(-?\d+)", operands) if instruction.kind == "branch" else None
        if offset:
            instruction.target = len(program) + 1 + int(offset[1])
        program.append(instruction)
    return program


def parse_bifrost(text):
    program, clauses, jumps = [], {}, []
    for line in text.splitlines():
        clause = re.match(r"clause_(\d+):", line)
        if clause:
            clauses[clause[1]] = len(program)
            continue
        match = re.match(r"\s+[*+]([A-Z][A-Z_0-9]*(?:\.[a-z0-9_]+)*)(.*)", line)
        if not match:
            continue
        opcode, operands = match[1], match[2]
        instruction = mali_instruction(line, opcode, operands)
        if instruction.kind in ("load", "store"):
            if ".wls" in opcode:
                instruction.kind = "shared"
            elif ".tl" in opcode:
                instruction.kind = "local"
            elif instruction.kind == "load" and is_descriptor_load(opcode, operands):
                instruction.kind = "descriptor"
        jump = re.search(r"clause_(\d+)", operands) if instruction.kind == "branch" else None
        if jump:
            jumps.append((instruction, jump[1]))
        program.append(instruction)
    for instruction, clause in jumps:
        instruction.target = clauses.get(clause)
    return program


def is_descriptor_load(opcode, operands):
    """Bifrost loads buffers' descriptors from memory, at addresses that are uniforms."""
    return ".i96" in opcode or bool(re.match(r"\s*u\d", operands.split(",")[1]))


def parse(text):
    """The instructions of a disassembly of any of the three."""
    if "clause_" in text:
        return parse_bifrost(text)
    if re.search(r"^\s+[A-Z][A-Z_0-9]+\.?[a-z0-9_.]* ", text, re.MULTILINE) and "Native code" not in text:
        return parse_valhall(text)
    return parse_ir3(text)


def find_loops(program):
    """The outermost loops in program order; inner ones are their children. Loops that share their head are one."""
    ends = {}
    for index, instruction in enumerate(program):
        if instruction.target is not None and instruction.target <= index:
            ends[instruction.target] = max(ends.get(instruction.target, 0), index)
    roots, open_loops = [], []
    for first, last in sorted(ends.items()):
        loop = Loop(first, last)
        while open_loops and open_loops[-1].last < last:
            open_loops.pop()
        (open_loops[-1].children if open_loops else roots).append(loop)
        open_loops.append(loop)
    return roots
