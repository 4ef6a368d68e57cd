// What RNN, GRU and LSTM share: their operands taken apart by direction, the product of all steps, time, and the
// outputs.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "isobit/graph/expansions/activations.h"
#include "isobit/graph/expansions/build.h"
#include "isobit/graph/expansions/recurrent.h"

namespace isobit::graph::expansions {

// What differs between the three.
struct RecurrentForm {
  const char* op;
  int64_t gates;                                 // g
  std::vector<std::string> default_activations;  // of one direction
  std::vector<ValueId> initial_states;           // h, or h and c; kNoValue: 0
  ValueId peepholes = kNoValue;
};

// The operands of one direction.
struct DirectionOperands {
  ValueId w = kNoValue, r = kNoValue;    // [g H, I], [g H, H]
  ValueId wb = kNoValue, rb = kNoValue;  // [g H] each, or none
  std::vector<ValueId> states;           // [B, H] each
  std::span<const Activation> activations;
  size_t index = 0;
};

class Recurrent {
 public:
  // What one step makes of the states, h first. `t` counts from 0 in time, not in the order of the steps.
  using Cell = std::function<std::vector<ValueId>(size_t t, const std::vector<ValueId>& states)>;
  // The cell of a direction: what is computed for all steps at once is computed here.
  using MakeCell = std::function<Cell(const DirectionOperands&)>;

  Recurrent(Graph& graph, const RecurrentArguments& arguments, RecurrentForm form);

  Expected<std::vector<ValueId>> expand(const MakeCell& make_cell);

  Builder& builder() { return b_; }
  int64_t hidden() const { return hidden_; }
  // x W^T + bias (or none) of all steps, [T, B, rows of W].
  ValueId product_of_steps(ValueId w, ValueId bias);
  // A value [T, B, n] as T of [B, n].
  std::vector<ValueId> steps_of(ValueId v, const std::string& what);
  // One of several operands of the same kind that stand one behind the other in a direction's row.
  std::vector<ValueId> parts_of(ValueId v, const std::vector<int64_t>& sizes, const std::string& what) {
    return b_.split(v, 0, sizes, what);
  }
  // Direction d of a value whose axis `axis` is the directions', without that axis.
  ValueId direction_of(ValueId v, size_t d, int axis, const std::string& what);
  ValueId activated(const Activation& activation, ValueId x, const std::string& what) {
    return activation.apply(b_, x, a_.clip.value_or(0), what);
  }
  ValueId sum_of_biases(const DirectionOperands& d) { return d.wb == kNoValue ? kNoValue : b_.add(d.wb, d.rb, "bias"); }
  // x + y where there is a y.
  ValueId plus(ValueId x, ValueId y, const std::string& what) { return y == kNoValue ? x : b_.add(x, y, what); }

 private:
  struct DirectionResult {
    std::vector<ValueId> y;  // by time
    std::vector<ValueId> states;
  };

  void check();
  void check_optional(ValueId v, const std::vector<int64_t>& dims, const std::string& what);
  void read_activations();
  void find_masks();
  ValueId initial_state(ValueId given, size_t d);
  DirectionOperands operands_of(size_t d);
  DirectionResult run(const DirectionOperands& d, const Cell& cell);
  bool runs_backwards(size_t d) const { return a_.direction == "reverse" || d == 1; }
  ValueId all_steps(const std::vector<DirectionResult>& results);
  ValueId last_states(const std::vector<DirectionResult>& results, size_t state, const std::string& what);

  Builder b_;
  const RecurrentArguments& a_;
  RecurrentForm form_;
  bool batch_first_ = false;
  int64_t directions_ = 1, time_ = 0, input_ = 0, hidden_ = 0;
  ValueId x_ = kNoValue;  // [T, B, I]
  std::vector<Activation> activations_;
  std::vector<ValueId> in_sequence_;  // by time, bool [B, 1]; empty: every step is
};

}  // namespace isobit::graph::expansions
