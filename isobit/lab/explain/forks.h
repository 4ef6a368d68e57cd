// Which operators make platforms differ, as far as records can say it.
//
// An operator *introduces* a difference when two platforms had the same inputs of it, bit by bit, and made different
// outputs. A difference is *inherited* when wherever outputs differ recorded inputs differ, too: whether the operator
// would also differ on equal inputs such records do not say. Inputs of two platforms are the nearest values that both
// of them recorded, whatever others did.
#pragma once

#include "isobit/lab/deviation/trace.h"

namespace isobit::lab::explain {

using deviation::Trace;
using deviation::TracedValue;

enum class Origin {
  kIntroduced,  // equal inputs, different outputs
  kInherited,   // where outputs differ, inputs do
  kUnknown,     // no graph, or inputs that were not recorded
};
const char* name_of(Origin origin);  // "introduced"

using Groups = std::vector<std::vector<size_t>>;  // of platforms

struct TracedFork {
  size_t value = 0;  // of Trace::values: one with two classes or more
  Origin origin = Origin::kUnknown;
  // kIntroduced: platforms with equal inputs, grouped by class of the output; the entry with most groups first.
  std::vector<Groups> splits;
  // kIntroduced: nodes of the graph of which one or more introduce the difference, in order, the value's own last.
  // More than one where values between them were not recorded on both platforms of a pair; the shortest one there is.
  std::vector<size_t> region;
  // Classes of the inputs of the region, taken together, over the platforms that differ and recorded them; where the
  // difference is inherited, of the region that has most; 0: not known. More than the classes of the value: differences
  // vanished here.
  int input_classes = 0;
  std::string why_unknown;
};

// In execution order, one for each value of two classes or more. The model's inputs and weights count as equal when the
// subject has hashes of both; of a training, up to the first step that has a fork: later ones read what that left
// behind.
std::vector<TracedFork> find_forks(const records::Subject& subject, const Trace& trace,
                                   const std::vector<records::GraphNode>& graph);

}  // namespace isobit::lab::explain
