// One function per family, like graph/ops/ops.h.
#pragma once

#include <map>
#include <string>

#include "isobit/graph/autograd/autograd.h"

namespace isobit::graph::autograd {

using Rules = std::map<std::string, GradRule>;

void add_elementwise(Rules& rules);
void add_activation(Rules& rules);
void add_linear(Rules& rules);
void add_pool(Rules& rules);
void add_columns(Rules& rules);
void add_sampling(Rules& rules);
void add_norm(Rules& rules);
void add_softmax(Rules& rules);
void add_reduce(Rules& rules);
void add_order(Rules& rules);
void add_movement(Rules& rules);
void add_slicing(Rules& rules);
void add_indexing(Rules& rules);

// `diff` summed down to the shape of `like` where broadcasting had widened it.
ValueId sum_to_shape_of(Graph& graph, ValueId diff, ValueId like, const std::string& name);

// A scalar constant of the type of `like`, float32 or float64.
ValueId constant_like(Graph& graph, ValueId like, double value, const std::string& name);

// A node with one output, which is named after the gradient of input 0.
ValueId emit(GradContext& c, const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {});

// x where the condition holds, else y. kNoValue stands for 0.
ValueId where(GradContext& c, ValueId condition, ValueId x, ValueId y);

// The attributes of `node` with one more.
Attributes with(const Attributes& attributes, const std::string& name, Attribute value);

}  // namespace isobit::graph::autograd
