// One function per family, like graph/ops/ops.h.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "isobit/graph/autograd/autograd.h"

namespace isobit::graph::autograd {

struct Rules {
  std::map<std::string, GradRule> with;
  std::map<std::string, std::string> without;  // operator -> why there is none

  GradRule& operator[](const std::string& op) { return with[op]; }
  void none(std::initializer_list<const char*> ops, const std::string& why) {
    for (const char* op : ops) without[op] = why;
  }
};

// What many of `without` say.
inline constexpr const char* kNotReal = "what it gives are no real numbers";
inline constexpr const char* kIsGradient = "it is a gradient itself, and none is taken of those";

// Of every operator.
const Rules& all_rules();

// Of a function that is constant between its steps: 0 wherever there is a gradient.
std::vector<ValueId> constant_between_steps(GradContext& c);

void add_elementwise(Rules& rules);
void add_activation(Rules& rules);
void add_linear(Rules& rules);
void add_pool(Rules& rules);
void add_columns(Rules& rules);
void add_norm(Rules& rules);
void add_softmax(Rules& rules);
void add_reduce(Rules& rules);
void add_order(Rules& rules);
void add_movement(Rules& rules);
void add_slicing(Rules& rules);
void add_indexing(Rules& rules);
void add_scatter(Rules& rules);
void add_sampling(Rules& rules);
void add_composite(Rules& rules);
void add_control(Rules& rules);
void add_others(Rules& rules);  // families without a rule

// `diff` summed down to the shape of `like` where broadcasting had widened it.
ValueId sum_to_shape_of(Graph& graph, ValueId diff, ValueId like, const std::string& name);

// A scalar constant of the type of `like`, float32 or float64.
ValueId constant_like(Graph& graph, ValueId like, double value, const std::string& name);

// A node with one output, which is named after the gradient of input 0.
ValueId emit(GradContext& c, const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {});

// The same elements under other dimensions; nothing where they are these already.
ValueId reshaped(GradContext& c, ValueId value, const std::vector<int64_t>& dims);

// A number over these dimensions, in the type of `like`.
ValueId filled(GradContext& c, ValueId like, double value, const std::vector<int64_t>& dims);

// x where the condition holds, else y. kNoValue stands for 0.
ValueId where(GradContext& c, ValueId condition, ValueId x, ValueId y);

// The attributes of `node` with one more.
Attributes with(const Attributes& attributes, const std::string& name, Attribute value);

}  // namespace isobit::graph::autograd
