// The activations that recurrent operators are given by name.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/expansions/build.h"

namespace isobit::graph::expansions {

struct Activation {
  std::string op;  // of ONNX, but for Affine and ScaledTanh, which are two and three operators
  double alpha = 0, beta = 0;

  // The activation of x, clipped to [-clip, clip] before when clip is positive.
  ValueId apply(Builder& b, ValueId x, double clip, const std::string& what) const;
};

// One for each name, in any case of letters. alpha and beta are taken in order by those that have such a number; the
// defaults of ONNX's operators when they are used up. An unknown name fails the builder, and so does a ScaledTanh for
// which none is left: it has no defaults.
std::vector<Activation> activations_named(Builder& b, const std::vector<std::string>& names,
                                          const std::vector<double>& alpha, const std::vector<double>& beta);

}  // namespace isobit::graph::expansions
