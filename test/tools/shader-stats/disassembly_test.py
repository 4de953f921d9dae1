# SPDX-License-Identifier: Apache-2.0
"""Instructions, loops and memory accesses of ir3, Valhall and Bifrost texts; the expected counts are counted by hand."""

import unittest

import stats_testing  # noqa: F401 (finds the package)
from shader_stats import disassembly

IR3 = """\
Native code for unnamed CL shader (null) with blake3 00:
; num_ubos:           0
@in(r0.x)	in0 (wrmask=0x7)
mov.u32u32 r0.w, 0
l39:
(ss)(nop2) isam.v.base0 (u32)(xyzw)r11.z, r6.y, s#0, t#4
ldib.b.untyped.1d.u32.1.imm.base0 r4.x, r1.x, 2
(sy)(rpt3)mad.f32 r0.x, (r)r1.x, r2.x, (r)r0.x
dp4acc.signed r3.x, r4.x, r5.x, r3.x
(rpt1)nop
l50:
shrm r7.x, 4, r6.x, c0.x
mad.f16 hr0.x, hr1.x, hr2.x, hr0.x
ldl.u32 r5.x, l[r9.x], 4
br p0.x, #l50
mul.f r9.x, r9.x, c1.x
jump #l39
end
"""

VALHALL = """\
   IADD_IMM.i32 r0, 0x0, #0x0
   LD_PKA.i128.unsigned.slot0 @r4:r5:r6:r7, r2, 0x1000001
   FMA.f32 r8, r4, r5, r8^
   FMA.v2f16 r9, r4.h01, r5.h00, r9^
   FMA.v2f16 r9, r4.h00, r5.h11, 0x0
   IDPADD.v4s8 r10, r4, r5, r10^
   LSHIFT_AND.i32 r11, r6, 0x0.b00, u4
   STORE.i32.slot0 @r8, thread_local_pointer.w0, offset:16
   NOP.wait0
   BRANCHZ.eq.reconverge r3^, offset:-9
   STORE.i32.slot0 @r8, [r0:r1], offset:0
   END
"""

BIFROST = """\
clause_0:
ds(0) nbb next_store dwb(0)
{
    *NOP t0
    +MOV.i32 t1, 0x00000080
}
clause_4:
ds(0) nbb next_store dwb(0)
{
    *FMA.f32 r0:t0, r1, r2, r0
    +LOAD.i128 t1, r13, r14, @r52
    *IADD.s32 t0, r1, r2
    +LOAD.i32.tl t1, 0x0000000c, 0x00000000, @r14
    *NOP t0
    +LOAD.i64 t1, u2.w0, u2.w1, @r14
    *NOP t0
    +BRANCHZ.i16.eq t1, t1.h0, clause_4
}
"""


def count(program, kind):
    return sum(i.count for i in program if i.kind == kind)


class Ir3(unittest.TestCase):
    def setUp(self):
        self.program = disassembly.parse(IR3)

    def test_repetitions_and_nops(self):
        self.assertEqual(sum(i.count for i in self.program), 1 + 1 + 1 + 4 + 1 + 0 + 1 + 1 + 1 + 1 + 1 + 1 + 1)
        self.assertEqual(sum(i.nops for i in self.program), 2 + 2)

    def test_multiply_adds(self):
        self.assertEqual([i.macs for i in self.program if i.kind == "fma"], [4, 4, 1])

    def test_loads(self):
        loads = [(i.buffer, i.width) for i in self.program if i.kind == "load"]
        self.assertEqual(loads, [("4", 16), ("2", 4)])
        self.assertEqual([i.width for i in self.program if i.kind == "shared"], [16])

    def test_kinds(self):
        self.assertEqual([count(self.program, k) for k in ("bit", "float", "mov", "branch")], [1, 1, 1, 3])

    def test_loops(self):
        (outer,) = disassembly.find_loops(self.program)
        self.assertEqual((outer.first, outer.last), (1, 11))
        (inner,) = outer.children
        self.assertEqual((inner.first, inner.last), (6, 9))


class Valhall(unittest.TestCase):
    def setUp(self):
        self.program = disassembly.parse(VALHALL)

    def test_multiply_adds(self):
        # The second packed one has single halves everywhere: both lanes compute one product.
        self.assertEqual([i.macs for i in self.program if i.kind == "fma"], [1, 2, 1, 4])

    def test_memory(self):
        self.assertEqual([(i.buffer, i.width) for i in self.program if i.kind == "load"], [("0x1000001", 16)])
        self.assertEqual((count(self.program, "local"), count(self.program, "store")), (1, 1))

    def test_loop(self):
        (loop,) = disassembly.find_loops(self.program)
        self.assertEqual((loop.first, loop.last), (1, 9))
        self.assertEqual(sum(i.nops for i in self.program), 1)


class Bifrost(unittest.TestCase):
    def setUp(self):
        self.program = disassembly.parse(BIFROST)

    def test_memory(self):
        self.assertEqual([(i.kind, i.width) for i in self.program if i.opcode.startswith("LOAD")],
                         [("load", 16), ("local", 4), ("descriptor", 8)])

    def test_loop_and_nops(self):
        (loop,) = disassembly.find_loops(self.program)
        body = self.program[loop.first:loop.last + 1]
        self.assertEqual((sum(i.count for i in body), sum(i.nops for i in body)), (6, 2))
        self.assertEqual(sum(i.macs for i in body), 1)


if __name__ == "__main__":
    unittest.main()
