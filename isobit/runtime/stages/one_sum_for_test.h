// A single inner product of chosen terms, as a block and as a graph.
#pragma once

#include <vector>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/stages/exact_value.h"

namespace isobit::runtime::testing {

struct OneSum {
  explicit OneSum(const std::vector<std::pair<double, double>>& terms, double bias_value = 0) : bias(bias_value) {
    for (const auto& [a, b] : terms) {
      left.push_back(a);
      right.push_back(b);
    }
    block.m = block.n = 1;
    block.k = static_cast<int64_t>(terms.size());
    block.out = &result;
    block.column_bias = &bias;
    block.left = Lines::strided(left.data(), 1, block.k, block.k, 1);
    block.right = Lines::strided(right.data(), 1, block.k, block.k, 1);
  }
  OneSum(const OneSum&) = delete;
  OneSum& operator=(const OneSum&) = delete;

  // Seen by a platform whose result is x.
  ExactOutput exact(int bits, double x = 0) {
    result = x;
    NearTie at;
    at.value = x;
    return evaluate_outputs({kernels::best_isa(), &pool}, {block}, {at}, bits)[0];
  }
  std::vector<double> left, right;
  double bias, result = 0;
  ProductBlock block;
  ThreadPool pool{1};
};

}  // namespace isobit::runtime::testing
