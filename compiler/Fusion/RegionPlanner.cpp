// SPDX-License-Identifier: Apache-2.0
//
// Region planning: first the ops that move into their readers, then regions
// root by root, then their order. A set of ops may become a region if no path
// leaves it and comes back, with every region so far taken as one step.

#include "compiler/Fusion/RegionPlanner.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>

namespace llmc::fusion {

namespace {

constexpr int kNone = -1;

/// Ordered, so that every walk over it is deterministic.
using NodeSet = std::set<int>;

class RegionPlanner {
public:
  RegionPlanner(const std::vector<PlanNode> &nodes, int64_t rows)
      : nodes(nodes), users(nodes.size()), isCopied(nodes.size(), false),
        reads(nodes.size()), readers(nodes.size()),
        regionOf(nodes.size(), kNone) {
    for (int id = 0; id != numNodes(); ++id)
      for (int operand : nodes[id].operands)
        users[operand].insert(id);
    chooseCopied(rows);
    keepViewsOfAttention();
    collectReads();
  }

  std::vector<PlannedRegion> plan();

private:
  /// Which element-wise ops a root takes along.
  enum class Neighbours { All, WithLeaves };

  int numNodes() const { return static_cast<int>(nodes.size()); }
  NodeKind kind(int id) const { return nodes[id].kind; }
  bool isFree(int id) const { return !isCopied[id] && regionOf[id] == kNone; }

  // Preparation.
  bool allUsersAre(int id, NodeKind wanted) const;
  void chooseCopied(int64_t rows);
  std::vector<int> reshapesBehind(int id) const;
  void keepViewsOfAttention();
  void addReads(int id, NodeSet &found) const;
  void collectReads();

  // Questions about sets of nodes.
  bool canRunAsOne(const NodeSet &set) const;
  NodeSet resultsOf(const NodeSet &set) const;
  bool readsThroughCopies(int id, const NodeSet &set) const;

  // Regions.
  void addRegion(int root, const NodeSet &set);
  void addActivations(int id, NodeSet &set) const;
  bool canJoin(int id, const NodeSet &set, int type, Neighbours which) const;
  NodeSet grow(const NodeSet &roots, Neighbours which) const;
  NodeSet withQuantization(NodeSet set) const;
  void formLinear(int linear);
  void addHeads(int id, NodeSet &set) const;
  void formHeads(const std::vector<int> &operands);
  void addProducers(int id, NodeSet &set) const;
  void formWithProducers(NodeKind wanted);
  void formWithNeighbours(NodeKind wanted, Neighbours which);
  void formAttention();

  // Result.
  PlannedRegion describe(int region) const;
  std::vector<int> orderRegions() const;

  const std::vector<PlanNode> &nodes;
  std::vector<NodeSet> users;
  /// Whether the node moves into its readers.
  std::vector<bool> isCopied;
  /// The nodes a node reads, or is read by, looking through copied ones.
  std::vector<NodeSet> reads;
  std::vector<NodeSet> readers;
  std::vector<int> regionOf;
  std::vector<NodeSet> regions;
  std::vector<int> roots;
};

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

bool RegionPlanner::allUsersAre(int id, NodeKind wanted) const {
  return !users[id].empty() &&
         std::all_of(users[id].begin(), users[id].end(),
                     [&](int user) { return kind(user) == wanted; });
}

void RegionPlanner::chooseCopied(int64_t rows) {
  for (int id = 0; id != numNodes(); ++id) {
    if (nodes[id].isKept)
      continue;
    switch (kind(id)) {
    case NodeKind::Leaf:
    case NodeKind::Slice:
    case NodeKind::Reshape:
      isCopied[id] = true;
      break;
    case NodeKind::Norm:
      isCopied[id] =
          rows <= kMaxRowsOfFusedNorm && allUsersAre(id, NodeKind::Linear);
      break;
    case NodeKind::SelectRows:
      isCopied[id] = allUsersAre(id, NodeKind::Norm);
      break;
    default:
      break;
    }
  }
}

/// The reshapes that alone read the result of |id|, one after the other.
std::vector<int> RegionPlanner::reshapesBehind(int id) const {
  std::vector<int> reshapes;
  while (!nodes[id].isKept && users[id].size() == 1) {
    id = *users[id].begin();
    if (kind(id) != NodeKind::Reshape)
      break;
    reshapes.push_back(id);
  }
  return reshapes;
}

/// Reshapes behind attention are how its result is stored.
void RegionPlanner::keepViewsOfAttention() {
  for (int id = 0; id != numNodes(); ++id)
    if (kind(id) == NodeKind::Sdpa)
      for (int reshape : reshapesBehind(id))
        isCopied[reshape] = false;
}

void RegionPlanner::addReads(int id, NodeSet &found) const {
  for (int operand : nodes[id].operands) {
    if (isCopied[operand])
      addReads(operand, found);
    else
      found.insert(operand);
  }
}

void RegionPlanner::collectReads() {
  for (int id = 0; id != numNodes(); ++id) {
    if (isCopied[id])
      continue;
    addReads(id, reads[id]);
    for (int read : reads[id])
      readers[read].insert(id);
  }
}

//===----------------------------------------------------------------------===//
// Questions about sets of nodes
//===----------------------------------------------------------------------===//

/// Whether no path leaves |set| and comes back.
bool RegionPlanner::canRunAsOne(const NodeSet &set) const {
  std::vector<bool> isVisited(nodes.size(), false);
  std::vector<int> worklist;
  // Gives whether a reader is in |set|, once the path has left it.
  auto visitReaders = [&](int id) {
    bool reachesSet = false;
    for (int reader : readers[id]) {
      reachesSet |= set.count(reader) != 0;
      if (set.count(reader) || isVisited[reader])
        continue;
      isVisited[reader] = true;
      worklist.push_back(reader);
      if (regionOf[reader] == kNone)
        continue;
      for (int member : regions[regionOf[reader]])
        if (!isVisited[member]) {
          isVisited[member] = true;
          worklist.push_back(member);
        }
    }
    return reachesSet;
  };
  for (int id : set)
    visitReaders(id);
  while (!worklist.empty()) {
    int id = worklist.back();
    worklist.pop_back();
    if (visitReaders(id))
      return false;
  }
  return true;
}

/// The nodes of |set| whose results something outside reads.
NodeSet RegionPlanner::resultsOf(const NodeSet &set) const {
  NodeSet results;
  for (int id : set)
    if (nodes[id].isKept ||
        std::any_of(readers[id].begin(), readers[id].end(),
                    [&](int reader) { return !set.count(reader); }))
      results.insert(id);
  return results;
}

/// Whether |id| reads a node of |set| through a view or another copied node.
bool RegionPlanner::readsThroughCopies(int id, const NodeSet &set) const {
  for (int operand : nodes[id].operands) {
    if (!isCopied[operand])
      continue;
    NodeSet found;
    addReads(operand, found);
    if (std::any_of(found.begin(), found.end(),
                    [&](int read) { return set.count(read) != 0; }))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Growing a region
//===----------------------------------------------------------------------===//

void RegionPlanner::addRegion(int root, const NodeSet &set) {
  for (int id : set)
    regionOf[id] = static_cast<int>(regions.size());
  regions.push_back(set);
  roots.push_back(root);
}

/// Adds the functions of one operand (silu) that only |id| reads: its region
/// computes them on the way.
void RegionPlanner::addActivations(int id, NodeSet &set) const {
  for (int operand : nodes[id].operands) {
    bool isActivation = kind(operand) == NodeKind::Elementwise &&
                        nodes[operand].operands.size() == 1 &&
                        nodes[operand].type == nodes[id].type;
    if (!isActivation || !isFree(operand) || nodes[operand].isKept ||
        users[operand].size() != 1 || set.count(operand))
      continue;
    set.insert(operand);
    addActivations(operand, set);
  }
}

/// Whether element-wise op |id|, which reads |set|, may join it.
bool RegionPlanner::canJoin(int id, const NodeSet &set, int type,
                            Neighbours which) const {
  if (kind(id) != NodeKind::Elementwise || !isFree(id) ||
      nodes[id].type != type || readsThroughCopies(id, set))
    return false;
  if (which == Neighbours::All)
    return true;
  return std::all_of(
      nodes[id].operands.begin(), nodes[id].operands.end(), [&](int operand) {
        return set.count(operand) || kind(operand) == NodeKind::Leaf;
      });
}

/// |roots| and element-wise ops behind them, as many as leave one result. Gives
/// |roots| if there are none.
NodeSet RegionPlanner::grow(const NodeSet &roots, Neighbours which) const {
  int type = nodes[*roots.rbegin()].type;
  NodeSet set = roots;
  NodeSet rejected;
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    NodeSet candidates;
    for (int id : set)
      for (int reader : readers[id])
        if (!set.count(reader) && !rejected.count(reader))
          candidates.insert(reader);
    for (int id : candidates) {
      NodeSet grown = set;
      grown.insert(id);
      addActivations(id, grown);
      if (canJoin(id, set, type, which) && canRunAsOne(grown)) {
        set = grown;
        hasChanged = true;
        break;
      }
      rejected.insert(id);
    }
  }
  while (set.size() > roots.size() && resultsOf(set).size() > 1)
    set.erase(*std::find_if(set.rbegin(), set.rend(),
                            [&](int id) { return !roots.count(id); }));
  return set;
}

/// |set| and the op that quantizes a result of it, if there is one: what
/// computes activations quantizes them too.
NodeSet RegionPlanner::withQuantization(NodeSet set) const {
  for (int result : resultsOf(set))
    for (int user : users[result]) {
      NodeSet grown = set;
      grown.insert(user);
      if (kind(user) == NodeKind::Quantize && isFree(user) &&
          canRunAsOne(grown))
        return grown;
    }
  return set;
}

//===----------------------------------------------------------------------===//
// Regions by root
//===----------------------------------------------------------------------===//

/// With the closest earlier linear of the same class that leaves one result
/// with it, or else alone.
void RegionPlanner::formLinear(int linear) {
  for (int partner = linear - 1; partner >= 0; --partner) {
    if (kind(partner) != NodeKind::Linear || !isFree(partner) ||
        nodes[partner].linearClass != nodes[linear].linearClass ||
        !canRunAsOne({partner, linear}))
      continue;
    NodeSet both = grow({partner, linear}, Neighbours::All);
    if (resultsOf(both).size() == 1)
      return addRegion(linear, withQuantization(both));
  }
  addRegion(linear, withQuantization(grow({linear}, Neighbours::All)));
}

/// Adds |id|, a rotary or kv_append, and what prepares its heads.
void RegionPlanner::addHeads(int id, NodeSet &set) const {
  if (!isFree(id))
    return;
  if (kind(id) == NodeKind::Head) {
    set.insert(id);
    for (int read : reads[id])
      addHeads(read, set);
    return;
  }
  bool isRotatedBefore =
      std::any_of(reads[id].begin(), reads[id].end(),
                  [&](int read) { return kind(read) == NodeKind::Head; });
  if (kind(id) == NodeKind::HeadNorm && !isRotatedBefore)
    set.insert(id);
}

/// One region for the heads that are read as |operands|, named by the first
/// rotary or kv_append.
void RegionPlanner::formHeads(const std::vector<int> &operands) {
  NodeSet set;
  for (int operand : operands)
    if (kind(operand) == NodeKind::Head)
      addHeads(operand, set);
  auto root = std::find_if(set.begin(), set.end(),
                           [&](int id) { return kind(id) == NodeKind::Head; });
  if (root != set.end() && canRunAsOne(set))
    addRegion(*root, set);
}

/// Attention, its reshapes, and the heads it reads.
void RegionPlanner::formAttention() {
  for (int id = 0; id != numNodes(); ++id) {
    if (kind(id) != NodeKind::Sdpa)
      continue;
    NodeSet set = {id};
    for (int reshape : reshapesBehind(id))
      set.insert(reshape);
    addRegion(id, withQuantization(set));
    formHeads({reads[id].begin(), reads[id].end()});
  }
  for (int id = numNodes() - 1; id >= 0; --id)
    if (kind(id) == NodeKind::Head && isFree(id))
      formHeads({id});
}

/// Adds what only |id| reads and what is computed on the way to it:
/// element-wise ops, and the pool under a norm.
void RegionPlanner::addProducers(int id, NodeSet &set) const {
  for (int operand : nodes[id].operands) {
    bool isElementwise = kind(operand) == NodeKind::Elementwise;
    bool isPooled =
        kind(operand) == NodeKind::Pool && kind(id) == NodeKind::RowNorm;
    if ((!isElementwise && !isPooled) || !isFree(operand) ||
        nodes[operand].isKept || users[operand].size() != 1 ||
        nodes[operand].type != nodes[id].type || !set.insert(operand).second)
      continue;
    if (isElementwise)
      addProducers(operand, set);
  }
}

/// A convolution does not quantize: each of its invocations has a few columns.
void RegionPlanner::formWithProducers(NodeKind wanted) {
  for (int id = 0; id != numNodes(); ++id) {
    if (kind(id) != wanted || !isFree(id))
      continue;
    NodeSet set = {id};
    addProducers(id, set);
    // A producer may read a region that reads the root.
    if (!canRunAsOne(set))
      set = {id};
    set = grow(set, Neighbours::All);
    addRegion(id, wanted == NodeKind::Conv ? set : withQuantization(set));
  }
}

void RegionPlanner::formWithNeighbours(NodeKind wanted, Neighbours which) {
  for (int id = 0; id != numNodes(); ++id)
    if (kind(id) == wanted && isFree(id))
      addRegion(id, which == Neighbours::All
                        ? withQuantization(grow({id}, which))
                        : grow({id}, which));
}

std::vector<PlannedRegion> RegionPlanner::plan() {
  // Backwards, so that what two linears lead to joins the later one, whose
  // input is not older.
  for (int id = numNodes() - 1; id >= 0; --id)
    if (kind(id) == NodeKind::Linear && isFree(id))
      formLinear(id);
  formWithNeighbours(NodeKind::Embedding, Neighbours::WithLeaves);
  formAttention();
  formWithProducers(NodeKind::Conv);
  formWithNeighbours(NodeKind::Norm, Neighbours::All);
  formWithProducers(NodeKind::RowNorm);
  formWithNeighbours(NodeKind::Pool, Neighbours::All);
  formWithNeighbours(NodeKind::Sum, Neighbours::All);
  formWithNeighbours(NodeKind::HeadNorm, Neighbours::All);
  formWithNeighbours(NodeKind::Elementwise, Neighbours::All);
  for (int id = 0; id != numNodes(); ++id)
    if (isFree(id))
      addRegion(id, {id});

  std::vector<PlannedRegion> planned;
  for (int region : orderRegions())
    planned.push_back(describe(region));
  return planned;
}

//===----------------------------------------------------------------------===//
// Result
//===----------------------------------------------------------------------===//

PlannedRegion RegionPlanner::describe(int region) const {
  NodeSet body = regions[region];
  std::function<void(int)> addCopies = [&](int id) {
    for (int operand : nodes[id].operands)
      if (isCopied[operand] && body.insert(operand).second)
        addCopies(operand);
  };
  for (int id : regions[region])
    addCopies(id);
  NodeSet results = resultsOf(regions[region]);
  return {roots[region],
          {body.begin(), body.end()},
          {results.begin(), results.end()}};
}

/// Dependencies first; among regions that are ready, the one whose first op is
/// first in the program.
std::vector<int> RegionPlanner::orderRegions() const {
  std::vector<NodeSet> successors(regions.size());
  std::vector<size_t> numPending(regions.size(), 0);
  for (int id = 0; id != numNodes(); ++id)
    for (int reader : readers[id])
      if (regionOf[reader] != regionOf[id] &&
          successors[regionOf[id]].insert(regionOf[reader]).second)
        ++numPending[regionOf[reader]];
  using Entry = std::pair<int, int>; // first op, region
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto addIfReady = [&](int region) {
    if (numPending[region] == 0)
      ready.push({*regions[region].begin(), region});
  };
  for (int region = 0; region != static_cast<int>(regions.size()); ++region)
    addIfReady(region);
  std::vector<int> order;
  while (!ready.empty()) {
    order.push_back(ready.top().second);
    ready.pop();
    for (int successor : successors[order.back()]) {
      --numPending[successor];
      addIfReady(successor);
    }
  }
  return order;
}

} // namespace

std::vector<PlannedRegion> planRegions(const std::vector<PlanNode> &nodes,
                                       int64_t rows) {
  return RegionPlanner(nodes, rows).plan();
}

} // namespace llmc::fusion
