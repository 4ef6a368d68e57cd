// The types of a node's outputs, also where the ranks of its inputs are not known.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/op.h"

namespace isobit::graph {

struct Inferred {
  std::vector<InferContext::Type> outputs;
  std::vector<int> awaits;  // Node::awaits
};

// What the operator's rule says. An operator's rule is written for inputs of known rank: where some are not, it is
// asked for the ranks that tensors have in practice, every dimension unknown, and what all accepted ranks agree on is
// known of the outputs. With three inputs of unknown rank and more only equal ranks are tried, and no output has a
// rank. An operator that runs graphs sees unknown ranks as they are. Errors: the rule's; where it accepts no rank, what
// it says of the first; an output of more axes than kernels take (kMostAxes).
Expected<Inferred> infer_types(const Graph& graph, const OpDef& def, const std::vector<ValueId>& inputs,
                               const Attributes& attributes, const std::vector<std::string>& outputs);

// What is true of either: their dimensions where these are the same. Errors: kUnreadable for two element types.
Expected<InferContext::Type> in_common(const InferContext::Type& a, const InferContext::Type& b);

}  // namespace isobit::graph
