# SPDX-License-Identifier: Apache-2.0
"""The loops of a SPIR-V kernel as our serializer writes them: how often they run and what they load from which binding."""

import dataclasses
import struct
from typing import Optional

MAGIC = 0x07230203
TYPE_INT, TYPE_FLOAT, TYPE_VECTOR, TYPE_ARRAY = 21, 22, 23, 28
EXT_INST, CONSTANT, SPEC_CONSTANT, VARIABLE, LOAD, ACCESS_CHAIN, DECORATE = 12, 43, 50, 59, 61, 65, 71
I_ADD, I_SUB, I_MUL, U_DIV, S_DIV, SELECT = 128, 130, 132, 134, 135, 169
U_LESS, S_LESS, PHI, LOOP_MERGE, LABEL, BRANCH_CONDITIONAL = 176, 177, 245, 246, 248, 250
BINDING = 33
GLSL_MINIMA = (38, 39)  # of unsigned and signed integers


@dataclasses.dataclass
class Loop:
    """trips: None where it is not known. loads: {binding: [bytes…]} of the body without inner loops."""
    trips: Optional[int] = None
    loads: dict = dataclasses.field(default_factory=dict)
    children: list = dataclasses.field(default_factory=list)


class Kernel:
    """The loops of a module with one function."""

    def __init__(self, code):
        if len(code) < 20 or len(code) % 4 or struct.unpack_from("<I", code)[0] != MAGIC:
            raise ValueError("no SPIR-V module")
        self.words = struct.unpack(f"<{len(code) // 4}I", code)
        self.defined = {}   # result id → (opcode, operands behind the result id)
        self.types = {}     # result id → id of its type
        self.bindings = {}  # variable → binding
        self.loops = []
        self.instructions = list(self._decode())
        for opcode, operands in self.instructions:
            self._note(opcode, operands)
        self._find_loops()

    def _decode(self):
        position = 5
        while position < len(self.words):
            length, opcode = self.words[position] >> 16, self.words[position] & 0xFFFF
            if not length or position + length > len(self.words):
                raise ValueError("broken SPIR-V module")
            yield opcode, self.words[position + 1:position + length]
            position += length

    def _note(self, opcode, operands):
        if opcode == DECORATE and len(operands) > 2 and operands[1] == BINDING:
            self.bindings[operands[0]] = operands[2]
        elif TYPE_INT <= opcode <= TYPE_ARRAY:
            self.defined[operands[0]] = (opcode, operands[1:])
        elif opcode in (EXT_INST, CONSTANT, SPEC_CONSTANT, VARIABLE, ACCESS_CHAIN, LOAD, PHI, SELECT) or I_ADD <= opcode <= S_LESS:
            self.types[operands[1]] = operands[0]
            self.defined[operands[1]] = (opcode, operands[2:])

    def _size(self, type_id):
        opcode, operands = self.defined.get(type_id, (0, ()))
        if opcode in (TYPE_INT, TYPE_FLOAT):
            return operands[0] // 8
        if opcode == TYPE_VECTOR:
            return self._size(operands[0]) * operands[1]
        return 0

    def _linear(self, value_id):
        """An integer as ({id of what is not known: factor}, constant that is added). A choice between two that differ by a constant is the
        first: loops over no rows are skipped that way. The smaller of two is what is not a constant: the last of several parts is cut off
        that way, and the others are whole."""
        opcode, operands = self.defined.get(value_id, (0, ()))
        if opcode in (CONSTANT, SPEC_CONSTANT):
            return {}, operands[0]
        if opcode == SELECT:
            chosen, other = self._linear(operands[1]), self._linear(operands[2])
            if chosen[0] == other[0]:
                return chosen
        if opcode == EXT_INST and operands[1] in GLSL_MINIMA:
            left, right = map(self._linear, operands[2:4])
            if not left[0] and not right[0]:
                return {}, min(left[1], right[1])
            if not left[0] or not right[0]:
                return left if left[0] else right
        if opcode in (I_ADD, I_SUB, I_MUL, U_DIV, S_DIV):
            known = self._combine(opcode, *map(self._linear, operands[:2]))
            if known:
                return known
        return {value_id: 1}, 0

    @staticmethod
    def _combine(opcode, left, right):
        """The form of a sum, difference, product or quotient of two forms; None where it has none."""
        if opcode == I_SUB:
            right = {base: -factor for base, factor in right[0].items()}, -right[1]
        if opcode in (I_ADD, I_SUB):
            factors = dict(left[0])
            for base, factor in right[0].items():
                factors[base] = factors.get(base, 0) + factor
            return {base: factor for base, factor in factors.items() if factor}, left[1] + right[1]
        if opcode == I_MUL and not left[0]:
            left, right = right, left
        if right[0]:
            return None
        if opcode == I_MUL:
            return {base: factor * right[1] for base, factor in left[0].items() if right[1]}, left[1] * right[1]
        return ({}, left[1] // right[1]) if not left[0] and right[1] else None

    def _trips(self, condition):
        """How often a loop runs whose counter is a phi that is compared with a bound."""
        opcode, operands = self.defined.get(condition, (0, ()))
        if opcode not in (U_LESS, S_LESS):
            return None
        counter, bound = operands[0], self._linear(operands[1])
        phi, incoming = self.defined.get(counter, (0, ()))
        if phi != PHI:
            return None
        begin, step = None, 0
        for value in incoming[::2]:
            form = self._linear(value)
            if form[0] == {counter: 1}:
                step = form[1]
            else:
                begin = form
        if not step or begin is None:
            return None
        left, distance = self._combine(I_SUB, bound, begin)
        if not left:
            return max(0, -(-distance // step))
        # Where each lane begins at a place of its own, below the step, the first one's count stands for all.
        of_lane = step > 1 and all(base in begin[0] and base not in bound[0] for base in left)
        return -(-distance // step) if of_lane else None

    def _find_loops(self):
        open_loops = []  # (loop, id of the label behind it)
        merge = None
        for opcode, operands in self.instructions:
            if opcode == LABEL:
                while open_loops and open_loops[-1][1] == operands[0]:
                    open_loops.pop()
            elif opcode == LOOP_MERGE:
                merge = operands[0]
                loop = Loop()
                (open_loops[-1][0].children if open_loops else self.loops).append(loop)
                open_loops.append((loop, merge))
            elif opcode == BRANCH_CONDITIONAL and merge is not None:
                open_loops[-1][0].trips = self._trips(operands[0])
                merge = None
            elif opcode == LOAD and open_loops:
                self._note_load(open_loops[-1][0], operands)

    def _note_load(self, loop, operands):
        opcode, chain = self.defined.get(operands[2], (0, ()))
        if opcode == ACCESS_CHAIN and chain[0] in self.bindings:
            loop.loads.setdefault(self.bindings[chain[0]], []).append(self._size(operands[0]))
