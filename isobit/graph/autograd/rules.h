// One function per family, like graph/ops/ops.h.
#pragma once

#include <map>
#include <string>

#include "isobit/graph/autograd/autograd.h"

namespace isobit::graph::autograd {

using Rules = std::map<std::string, GradRule>;

void add_elementwise(Rules& rules);
void add_linear(Rules& rules);
void add_pool(Rules& rules);
void add_columns(Rules& rules);
void add_sampling(Rules& rules);
void add_norm(Rules& rules);
void add_softmax(Rules& rules);
void add_reduce(Rules& rules);
void add_order(Rules& rules);
void add_movement(Rules& rules);

// `diff` summed down to the shape of `like` where broadcasting had widened it.
ValueId sum_to_shape_of(Graph& graph, ValueId diff, ValueId like, const std::string& name);

// A constant scalar of the real type of `like`.
ValueId constant_like(Graph& graph, ValueId like, double value, const std::string& name);

// The attributes of `node` with one more.
Attributes with(const Attributes& attributes, const std::string& name, Attribute value);

}  // namespace isobit::graph::autograd
