#include "isobit/runtime/recompute.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/runtime/minimum_cut.h"
#include "isobit/runtime/plan.h"

namespace isobit::runtime {

using graph::Graph;
using graph::kNoValue;
using graph::ValueId;

namespace {

constexpr std::array<std::pair<std::string_view, Recompute>, 3> kNames = {
    {{"none", Recompute::kNothing}, {"cheap", Recompute::kCheap}, {"all", Recompute::kEverything}}};

size_t at(ValueId id) { return static_cast<size_t>(id); }

// Far below what sums of weights can count, and above any tensor that fits into a machine.
int64_t weight_of(const graph::Value& value) {
  constexpr int64_t kMost = int64_t{1} << 44;
  const auto elements = checked_elements(value.dims, value.dtype, kMost);
  return elements ? *elements * static_cast<int64_t>(size_of(value.dtype)) : kMost;
}

// The nodes that a loss follows from, in their order. Values are "wanted" if a node behind the loss reads them, and
// may be given up until then.
struct Pass {
  int64_t end = 0;  // the step of the loss
  std::vector<size_t> steps;
};

// What is known of the steps whatever is given up.
class Passes {
 public:
  Passes(const Graph& graph, const StepList& list, const Recomputation& wanted) : graph_(graph), list_(list) {
    const auto values = static_cast<size_t>(graph.value_count());
    maker_.assign(values, -1);
    root_.resize(values);
    for (size_t v = 0; v < values; ++v) root_[v] = static_cast<ValueId>(v);
    pass_of_.assign(list.steps.size(), -1);
    for (size_t s = 0; s < list.steps.size(); ++s) {
      const PlanStep& step = list.steps[s];
      for (const ValueId o : step.outputs) {
        if (o != kNoValue) maker_[at(o)] = static_cast<int64_t>(s);
      }
      if (step.kernel->is_view) root_[at(step.outputs[0])] = root_[at(step.inputs[0])];
    }
    for (const ValueId loss : wanted.losses) add_pass(loss);
    look_at_uses();
    for (const PlanStep& step : list.steps) can_run_again_.push_back(can_run_again(step, wanted.what) ? 1 : 0);
  }

  const Graph& graph() const { return graph_; }
  const std::vector<PlanStep>& steps() const { return list_.steps; }
  const std::vector<Pass>& all() const { return passes_; }
  int64_t maker(ValueId id) const { return maker_[at(id)]; }
  // The value whose memory it has: itself, but for a view.
  ValueId root(ValueId id) const { return root_[at(id)]; }
  bool is_view(ValueId id) const { return root_[at(id)] != id; }
  // -1: none
  int pass_of(ValueId id) const { return maker(id) < 0 ? -1 : pass_of_[static_cast<size_t>(maker(id))]; }
  bool wanted(ValueId id) const { return wanted_[at(id)] != 0; }
  // It is there whenever it may be asked for, and nobody decides on it: no pass makes it, or somebody else has it.
  bool stays(ValueId id) const { return pass_of(id) < 0 || stays_[at(id)] != 0; }
  bool can_run_again(size_t step) const { return can_run_again_[step] != 0; }
  // The last step of its pass that reads it, or its maker.
  int64_t last_in_pass(ValueId id) const { return last_in_pass_[at(id)]; }
  int64_t weight(ValueId id) const { return weight_of(graph_.value(id)); }

 private:
  static bool can_run_again(const PlanStep& step, Recompute what, const graph::OpDef& def) {
    if (def.runs_graphs || def.updates_state) return false;
    return what == Recompute::kEverything || step.kernel->is_view ||
           (def.platform_independent && !def.is_inner_product());
  }
  bool can_run_again(const PlanStep& step, Recompute what) const {
    return can_run_again(step, what, graph::op_of(graph_.nodes()[step.node]));
  }

  void add_pass(ValueId loss) {
    if (maker(loss) < 0) return;
    Pass pass;
    pass.end = maker(loss);
    const int number = static_cast<int>(passes_.size());
    std::vector<size_t> open = {static_cast<size_t>(pass.end)};
    while (!open.empty()) {
      const size_t s = open.back();
      open.pop_back();
      if (pass_of_[s] >= 0) continue;
      pass_of_[s] = number;
      pass.steps.push_back(s);
      for (const ValueId i : list_.steps[s].inputs) {
        if (i != kNoValue && maker(i) >= 0) open.push_back(static_cast<size_t>(maker(i)));
      }
    }
    std::ranges::sort(pass.steps);
    passes_.push_back(std::move(pass));
  }

  void look_at_uses() {
    wanted_.assign(maker_.size(), 0);
    stays_.assign(maker_.size(), 0);
    last_in_pass_ = maker_;
    for (size_t s = 0; s < list_.steps.size(); ++s) {
      for (const ValueId i : list_.steps[s].inputs) {
        if (i == kNoValue || pass_of(i) < 0) continue;
        if (pass_of_[s] == pass_of(i)) {
          last_in_pass_[at(i)] = static_cast<int64_t>(s);
        } else if (pass_of_[s] >= 0) {
          stays_[at(i)] = 1;
        } else if (static_cast<int64_t>(s) > passes_[static_cast<size_t>(pass_of(i))].end) {
          wanted_[at(i)] = 1;
        }
      }
    }
    for (const ValueId o : graph_.outputs()) stays_[at(o)] = stays_[at(root(o))] = 1;
  }

  const Graph& graph_;
  const StepList& list_;
  std::vector<Pass> passes_;
  std::vector<int> pass_of_;  // by step
  std::vector<char> can_run_again_;
  std::vector<int64_t> maker_;  // by value: its step, -1: none
  std::vector<ValueId> root_;
  std::vector<char> wanted_, stays_;
  std::vector<int64_t> last_in_pass_;
};

// Which values of the passes are kept, when each pass is cut into so many parts.
class Choice {
 public:
  // keep_last: all that is wanted of the last part, which is needed again first.
  Choice(const Passes& passes, size_t parts, bool keep_last) : p_(passes) {
    kept_.assign(static_cast<size_t>(p_.graph().value_count()), 0);
    for (const Pass& pass : p_.all()) choose(pass, parts, keep_last);
  }

  // Whether it need not be computed again.
  bool stands(ValueId id) const { return p_.stays(id) || kept_[at(p_.root(id))] != 0; }

 private:
  void choose(const Pass& pass, size_t parts, bool keep_last) {
    const std::vector<size_t> begins = cut(pass, parts);
    // Backwards: a later part says what of earlier ones it is computed from.
    for (size_t i = begins.size(); i-- > 0;) {
      const size_t end = i + 1 < begins.size() ? begins[i + 1] : pass.steps.size();
      const std::vector<size_t> part(pass.steps.begin() + static_cast<std::ptrdiff_t>(begins[i]),
                                     pass.steps.begin() + static_cast<std::ptrdiff_t>(end));
      if (keep_last && i + 1 == begins.size()) {
        keep_wanted(part);
      } else {
        keep_cut(part);
      }
    }
  }

  template <class F>
  void for_outputs(size_t step, F f) const {
    for (const ValueId o : p_.steps()[step].outputs) {
      if (o != kNoValue) f(o);
    }
  }

  // Where each part begins, among the steps of the pass: as many bytes that are wanted in each, more or less, where
  // little of what is made before is read behind.
  std::vector<size_t> cut(const Pass& pass, size_t parts) const {
    const size_t steps = pass.steps.size();
    std::vector<int64_t> sum(steps + 1, 0), crossing(steps + 1, 0);
    for (size_t t = 0; t < steps; ++t) {
      sum[t + 1] = sum[t];
      for_outputs(pass.steps[t], [&](ValueId o) {
        if (p_.stays(o) || p_.is_view(o)) return;
        if (p_.wanted(o)) sum[t + 1] += p_.weight(o);
        const auto last = std::ranges::lower_bound(pass.steps, static_cast<size_t>(p_.last_in_pass(o)));
        crossing[t + 1] += p_.weight(o);
        crossing[std::min(static_cast<size_t>(last - pass.steps.begin()), steps - 1) + 1] -= p_.weight(o);
      });
    }
    for (size_t t = 0; t < steps; ++t) crossing[t + 1] += crossing[t];
    std::vector<size_t> begins = {0};
    const auto n = static_cast<int64_t>(parts);
    const int64_t part = sum[steps] / n, slack = part / 4;
    for (int64_t i = 1; i < n; ++i) {
      const auto from = std::ranges::lower_bound(sum, part * i - slack);
      const auto to = std::ranges::upper_bound(sum, part * i + slack);
      const size_t first = std::max(static_cast<size_t>(from - sum.begin()), begins.back() + 1);
      const size_t behind = std::min(static_cast<size_t>(to - sum.begin()), steps);
      if (first >= behind) continue;
      const auto least = std::min_element(crossing.begin() + static_cast<std::ptrdiff_t>(first),
                                          crossing.begin() + static_cast<std::ptrdiff_t>(behind));
      begins.push_back(static_cast<size_t>(least - crossing.begin()));
    }
    return begins;
  }

  void keep(ValueId id) { kept_[at(p_.root(id))] = 1; }

  void keep_wanted(const std::vector<size_t>& part) {
    for (const size_t step : part) {
      for_outputs(step, [&](ValueId o) {
        if (p_.wanted(o) && !p_.stays(o)) keep(o);
      });
    }
  }

  void keep_cut(const std::vector<size_t>& part) {
    MinimumCut network;
    std::vector<ValueId> values;  // by vertex
    vertex_.resize(kept_.size(), -1);
    const auto add = [&](ValueId id, int64_t weight) {
      const int vertex = network.add_vertex(weight);
      vertex_[at(id)] = vertex;
      values.push_back(id);
      return vertex;
    };
    for (const size_t step : part) {
      for_outputs(step, [&](ValueId o) {
        if (stands(o)) return;
        const int vertex = add(o, p_.is_view(o) ? MinimumCut::kNever : p_.weight(o));
        if (p_.wanted(o)) network.to_sink(vertex);
        if (!p_.can_run_again(step)) {
          network.from_source(vertex);
          return;
        }
        for (const ValueId i : p_.steps()[step].inputs) {
          if (i == kNoValue || stands(i)) continue;
          if (vertex_[at(i)] < 0) network.from_source(add(i, p_.weight(p_.root(i))));
          network.add_edge(vertex_[at(i)], vertex);
        }
      });
    }
    for (const int vertex : network.cut()) keep(values[static_cast<size_t>(vertex)]);
    for (const ValueId id : values) vertex_[at(id)] = -1;
  }

  const Passes& p_;
  std::vector<char> kept_;   // by root
  std::vector<int> vertex_;  // by value: of the cut that is being made, -1: none
};

// Puts what is computed again before the first step that reads it.
class Rewriting {
 public:
  Rewriting(const Passes& passes, const Choice& choice) : p_(passes), choice_(choice) {
    copy_of_.assign(static_cast<size_t>(p_.graph().value_count()), kNoValue);
  }

  StepList run() {
    for (size_t s = 0; s < p_.steps().size(); ++s) {
      PlanStep step = p_.steps()[s];
      for (ValueId& i : step.inputs) {
        if (i != kNoValue && is_given_up(i, static_cast<int64_t>(s))) i = copy(i);
      }
      list_.steps.push_back(std::move(step));
    }
    return std::move(list_);
  }

 private:
  // By the time of step s, which would read it.
  bool is_given_up(ValueId id, int64_t s) const {
    return !choice_.stands(id) && s > p_.all()[static_cast<size_t>(p_.pass_of(id))].end;
  }

  // Its number. Without recursion: what it is computed from may go far back.
  ValueId copy(ValueId wanted) {
    std::vector<ValueId> open = {wanted};
    while (!open.empty()) {
      const ValueId id = open.back();
      if (copy_of_[at(id)] != kNoValue) {
        open.pop_back();
        continue;
      }
      PlanStep step = p_.steps()[static_cast<size_t>(p_.maker(id))];
      const size_t before = open.size();
      for (ValueId& i : step.inputs) {
        if (i == kNoValue || choice_.stands(i)) continue;
        if (copy_of_[at(i)] == kNoValue) open.push_back(i);
        i = copy_of_[at(i)];
      }
      if (open.size() > before) continue;
      step.again = true;
      for (ValueId& o : step.outputs) {
        if (o != kNoValue) o = new_copy(o);
      }
      list_.steps.push_back(std::move(step));
      open.pop_back();
    }
    return copy_of_[at(wanted)];
  }

  ValueId new_copy(ValueId id) {
    copy_of_[at(id)] = static_cast<ValueId>(static_cast<size_t>(p_.graph().value_count()) + list_.copies.size());
    list_.copies.push_back(id);
    return copy_of_[at(id)];
  }

  const Passes& p_;
  const Choice& choice_;
  StepList list_;
  std::vector<ValueId> copy_of_;  // by value; kNoValue: there is none yet
};

struct Tried {
  uint64_t peak = 0;
  std::optional<StepList> steps;  // none: those without
};

// What holds least. Each has to gain a hundredth over the one before.
Expected<Tried> best_of(const Graph& graph, const StepList& steps, const Recomputation& wanted, uint64_t without) {
  const Passes passes(graph, steps, wanted);
  Tried best{without, std::nullopt};
  // Few parts first: they leave more of the pass as it was.
  for (const size_t parts : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}) {
    for (const bool keep_last : {true, false}) {
      if (parts == 1 && keep_last) continue;
      StepList tried = Rewriting(passes, Choice(passes, parts, keep_last)).run();
      ISOBIT_TRY(const uint64_t peak, least_peak_bytes(graph, tried));
      if (peak < best.peak - best.peak / 100) best = {peak, std::move(tried)};
    }
  }
  return best;
}

}  // namespace

Expected<Recompute> recompute_named(std::string_view name) {
  for (const auto& [known, what] : kNames) {
    if (known == name) return what;
  }
  return usage_error(text_of("'", name, "': expected none, cheap or all"));
}

std::string_view name_of(Recompute what) { return kNames[static_cast<size_t>(what)].first; }

Status check_recompute(Recompute what, const platform::Arithmetic& arithmetic) {
  if (what != Recompute::kEverything || (arithmetic.promises && !arithmetic.logs)) return {};
  return usage_error(text_of("inner products of ", arithmetic.name, " are not computed again: ",
                             arithmetic.logs ? "what their log decides is decided once"
                                             : "nothing promises that they have the same bits the second time",
                             "; compute 'cheap' values again, which takes less time, too"));
}

Expected<StepList> with_recomputation(const Graph& graph, StepList steps, const Recomputation& wanted) {
  if (wanted.parts > 0) {
    const Passes passes(graph, steps, wanted);
    return Rewriting(passes, Choice(passes, wanted.parts, false)).run();
  }
  ISOBIT_TRY(const uint64_t without, least_peak_bytes(graph, steps));
  ISOBIT_TRY(Tried best, best_of(graph, steps, wanted, without));
  if (wanted.what == Recompute::kEverything) {
    // A cut sees the values of a part, not what else is held beside them: now and then the one that keeps products
    // holds less, and it costs less time.
    ISOBIT_TRY(Tried cheap, best_of(graph, steps, {Recompute::kCheap, wanted.losses}, without));
    if (cheap.peak <= best.peak) best = std::move(cheap);
  }
  return best.steps ? *std::move(best.steps) : std::move(steps);
}

}  // namespace isobit::runtime
