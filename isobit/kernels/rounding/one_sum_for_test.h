// A single inner product of chosen terms, as a block and as a graph.
#pragma once

#include <algorithm>
#include <vector>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/rounding/exact_value.h"

namespace isobit::kernels::rounding::testing {

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
    product::Side line;
    line.lines = 1;
    line.k = block.k;
    line.strides = {block.k, 1, std::max<int64_t>(1, block.k), 0};
    block.left = {line, left.data()};
    block.right = {line, right.data()};
  }
  OneSum(const OneSum&) = delete;
  OneSum& operator=(const OneSum&) = delete;

  // Seen by a platform whose result is x.
  ExactOutput exact(int bits, double x = 0) {
    result = x;
    NearTie at;
    at.value = x;
    return evaluate_outputs({best_isa(), &pool}, {block}, {at}, bits)[0];
  }
  std::vector<double> left, right;
  double bias, result = 0;
  ProductBlock block;
  ThreadPool pool{1};
};

}  // namespace isobit::kernels::rounding::testing
