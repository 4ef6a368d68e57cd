// Numbers that form shapes or say where: axes, starts, repeats, pads, k. ONNX has them as inputs. A node of ours has
// each as an attribute of that input's name, which is the canonical form, or as the input.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isobit/graph/op.h"

namespace isobit::graph::ops {

// Whether the node has the parameter, known yet or not: the attribute, or input number `input`.
bool has_parameter(const InferContext& c, const char* name, int input);

// Its numbers: of the attribute (one or several integers), else of the constant behind the input (int64 or int32, of
// rank 0 or 1). nullopt: the node does not have it, or it is not known yet (has_parameter tells the two apart); in the
// second case the outputs get -1 for what it decides, and the node's kernel is bound in a run, when it is known
// (InferContext::constant). Errors: both an attribute and an input; an attribute that is no integers; an input that is
// no integers, or of rank 2 and more; more numbers than any operator takes.
Expected<std::optional<std::vector<int64_t>>> shape_parameter(const InferContext& c, const char* name, int input);

// The same of an attribute and a tensor that shape_parameter has accepted; null: there is none.
std::optional<std::vector<int64_t>> parameter_numbers(const Attributes& attributes, const char* name,
                                                      const Tensor* constant);

}  // namespace isobit::graph::ops
