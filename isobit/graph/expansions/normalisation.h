// ONNX's normalisations that are more here than one node of ours. As in softmax.h.
//
// Attribute stash_type has the numbers of ONNX's TensorProto: the first stage, up to the normalised elements, is
// computed in float64 with 11 (DOUBLE), else in float32; the rest in float64 where the data are that, else in float32.
// Where both are the same it is one node. A float16 or bfloat16 among data and stash types is float32 with a conversion
// before and behind.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

// (x, scale, bias), attributes axis (-1), epsilon (1e-5), stash_type (1) -> y, mean, inv_std_dev. scale and bias
// broadcast to x. The gradient of y.
Expected<std::vector<ValueId>> layer_normalization(Graph& graph, const std::vector<ValueId>& inputs,
                                                   const Attributes& attributes,
                                                   const std::vector<std::string>& outputs);
// (x, scale), the same attributes -> y. With gradients.
Expected<std::vector<ValueId>> rms_normalization(Graph& graph, const std::vector<ValueId>& inputs,
                                                 const Attributes& attributes, const std::vector<std::string>& outputs);
// (x [N, C, ...], scale [C], bias [C]), attributes num_groups, epsilon (1e-5), stash_type (1). With gradients.
Expected<std::vector<ValueId>> group_normalization(Graph& graph, const std::vector<ValueId>& inputs,
                                                   const Attributes& attributes,
                                                   const std::vector<std::string>& outputs);
// As it was before version 21: scale and bias of a group, not of a channel.
Expected<std::vector<ValueId>> group_normalization_by_group(Graph& graph, const std::vector<ValueId>& inputs,
                                                            const Attributes& attributes,
                                                            const std::vector<std::string>& outputs);
// (x [N, C, D, ...], scale [C], bias [C]), attribute epsilon (1e-5). With gradients.
Expected<std::vector<ValueId>> instance_normalization(Graph& graph, const std::vector<ValueId>& inputs,
                                                      const Attributes& attributes,
                                                      const std::vector<std::string>& outputs);
// Attribute axes (0, 2, 3): d = x - mean; d / (sqrt(mean of d * d) + 1e-9). With a gradient.
Expected<std::vector<ValueId>> mean_variance_normalization(Graph& graph, const std::vector<ValueId>& inputs,
                                                           const Attributes& attributes,
                                                           const std::vector<std::string>& outputs);
// Attributes axis (-1), p (2, or 1): x / n, n the norm of the axis, or 1 where that is 0.
Expected<std::vector<ValueId>> lp_normalization(Graph& graph, const std::vector<ValueId>& inputs,
                                                const Attributes& attributes, const std::vector<std::string>& outputs);
// (x, scale, bias, mean, var), attributes epsilon (1e-5), momentum (0.9), training_mode (0) -> y, and in training mode
// the running mean and variance. The gradient of y.
Expected<std::vector<ValueId>> batch_normalization(Graph& graph, const std::vector<ValueId>& inputs,
                                                   const Attributes& attributes,
                                                   const std::vector<std::string>& outputs);

}  // namespace isobit::graph::expansions
