// What the fuzz targets of both followers of rounding logs share: a small graph whose outputs lie at all distances from
// rounding boundaries, and what each of them is exactly.
#pragma once

#include <cmath>
#include <vector>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/stages/rounding_stage.h"

namespace isobit::fuzz {

// Every operator that a sparse log speaks of, each fed from outside; and Mul, of which only ovt logs speak.
class FollowedNet {
 public:
  FollowedNet() {
    using Ints = std::vector<int64_t>;
    add("Gemm", {in({3, 4}), in({5, 4}), in({5})}, {{"transB", int64_t{1}}});
    add("MatMul", {in({2, 3, 4}), in({2, 4, 3})});
    const graph::Attributes pads = {{"pads", Ints{1, 1, 1, 1}}};
    const auto x = in({1, 2, 3, 3}), w = in({2, 2, 3, 3}), y = in({1, 2, 3, 3});
    add("Conv", {x, w}, pads);
    graph::Attributes grad = pads;
    grad.set("src_shape", Ints{1, 2, 3, 3});
    add("isobit.ConvGradSrc", {y, w}, grad);
    grad = pads;
    grad.set("weights_shape", Ints{2, 2, 3, 3});
    add("isobit.ConvGradWeights", {x, y}, grad);
    add("Mul", {x, y});
  }

  Expected<std::vector<Tensor>> run(runtime::Stage& stage, runtime::Observer* observer = nullptr) {
    const kernels::KernelContext ctx{kernels::Isa::kPortable, &pool_};
    return runtime::Executor(graph_).run(ctx, feeds_, {.observer = observer, .stage = &stage});
  }
  const graph::Graph& graph() const { return graph_; }

 private:
  // A third are zeros; some cancel, being one in two signs; bits enough that products are seldom exact in float32.
  graph::ValueId in(std::vector<int64_t> dims) {
    const graph::ValueId id = graph_.add_input("x", DType::kFloat64, dims);
    Tensor t(DType::kFloat64, Shape(dims));
    for (double& value : t.span<double>()) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      const auto high = static_cast<int64_t>(state_) >> 40;
      value = state_ >> 33 & 1 ? static_cast<double>(high) * 0x1p-20 : state_ >> 34 & 1 ? 0.0 : 1.5;
      if (state_ >> 35 & 1) value = -value;
      value += 0.0;
    }
    feeds_.emplace_back(id, t);
    return id;
  }
  void add(const std::string& op, std::vector<graph::ValueId> inputs, graph::Attributes attributes = {}) {
    graph_.add_output(graph_.emit(op, std::move(inputs), std::move(attributes), op));
  }

  uint64_t state_ = 7;
  graph::Graph graph_;
  runtime::Executor::Feeds feeds_;
  ThreadPool pool_{1};
};

// Takes bytes off an input; zeros once it is used up.
class Source {
 public:
  Source(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ == size_; }
  uint8_t byte() { return at_ < size_ ? data_[at_++] : uint8_t{0}; }
  uint32_t word() {
    uint32_t w = byte();
    for (int shift = 8; shift < 32; shift += 8) w |= static_cast<uint32_t>(byte()) << shift;
    return w;
  }

 private:
  const uint8_t* data_;
  size_t size_, at_ = 0;
};

}  // namespace isobit::fuzz
