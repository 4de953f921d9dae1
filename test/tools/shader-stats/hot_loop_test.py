# SPDX-License-Identifier: Apache-2.0
"""Loops of a SPIR-V module, and instructions per multiply-add of the nest that a driver made of it; expected figures by hand."""

import unittest

import stats_testing
from shader_stats import hot_loop, spirv

CODE = stats_testing.assemble(stats_testing.NESTED_LOOPS)

# What an Adreno might make of it: 5 instructions and a load in the outer loop, 2 + 32 + 3 in the inner one.
NESTED = """\
Native code for unnamed CL shader (null) with blake3 00:
l1:
isam.v.base0 (u32)(x)r11.z, r6.y, s#0, t#4
add.u r1.x, r1.x, 1
l2:
isam.v.base0 (u32)(xyzw)r12.x, r6.y, s#0, t#2
isam.v.base0 (u32)(xyzw)r13.x, r6.y, s#0, t#0
isam.v.base0 (u32)(xyzw)r14.x, r6.y, s#0, t#0
(rpt31)(nop1) mad.f32 r0.x, r1.x, r2.x, r0.x
(rpt1)mad.f32 r0.x, r1.x, r2.x, r0.x
br p0.x, #l2
(rpt3)mul.f r9.x, r9.x, c1.x
jump #l1
end
"""
WEIGHTS = hot_loop.Weights({1: 4}, 1)


class Spirv(unittest.TestCase):
    def test_nest(self):
        (outer,) = spirv.Kernel(CODE).loops
        (inner,) = outer.children
        # Each lane begins at a place of its own below the step: 64 groups, every eighth.
        self.assertEqual((outer.trips, inner.trips), (8, 4))
        self.assertEqual(outer.loads, {2: [4]})
        self.assertEqual(inner.loads, {1: [16], 0: [16, 16]})

    def test_bounds_that_are_carried(self):
        text = stats_testing.NESTED_LOOPS.replace("%scale_place =", "%inner_end = OpIAdd %uint %group %inner_bound\n%scale_place =")
        text = text.replace("%k = OpPhi %uint %zero", "%k = OpPhi %uint %group").replace("%k %inner_bound", "%k %inner_end")
        (outer,) = spirv.Kernel(stats_testing.assemble(text)).loops
        self.assertEqual((outer.trips, outer.children[0].trips), (8, 4))

    def test_bounds_that_skip_the_loop(self):
        text = stats_testing.NESTED_LOOPS.replace(
            "%scale_place =", "%some = OpULessThan %bool %zero %lane\n%inner_end = OpSelect %uint %some %inner_bound %zero\n%scale_place =")
        text = text.replace("%k %inner_bound", "%k %inner_end")
        (outer,) = spirv.Kernel(stats_testing.assemble(text)).loops
        self.assertEqual(outer.children[0].trips, 4)

    def test_loops_over_parts(self):
        """The outer loop takes eight groups at a time, but not beyond the last; each lane of the inner one begins at a place of its own."""
        text = stats_testing.NESTED_LOOPS.replace(
            "%scale_place =",
            "%part_end = OpIAdd %uint %group %lanes\n%inner_end = OpExtInst %uint %glsl UMin %part_end %outer_bound\n"
            "%place_of_lane = OpIMul %uint %lane %two\n%inner_begin = OpIAdd %uint %group %place_of_lane\n%scale_place =")
        text = text.replace("%k = OpPhi %uint %zero", "%k = OpPhi %uint %inner_begin").replace("%k %inner_bound", "%k %inner_end")
        (outer,) = spirv.Kernel(stats_testing.assemble(text)).loops
        self.assertEqual((outer.trips, outer.children[0].trips), (8, 4))

    def test_what_is_left_of_a_part(self):
        """The number of groups in a part, as the end less the beginning."""
        text = stats_testing.NESTED_LOOPS.replace(
            "%scale_place =",
            "%part_end = OpIAdd %uint %group %lanes\n%end = OpExtInst %uint %glsl UMin %part_end %outer_bound\n"
            "%left = OpISub %uint %end %group\n%quads = OpIMul %uint %left %two\n%inner_end = OpUDiv %uint %quads %one\n%scale_place =")
        text = text.replace("%k %inner_bound", "%k %inner_end")
        (outer,) = spirv.Kernel(stats_testing.assemble(text)).loops
        self.assertEqual(outer.children[0].trips, 8)

    def test_bounds_that_are_not_known(self):
        text = stats_testing.NESTED_LOOPS.replace("%k %inner_bound", "%k %lane")
        (outer,) = spirv.Kernel(stats_testing.assemble(text)).loops
        self.assertIsNone(outer.children[0].trips)

    def test_damaged_modules(self):
        for code in (b"", CODE[:18], b"\0" * 40, CODE[:-2], CODE[:20] + b"\0" * 8):
            with self.assertRaises(ValueError):
                spirv.Kernel(code)


class HotLoop(unittest.TestCase):
    def test_outer_loop_is_counted_in_proportion(self):
        hot = hot_loop.find_hot_loop(NESTED, CODE, WEIGHTS)
        inner = 3 + 32 + 2 + 1
        self.assertEqual(hot.instructions, (2 + 4 + 1) + 4 * inner)
        self.assertEqual(hot.nops, 4)
        # 4 loads of 16 bytes hold 32 codes of 4 bits each.
        self.assertEqual(hot.macs, 4 * 32)
        self.assertAlmostEqual(hot.per_mac, 159 / 128)
        self.assertAlmostEqual(hot.loads_per_mac, (1 + 4 * 3) / 128)
        self.assertEqual(hot.weight_bytes_per_load, 16)
        self.assertEqual(hot.doubt, "")

    def test_rows_of_activations(self):
        self.assertEqual(hot_loop.find_hot_loop(NESTED, CODE, hot_loop.Weights({1: 8}, 2)).macs, 4 * 16 * 2)

    def test_missing_multiply_adds_are_noticed(self):
        hot = hot_loop.find_hot_loop(NESTED, CODE, hot_loop.Weights({1: 4}, 2))
        self.assertIn("136 multiply-adds found, 256 expected", hot.doubt)

    def test_narrow_loads_are_noticed(self):
        narrow = NESTED.replace("isam.v.base0 (u32)(xyzw)r12.x, r6.y, s#0, t#2",
                                "isam.v.base0 (u32)(xy)r12.x, r6.y, s#0, t#2\nisam.v.base0 (u32)(xy)r12.z, r6.y, s#0, t#2")
        self.assertEqual(hot_loop.find_hot_loop(narrow, CODE, WEIGHTS).weight_bytes_per_load, 8)

    def test_other_kernels_count_their_multiply_adds(self):
        self.assertEqual(hot_loop.find_hot_loop(NESTED, CODE).macs, 4 * 34)

    def test_a_loop_that_the_driver_added(self):
        added = NESTED.replace("(rpt3)mul.f", "l3:\nbr p0.x, #l3\n(rpt3)mul.f")
        hot = hot_loop.find_hot_loop(added, CODE, WEIGHTS)
        self.assertEqual(hot.instructions, 38)
        self.assertIn("outer loop could not be counted", hot.doubt)

    def test_no_loop(self):
        self.assertIsNone(hot_loop.find_hot_loop("Native code\nmov.u32u32 r0.w, 0\nend\n", CODE))


if __name__ == "__main__":
    unittest.main()
