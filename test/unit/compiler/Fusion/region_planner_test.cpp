// SPDX-License-Identifier: Apache-2.0
//
// Region planning on hand-made graphs, and its promises on random ones.

#include "compiler/Fusion/RegionPlanner.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace {

using llmc::fusion::NodeKind;
using llmc::fusion::PlannedRegion;
using llmc::fusion::PlanNode;
using llmc::fusion::planRegions;

using Bodies = std::vector<std::vector<int>>;

PlanNode node(NodeKind kind, std::vector<int> operands = {}, int type = 0) {
  PlanNode node;
  node.kind = kind;
  node.operands = std::move(operands);
  node.type = type;
  return node;
}

PlanNode linear(std::vector<int> operands, int linearClass, int type = 0) {
  PlanNode result = node(NodeKind::Linear, std::move(operands), type);
  result.linearClass = linearClass;
  return result;
}

PlanNode kept(PlanNode node) {
  node.isKept = true;
  return node;
}

Bodies bodiesOf(const std::vector<PlannedRegion> &regions) {
  Bodies bodies;
  for (const PlannedRegion &region : regions)
    bodies.push_back(region.body);
  return bodies;
}

TEST(RegionPlannerTest, ResidualJoinsTheLinearBeforeIt) {
  std::vector<PlanNode> nodes = {
      node(NodeKind::Embedding),                 // 0
      linear({0}, 0),                            // 1
      kept(node(NodeKind::Elementwise, {0, 1})), // 2: residual
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 1)), (Bodies{{0}, {1, 2}}));
}

// B, C and x are slices of the input projection; the output projection follows.
TEST(RegionPlannerTest, GatesJoinTheConvolutionBetweenThem) {
  std::vector<PlanNode> nodes = {
      linear({}, 0, 1),                    // 0: input projection
      node(NodeKind::Slice, {0}),          // 1: B
      node(NodeKind::Slice, {0}),          // 2: C
      node(NodeKind::Slice, {0}),          // 3: x
      node(NodeKind::Elementwise, {1, 3}), // 4: B * x
      node(NodeKind::Leaf, {}, 2),         // 5: taps
      node(NodeKind::Conv, {4, 5}),        // 6
      node(NodeKind::Elementwise, {2, 6}), // 7: C * conv
      kept(linear({7}, 1)),                // 8: output projection
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 1)),
            (Bodies{{0}, {1, 2, 3, 4, 5, 6, 7}, {8}}));
}

// A norm behind a sum is no part of the linears that read it, whatever the
// rows: the sum that follows reads it too.
TEST(RegionPlannerTest, RowNormsStandAloneWithTheSumOnlyTheyRead) {
  std::vector<PlanNode> nodes = {
      node(NodeKind::Embedding),           // 0: tokens
      node(NodeKind::Embedding),           // 1: positions
      node(NodeKind::Elementwise, {0, 1}), // 2: sum
      node(NodeKind::RowNorm, {2}),        // 3
      linear({3}, 0),                      // 4
      node(NodeKind::Elementwise, {3, 4}), // 5: residual
      kept(node(NodeKind::RowNorm, {5})),  // 6
  };
  for (int64_t rows : {1, 128})
    EXPECT_EQ(bodiesOf(planRegions(nodes, rows)),
              (Bodies{{0}, {1}, {2, 3}, {4, 5}, {6}}));
}

TEST(RegionPlannerTest, APoolJoinsTheNormThatAloneReadsIt) {
  std::vector<PlanNode> nodes = {
      kept(node(NodeKind::RowNorm)),      // 0: rows
      node(NodeKind::Pool, {0}),          // 1
      kept(node(NodeKind::RowNorm, {1})), // 2: length 1
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 128)), (Bodies{{0}, {1, 2}}));
  nodes[1].isKept = true;
  EXPECT_EQ(bodiesOf(planRegions(nodes, 128)), (Bodies{{0}, {1}, {2}}));
}

TEST(RegionPlannerTest, GateAndUpOfOneClassShareARegion) {
  std::vector<PlanNode> nodes = {
      linear({}, 7),                             // 0: gate
      node(NodeKind::Elementwise, {0}),          // 1: silu
      linear({}, 7),                             // 2: up
      kept(node(NodeKind::Elementwise, {1, 2})), // 3: mul
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 1)), (Bodies{{0, 1, 2, 3}}));
}

TEST(RegionPlannerTest, ActivationMovesToTheLaterLinearOfAnotherClass) {
  std::vector<PlanNode> nodes = {
      linear({}, 7),                             // 0: gate
      node(NodeKind::Elementwise, {0}),          // 1: silu
      linear({}, 8),                             // 2: up
      kept(node(NodeKind::Elementwise, {1, 2})), // 3: mul
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 1)), (Bodies{{0}, {1, 2, 3}}));
}

TEST(RegionPlannerTest, LinearsOfOneClassWithTwoResultsStayApart) {
  std::vector<PlanNode> nodes = {
      kept(linear({}, 7)),
      kept(linear({}, 7)),
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 1)), (Bodies{{0}, {1}}));
}

TEST(RegionPlannerTest, NormIsCopiedIntoItsLinearsWhenRowsAreFew) {
  std::vector<PlanNode> nodes = {
      node(NodeKind::Leaf),         // 0: gain
      node(NodeKind::SelectRows),   // 1
      node(NodeKind::Norm, {1, 0}), // 2
      kept(linear({2}, 0)),         // 3
      kept(linear({2}, 1)),         // 4
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 8)),
            (Bodies{{0, 1, 2, 3}, {0, 1, 2, 4}}));
  EXPECT_EQ(bodiesOf(planRegions(nodes, 9)), (Bodies{{0, 1, 2}, {3}, {4}}));
}

TEST(RegionPlannerTest, QuantizationJoinsWhatComputesItsInput) {
  std::vector<PlanNode> nodes = {
      node(NodeKind::Norm),                // 0
      node(NodeKind::Quantize, {0}),       // 1
      linear({1}, 7),                      // 2: gate
      linear({1}, 7),                      // 3: up
      node(NodeKind::Elementwise, {2}),    // 4: silu
      node(NodeKind::Elementwise, {4, 3}), // 5: mul
      node(NodeKind::Quantize, {5}),       // 6
      linear({6}, 8),                      // 7
      node(NodeKind::Sdpa, {7}),           // 8
      node(NodeKind::Reshape, {8}),        // 9
      node(NodeKind::Quantize, {9}),       // 10
      kept(linear({10}, 9)),               // 11
  };
  std::vector<PlannedRegion> regions = planRegions(nodes, 32);
  EXPECT_EQ(bodiesOf(regions),
            (Bodies{{0, 1}, {2, 3, 4, 5, 6}, {7}, {8, 9, 10}, {11}}));
  EXPECT_EQ(regions[1].results, std::vector<int>{6});
  EXPECT_EQ(regions[3].results, std::vector<int>{10});
}

TEST(RegionPlannerTest, WhatIsQuantizedIsAResultWhereSomethingElseReadsIt) {
  std::vector<PlanNode> nodes = {
      node(NodeKind::Elementwise),   // 0
      node(NodeKind::Quantize, {0}), // 1
      kept(linear({1}, 7)),          // 2
      kept(linear({0}, 8)),          // 3: of floats
  };
  std::vector<PlannedRegion> regions = planRegions(nodes, 32);
  EXPECT_EQ(bodiesOf(regions), (Bodies{{0, 1}, {2}, {3}}));
  EXPECT_EQ(regions[0].results, (std::vector<int>{0, 1}));
}

TEST(RegionPlannerTest, QuantizationOfAnEmbeddingOrAnArgumentStandsAlone) {
  std::vector<PlanNode> nodes = {
      node(NodeKind::Embedding),     // 0
      node(NodeKind::Quantize, {0}), // 1
      kept(linear({1}, 7)),          // 2
      node(NodeKind::Quantize),      // 3: of an argument
      kept(linear({3}, 8)),          // 4
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 32)),
            (Bodies{{0}, {1}, {2}, {3}, {4}}));
}

TEST(RegionPlannerTest, NormWithAnotherUserStandsAlone) {
  std::vector<PlanNode> nodes = {
      kept(node(NodeKind::Norm)),
      kept(linear({0}, 0)),
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 1)), (Bodies{{0}, {1}}));
}

TEST(RegionPlannerTest, HeadsOfOneAttentionShareARegion) {
  std::vector<PlanNode> nodes = {
      linear({}, 0, 0),                   // 0: query
      linear({}, 1, 1),                   // 1: key and value
      node(NodeKind::Reshape, {0}, 2),    // 2
      node(NodeKind::HeadNorm, {2}, 2),   // 3
      node(NodeKind::Head, {3}, 2),       // 4: rotary
      node(NodeKind::Slice, {1}, 3),      // 5
      node(NodeKind::Head, {5}, 3),       // 6: rotary
      kept(node(NodeKind::Head, {6}, 3)), // 7: kv_append
      node(NodeKind::Slice, {1}, 3),      // 8
      kept(node(NodeKind::Head, {8}, 3)), // 9: kv_append
      node(NodeKind::Sdpa, {4, 7, 9}, 2), // 10
      node(NodeKind::Reshape, {10}, 0),   // 11
      kept(linear({11}, 2, 0)),           // 12
  };
  std::vector<PlannedRegion> regions = planRegions(nodes, 1);
  EXPECT_EQ(bodiesOf(regions),
            (Bodies{{0}, {1}, {2, 3, 4, 5, 6, 7, 8, 9}, {10, 11}, {12}}));
  EXPECT_EQ(regions[2].root, 4);
  EXPECT_EQ(regions[2].results, (std::vector<int>{4, 7, 9}));
  EXPECT_EQ(regions[3].results, (std::vector<int>{11}));
}

TEST(RegionPlannerTest, NormAfterRotaryIsNoPartOfTheHeads) {
  std::vector<PlanNode> nodes = {
      node(NodeKind::Head),                  // 0: rotary
      node(NodeKind::HeadNorm, {0}),         // 1
      kept(node(NodeKind::Head, {1})),       // 2: kv_append
      kept(node(NodeKind::Sdpa, {2, 2, 2})), // 3
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 1)), (Bodies{{0}, {1}, {2}, {3}}));
}

TEST(RegionPlannerTest, ElementwiseOpDoesNotJoinThroughAView) {
  std::vector<PlanNode> nodes = {
      linear({}, 0, 0),                             // 0
      node(NodeKind::Slice, {0}, 0),                // 1
      kept(node(NodeKind::Elementwise, {0, 1}, 0)), // 2
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 1)), (Bodies{{0}, {1, 2}}));
}

TEST(RegionPlannerTest, ElementwiseOpWhoseOtherOperandComesLaterStaysOut) {
  // 0 → attention 1 → 2 = 0 + 1: joining 2 to 0 would run 1 in between.
  std::vector<PlanNode> nodes = {
      linear({}, 0),                             // 0
      node(NodeKind::Other, {0}),                // 1
      kept(node(NodeKind::Elementwise, {0, 1})), // 2
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 1)), (Bodies{{0}, {1}, {2}}));
}

TEST(RegionPlannerTest, ReturnedViewIsARegion) {
  std::vector<PlanNode> nodes = {
      linear({}, 0, 0),                    // 0
      kept(node(NodeKind::Slice, {0}, 1)), // 1
      kept(node(NodeKind::Leaf, {}, 1)),   // 2
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 1)), (Bodies{{0}, {1}, {2}}));
}

TEST(RegionPlannerTest, EmbeddingTakesAFactorButNoTensor) {
  std::vector<PlanNode> nodes = {
      node(NodeKind::Leaf),                      // 0
      node(NodeKind::Embedding),                 // 1
      node(NodeKind::Elementwise, {1, 0}),       // 2: times a constant
      node(NodeKind::Other),                     // 3
      kept(node(NodeKind::Elementwise, {2, 3})), // 4
  };
  EXPECT_EQ(bodiesOf(planRegions(nodes, 1)), (Bodies{{0, 1, 2}, {3}, {4}}));
}

//===----------------------------------------------------------------------===//
// Random graphs
//===----------------------------------------------------------------------===//

std::vector<PlanNode> makeRandomGraph(std::mt19937 &random) {
  auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  std::vector<PlanNode> nodes;
  int numNodes = 5 + below(40);
  std::map<std::vector<int>, int> classes;
  for (int id = 0; id != numNodes; ++id) {
    PlanNode next;
    next.kind =
        static_cast<NodeKind>(below(static_cast<int>(NodeKind::Other) + 1));
    // A view is of one value.
    bool isView =
        next.kind == NodeKind::Slice || next.kind == NodeKind::Reshape;
    int numOperands = next.kind == NodeKind::Leaf ? 0 : below(isView ? 2 : 3);
    for (int i = 0; i != numOperands && id != 0; ++i)
      next.operands.push_back(id - 1 - below(std::min(id, 8)));
    next.type = below(2);
    next.linearClass =
        classes.try_emplace(next.operands, static_cast<int>(classes.size()))
            .first->second;
    next.isKept = below(6) == 0;
    nodes.push_back(next);
  }
  return nodes;
}

TEST(RegionPlannerTest, RandomGraphsAreCoveredInOrder) {
  std::mt19937 random(1);
  for (int round = 0; round != 2000; ++round) {
    std::vector<PlanNode> nodes = makeRandomGraph(random);
    std::set<int> available;
    for (const PlannedRegion &region : planRegions(nodes, 1 + round % 16)) {
      std::set<int> inside;
      for (int id : region.body) {
        for (int operand : nodes[id].operands)
          ASSERT_TRUE(inside.count(operand) || available.count(operand))
              << "round " << round << ", node " << id;
        inside.insert(id);
      }
      ASSERT_TRUE(inside.count(region.root));
      for (int result : region.results) {
        ASSERT_TRUE(inside.count(result));
        ASSERT_TRUE(available.insert(result).second)
            << "round " << round << ": result " << result << " of two regions";
      }
    }
    for (int id = 0; id != static_cast<int>(nodes.size()); ++id)
      ASSERT_TRUE(!nodes[id].isKept || available.count(id))
          << "round " << round << ", node " << id;
  }
}

} // namespace
