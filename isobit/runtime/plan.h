// How a graph is run, decided once from its types alone: the steps in order, which kernel each takes, and where every
// value lies. A run then only computes.
//
// list_steps makes the steps; with_recomputation (recompute.h) may put nodes that run once more between them; a pass
// that fuses or lays out otherwise would rewrite that list, too; place_values then decides on storage from the list as
// it stands. What it decides:
//
//   * A view has the block of its operand.
//   * An output is written over an operand, where its kernel allows that, if nothing reads the operand afterwards,
//     neither under its own name nor as a view, and the operand is no initializer.
//   * The block of a graph input is the caller's tensor, written over like any other. A block that some graph output
//     has is made for the caller, who keeps it.
//   * What is moved from initializers alone, and takes no more than they do, is made in a first run and has its place
//     in the arena for ever.
//   * Steps that can be computed together (Kernel::bind_chain) keep what either order of things needs, so that the same
//     plan serves a run that is looked at.
//   * Every other block lies in the arena, at an offset such that blocks in use at the same time do not overlap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/graph/graph.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/recompute.h"

namespace isobit::runtime {

// A node to be run. What it reads and makes are values of the graph, or copies of values, numbered behind these.
struct PlanStep {
  size_t node = 0;
  const Kernel* kernel = nullptr;
  std::vector<graph::ValueId> inputs;   // kNoValue: absent
  std::vector<graph::ValueId> outputs;  // kNoValue: absent
  std::vector<int> over;                // by output: the input whose block it takes, -1: none
  bool again = false;                   // the node has run before; its outputs are copies
  bool once = false;                    // moves initializers alone: what a first run makes stays
  // How this step and those after it, `in_chain` of them, are computed at once where nobody looks at what is between
  // them. It is then run in place of this step; the operands of all stay until the last one is done, and none but what
  // the step before made is written over.
  RunChain at_once = {};
  size_t in_chain = 1;
};

struct StepList {
  std::vector<PlanStep> steps;
  std::vector<graph::ValueId> copies = {};  // by number behind those of the graph: the value that it is a copy of
};

// The value of the graph that a number stands for, if it is not that of one itself.
inline graph::ValueId original(const graph::Graph& graph, const std::vector<graph::ValueId>& copies,
                               graph::ValueId id) {
  const auto values = static_cast<graph::ValueId>(graph.value_count());
  return id < values ? id : copies[static_cast<size_t>(id - values)];
}

// Where the bytes of one or more values lie.
struct PlanBlock {
  enum class Place { kInput, kInitializer, kOutput, kArena };
  static constexpr int64_t kForever = INT64_MAX;

  Place place = Place::kArena;
  graph::ValueId first_value = graph::kNoValue;  // the one that it is made for
  uint64_t bytes = 0;
  uint64_t offset = 0;          // in the arena
  int64_t begin = -1, end = 0;  // the steps that it is in use at, both ends included; -1: before the first
  bool written_over = false;    // some step writes another value over the first one
};

struct Plan {
  std::vector<PlanStep> steps;
  std::vector<graph::ValueId> copies;  // as in StepList
  std::vector<PlanBlock> blocks;
  std::vector<int> block_of;  // by value, copies included; -1 for a value that no step has
  uint64_t arena_bytes = 0;
  uint64_t peak_bytes = 0;  // arena, graph inputs and what is made for the caller
};

// The steps of a graph in its own order, nothing placed yet. kUnreadable: an operator without a kernel.
Expected<std::vector<PlanStep>> list_steps(const graph::Graph& graph, const KernelTable& table);

// kUnavailable where the sizes cannot even be counted; kUnreadable for a value of unknown dimensions (specialise.h) and
// for a view of another size than its operand.
Expected<Plan> place_values(const graph::Graph& graph, StepList list);

// The bytes that are in use at once at most, before anything has an offset: Plan::peak_bytes is seldom much more.
Expected<uint64_t> least_peak_bytes(const graph::Graph& graph, StepList list);

// All three.
Expected<Plan> make_plan(const graph::Graph& graph, const KernelTable& table, const Recomputation& recomputation = {});

}  // namespace isobit::runtime
