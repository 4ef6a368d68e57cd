// ONNX's reductions that are more here than one node of ours. As in softmax.h; parameter axes and attributes are those
// of our reductions, and go with the node that reduces.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

// ReduceSum of Abs (which leaves numbers without a sign as they are). With a gradient.
Expected<std::vector<ValueId>> reduce_l1(Graph& graph, const std::vector<ValueId>& inputs, const Attributes& attributes,
                                         const std::vector<std::string>& outputs);
// Log of ReduceSum. With a gradient.
Expected<std::vector<ValueId>> reduce_log_sum(Graph& graph, const std::vector<ValueId>& inputs,
                                              const Attributes& attributes, const std::vector<std::string>& outputs);
// ReduceL2 and ReduceLogSumExp. With a gradient.
Expected<std::vector<ValueId>> reduce_l2(Graph& graph, const std::vector<ValueId>& inputs, const Attributes& attributes,
                                         const std::vector<std::string>& outputs);
Expected<std::vector<ValueId>> reduce_log_sum_exp(Graph& graph, const std::vector<ValueId>& inputs,
                                                  const Attributes& attributes,
                                                  const std::vector<std::string>& outputs);

// The last three of integers: computed in float64, and cast back.

}  // namespace isobit::graph::expansions
