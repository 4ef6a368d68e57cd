#include "isobit/graph/infer.h"

#include <algorithm>
#include <map>

#include "isobit/base/text.h"

namespace isobit::graph {
namespace {

using Type = InferContext::Type;

// Networks have up to 6 axes: windows of images. A value that has more in a run is inferred in the run.
constexpr int kMostRank = 6;
constexpr size_t kMostTriedTogether = 2;

// The node once for every rank of the inputs whose rank is not known.
class RankTrial {
 public:
  RankTrial(const Graph& graph, const OpDef& def, const std::vector<ValueId>& inputs, const Attributes& attributes,
            const std::vector<std::string>& outputs)
      : graph_(graph), def_(def), inputs_(inputs), attributes_(attributes), names_(outputs) {
    for (const ValueId id : inputs) {
      if (id == kNoValue || graph.value(id).has_rank() || !unknown_.emplace(id, assumed_.size()).second) continue;
      assumed_.push_back(graph.value(id));
    }
  }

  bool needed() const { return !unknown_.empty() && !def_.runs_graphs; }

  Expected<Inferred> run() {
    if (unknown_.size() > kMostTriedTogether) {
      for (int rank = 0; rank <= kMostRank; ++rank) {
        for (size_t u = 0; u < unknown_.size(); ++u) assume(u, rank);
        ISOBIT_RETURN_IF_ERROR(attempt());
      }
      for (Type& type : known_.outputs) type.dims = kUnknownRank;
    } else {
      ISOBIT_RETURN_IF_ERROR(attempt_from(0));
    }
    if (accepted_) return std::move(known_);
    return unreadable(text_of("the rank of '", assumed_[0].name, "' is not known, and it fits with none: ", refusal_));
  }

 private:
  void assume(size_t u, int rank) { assumed_[u].dims.assign(static_cast<size_t>(rank), -1); }

  Status attempt_from(size_t u) {
    if (u == unknown_.size()) return attempt();
    for (int rank = 0; rank <= kMostRank; ++rank) {
      assume(u, rank);
      ISOBIT_RETURN_IF_ERROR(attempt_from(u + 1));
    }
    return {};
  }

  Status attempt() {
    InferContext context(graph_, inputs_, attributes_, names_);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto at = unknown_.find(inputs_[i]);
      if (at != unknown_.end()) context.assume(static_cast<int>(i), assumed_[at->second]);
    }
    if (const Status taken = def_.infer(context); !taken) {
      if (refusal_.empty()) refusal_ = taken.error().message;
      return {};
    }
    for (const int i : context.awaits()) {
      if (std::ranges::count(known_.awaits, i) == 0) known_.awaits.push_back(i);
    }
    if (!accepted_) known_.outputs = context.outputs();
    accepted_ = true;
    for (size_t o = 0; o < known_.outputs.size(); ++o) {
      ISOBIT_TRY(known_.outputs[o], in_common(known_.outputs[o], context.outputs()[o]));
    }
    return {};
  }

  const Graph& graph_;
  const OpDef& def_;
  const std::vector<ValueId>& inputs_;
  const Attributes& attributes_;
  const std::vector<std::string>& names_;
  std::map<ValueId, size_t> unknown_;  // values of unknown rank: which of `assumed_`
  std::vector<Value> assumed_;
  Inferred known_;
  bool accepted_ = false;
  std::string refusal_;
};

}  // namespace

Expected<Type> in_common(const Type& a, const Type& b) {
  if (a.dtype != b.dtype) {
    return unreadable(
        text_of("an output would be ", name_of(a.dtype), " or ", name_of(b.dtype), ", expected one type"));
  }
  if (a.dims == kUnknownRank || b.dims == kUnknownRank || a.dims.size() != b.dims.size()) {
    return Type{a.dtype, kUnknownRank};
  }
  Type both = a;
  for (size_t d = 0; d < both.dims.size(); ++d) {
    if (both.dims[d] != b.dims[d]) both.dims[d] = -1;
  }
  return both;
}

Expected<Inferred> infer_types(const Graph& graph, const OpDef& def, const std::vector<ValueId>& inputs,
                               const Attributes& attributes, const std::vector<std::string>& outputs) {
  Inferred inferred;
  if (RankTrial trial(graph, def, inputs, attributes, outputs); trial.needed()) {
    ISOBIT_TRY(inferred, trial.run());
  } else {
    InferContext context(graph, inputs, attributes, outputs);
    ISOBIT_RETURN_IF_ERROR(def.infer(context));
    inferred = {context.outputs(), context.awaits()};
  }
  for (Type& type : inferred.outputs) {
    if (type.dims == kUnknownRank) continue;
    ISOBIT_RETURN_IF_ERROR(check_axes(static_cast<int64_t>(type.dims.size())));
    for (int64_t& d : type.dims) d = std::max<int64_t>(d, -1);
  }
  std::ranges::sort(inferred.awaits);
  return inferred;
}

}  // namespace isobit::graph
