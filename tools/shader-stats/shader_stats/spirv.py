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

    def _value(self, value_id):
        """The value of an integer that is constant, or the most that a choice between it and zero gives; else None."""
        opcode, operands = self.defined.get(value_id, (0, ()))
        if opcode in (CONSTANT, SPEC_CONSTANT):
            return operands[0]
        if opcode == SELECT and self._value(operands[2]) == 0:
            return self._value(operands[1])
        if opcode in (I_ADD, I_SUB, I_MUL, U_DIV, S_DIV):
            left, right = map(self._value, operands[:2])
            if left is None or right is None:
                return None
            if opcode in (U_DIV, S_DIV):
                return left // right if right else None
            return {I_ADD: left + right, I_SUB: left - right, I_MUL: left * right}[opcode]
        return None

    def _trips(self, condition):
        """How often a loop runs whose counter is a phi that is compared with a bound."""
        opcode, operands = self.defined.get(condition, (0, ()))
        if opcode not in (U_LESS, S_LESS):
            return None
        counter, bound = operands[0], self._value(operands[1])
        phi, incoming = self.defined.get(counter, (0, ()))
        if phi != PHI or bound is None:
            return None
        begin = step = None
        for value in incoming[::2]:
            add, addends = self.defined.get(value, (0, ()))
            if add == I_ADD and counter in addends[:2]:
                step = self._value(addends[1] if addends[0] == counter else addends[0])
            else:
                begin = self._value(value)
        if not step:
            return None
        # Where each lane begins at a place of its own, below the step, the first one's count stands for all.
        return max(0, -(-(bound - (begin or 0)) // step)) if begin is not None or step > 1 else None

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
