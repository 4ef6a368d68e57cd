// Runs of graphs with graphs within them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "isobit/graph/inner_graph_for_test.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime::testing {

using graph::boolean;
using graph::f32;
using graph::f64;
using graph::Graph;
using graph::i64;
using graph::Ids;
using graph::inner_graph;
using graph::kNoValue;
using graph::truth;
using graph::ValueId;
using Ints = std::vector<int64_t>;

inline Tensor row(std::vector<float> values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}
inline Tensor number(int64_t n) { return Tensor::scalar(n); }

// A graph that is fed by name, in the order of its inputs.
class Runs : public ::testing::Test {
 protected:
  ValueId in(const graph::Type& type) { return g.add_input("in", type.dtype, type.dims); }
  Executor::Feeds feeds(const std::vector<Tensor>& tensors) const {
    Executor::Feeds all;
    for (const Tensor& t : tensors) all.emplace_back(g.inputs()[all.size()], t.clone());
    return all;
  }
  Expected<std::vector<Tensor>> attempt(const std::vector<Tensor>& tensors, RunOptions options = {}) {
    return Executor(g, kernel_table(), limits).run(ctx, feeds(tensors), options);
  }
  std::vector<Tensor> run(const std::vector<Tensor>& tensors, RunOptions options = {}) {
    auto out = attempt(tensors, options);
    EXPECT_TRUE(out) << (out ? "" : out.error().message);
    return out ? *std::move(out) : std::vector<Tensor>(g.outputs().size(), Tensor::scalar(0.0f));
  }
  std::string error(const std::vector<Tensor>& tensors, RunOptions options = {}) {
    const auto out = attempt(tensors, options);
    if (!out) {
      EXPECT_EQ(out.error().code, ErrorCode::kUnreadable) << out.error().message;
    }
    return out ? "" : out.error().message;
  }
  static void expect_says(const std::string& message, const std::string& words) {
    EXPECT_NE(message.find(words), std::string::npos) << "'" << message << "' does not say '" << words << "'";
  }

  Graph g;
  Limits limits;
  ThreadPool pool{2};
  kernels::KernelContext ctx{kernels::best_isa(), &pool};
};

}  // namespace isobit::runtime::testing
