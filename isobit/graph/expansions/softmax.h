// ONNX's operators over one axis that are more here than one node of ours.
//
// Each function appends nodes that are together what ONNX's operator of that name is in its newest version (where
// nothing else is said), and returns its outputs, kNoValue for those without a name. `inputs`, `attributes` and the
// names `outputs` are those of the ONNX node; parameters (graph/ops/parameters.h) stand as they do in a node of ours.
// Every node that is added has a gradient if one is said here.
//
// Errors (kUnreadable): inputs, attributes or shapes that do not fit, and ranks that must be known and are not.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

// Attribute axis (-1): Softmax of the last axis, with the axis moved there and back. With gradients.
Expected<std::vector<ValueId>> softmax(Graph& graph, const std::vector<ValueId>& inputs, const Attributes& attributes,
                                       const std::vector<std::string>& outputs);
Expected<std::vector<ValueId>> log_softmax(Graph& graph, const std::vector<ValueId>& inputs,
                                           const Attributes& attributes, const std::vector<std::string>& outputs);
// Attribute axis (-1): 1 at the first of the largest elements, else 0.
Expected<std::vector<ValueId>> hardmax(Graph& graph, const std::vector<ValueId>& inputs, const Attributes& attributes,
                                       const std::vector<std::string>& outputs);

// The same before version 13: of the matrix that the axes before attribute axis (1) and those from there on make.
Expected<std::vector<ValueId>> softmax_of_matrix(Graph& graph, const std::vector<ValueId>& inputs,
                                                 const Attributes& attributes, const std::vector<std::string>& outputs);
Expected<std::vector<ValueId>> log_softmax_of_matrix(Graph& graph, const std::vector<ValueId>& inputs,
                                                     const Attributes& attributes,
                                                     const std::vector<std::string>& outputs);
Expected<std::vector<ValueId>> hardmax_of_matrix(Graph& graph, const std::vector<ValueId>& inputs,
                                                 const Attributes& attributes, const std::vector<std::string>& outputs);

}  // namespace isobit::graph::expansions
