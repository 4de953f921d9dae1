# SPDX-License-Identifier: Apache-2.0
"""The loops of a SPIR-V kernel as our serializer writes them: how often they run and what they load from which binding."""

import dataclasses
import struct
from typing import Optional

MAGIC = 0x07230203
TYPE_INT, TYPE_FLOAT, TYPE_VECTOR, TYPE_ARRAY = 21, 22, 23, 28
CONSTANT, SPEC_CONSTANT, VARIABLE, LOAD, ACCESS_CHAIN, DECORATE = 43, 50, 59, 61, 65, 71
I_ADD, I_SUB, I_MUL, U_DIV, S_DIV, SELECT = 128, 130, 132, 134, 135, 169
U_LESS, S_LESS, PHI, LOOP_MERGE, LABEL, BRANCH_CONDITIONAL = 176, 177, 245, 246, 248, 250
BINDING = 33


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
        elif opcode in (CONSTANT, SPEC_CONSTANT, VARIABLE, ACCESS_CHAIN, LOAD, PHI, SELECT) or I_ADD <= opcode <= S_LESS:
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
        """An integer as (id of what is not known or None, constant that is added to it). A choice between two that differ by a constant is
        the first: loops over no rows are skipped that way."""
        opcode, operands = self.defined.get(value_id, (0, ()))
        if opcode in (CONSTANT, SPEC_CONSTANT):
            return None, operands[0]
        if opcode == SELECT:
            chosen, other = self._linear(operands[1]), self._linear(operands[2])
            if chosen[0] == other[0]:
                return chosen
        if opcode in (I_ADD, I_SUB, I_MUL, U_DIV, S_DIV):
            (base, left), (other_base, right) = map(self._linear, operands[:2])
            if base is not None and other_base is None and opcode in (I_ADD, I_SUB):
                return base, left + right if opcode == I_ADD else left - right
            if base is None and other_base is not None and opcode == I_ADD:
                return other_base, left + right
            if base is None and other_base is None and not (opcode in (U_DIV, S_DIV) and not right):
                return None, {I_ADD: left + right, I_SUB: left - right, I_MUL: left * right}.get(opcode, left // (right or 1))
        return value_id, 0

    def _trips(self, condition):
        """How often a loop runs whose counter is a phi that is compared with a bound."""
        opcode, operands = self.defined.get(condition, (0, ()))
        if opcode not in (U_LESS, S_LESS):
            return None
        counter, (bound_base, bound) = operands[0], self._linear(operands[1])
        phi, incoming = self.defined.get(counter, (0, ()))
        if phi != PHI:
            return None
        begin, step = None, 0
        for value in incoming[::2]:
            base, number = self._linear(value)
            if base == counter:
                step = number
            else:
                begin = (base, number)
        if not step or begin is None:
            return None
        if begin[0] == bound_base:
            return max(0, -(-(bound - begin[1]) // step))
        # Where each lane begins at a place of its own, below the step, the first one's count stands for all.
        return -(-bound // step) if bound_base is None and step > 1 else None

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
