// Random graphs for tests of whatever runs graphs: the plan of the executor, a backend. They hold views, constants,
// operands that are read twice, outputs that are inputs or views, operators that write over several operands, absent
// outputs, tensors without elements, and values of every type that operators take.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "isobit/graph/op.h"
#include "isobit/tensor/tensor.h"

namespace isobit::runtime::testing {

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed) {
    for (uint64_t i = 0; i < 1 + below(3); ++i) {
      known_.push_back(g.add_input("in", DType::kFloat32, shapes_[below(shapes_.size())]));
    }
    row_ = g.add_input("row", DType::kFloat32, {4});
    known_.push_back(row_);
    rate_ = g.add_initializer("rate", Tensor::scalar(0.125));
    labels_ = g.add_input("labels", DType::kInt64, {4});
    if (below(2) == 0) known_.push_back(g.add_input("in", DType::kFloat64, {4, 6}));
    for (uint64_t i = 0; i < below(3); ++i) {
      known_.push_back(g.add_initializer("constant", tensor(DType::kFloat32, Shape(shapes_[below(shapes_.size())]))));
    }
    for (uint64_t i = 0; i < 3 + below(25); ++i) add_node();
    // Of any kind: inputs, constants, views, the same one twice.
    for (uint64_t i = 0; i < 1 + below(4); ++i) g.add_output(any());
  }

  // Numbers for an input of this type: multiples of 1/256, or the labels 0 to 3.
  Tensor tensor(DType dtype, Shape shape) {
    Tensor t(dtype, std::move(shape));
    const auto number = [&] { return static_cast<double>(static_cast<int64_t>(below(2001)) - 1000) / 256; };
    if (dtype == DType::kFloat32) {
      for (float& x : t.span<float>()) x = static_cast<float>(number());
    } else if (dtype == DType::kFloat64) {
      for (double& x : t.span<double>()) x = number();
    } else {
      for (int64_t& x : t.span<int64_t>()) x = static_cast<int64_t>(below(4));
    }
    return t;
  }
  uint64_t below(uint64_t n) { return random_() % n; }

  graph::Graph g;

 private:
  using Ints = std::vector<int64_t>;
  using ValueId = graph::ValueId;

  ValueId any() { return known_[below(known_.size())]; }

  // Operands whose types or shapes do not fit are left out. absent: the outputs from there on are not there.
  void add(const std::string& op, const std::vector<ValueId>& inputs, graph::Attributes attributes = {},
           size_t outputs = 1, size_t absent = SIZE_MAX) {
    std::vector<std::string> names(outputs, "v");
    for (size_t o = absent; o < outputs; ++o) names[o] = "";
    const auto added = g.add_node(op, inputs, std::move(attributes), names);
    if (!added) return;
    for (const ValueId id : *added) {
      if (id != graph::kNoValue) known_.push_back(id);
    }
  }

  void add_node() {
    const ValueId x = any(), y = any();
    const auto rank = static_cast<int64_t>(g.value(x).dims.size());
    switch (below(18)) {
      case 0:
        return add("Relu", {x});
      case 1:
        return add("Neg", {x});
      case 2:
        return add(below(2) == 0 ? "Add" : "Sub", {x, y});
      case 3:
        return add("Mul", {x, x});
      case 4:
        return add("Reshape", {x}, {{"shape", Ints{-1}}});
      case 5:
        return add("Reshape", {x}, {{"shape", Ints{4, -1}}});
      case 6:
        return rank == 2 ? add("Transpose", {x}, {{"perm", Ints{1, 0}}}) : add("Identity", {x});
      case 7:
        return add("Softmax", {x});
      case 8:
        return add("Concat", {x, y, x}, {{"axis", int64_t{0}}});
      case 9:
        return rank == 2 ? add("isobit.ReluGrad", {x, y}) : add("Identity", {x});
      case 10:
        return add("MatMul", {x, y});
      case 11:  // the buffer and the gradient may be one value, or views of one another
        return add("isobit.Sgd", {x, like(x), rate_, like(x)}, {{"momentum", 0.5}}, 2);
      case 12:
        return add("isobit.Sgd", {x, like(x), rate_}, {}, 2, 1);
      case 13:
        return add("isobit.Adam", {x, like(x), like(x), like(x), rate_, rate_, rate_}, {}, 3);
      case 14:
        return add("isobit.BatchNormGrad", {x, row_, row_, row_, like(x)}, {}, 3);
      case 15:
        return rank == 2 && has_rows(x, 1) ? add("isobit.CrossEntropy", {x, labels_}, {}, 4) : add("Abs", {x});
      case 16:
        return add("Cast", {x}, {{"to", static_cast<int64_t>(below(2) == 0 ? DType::kFloat32 : DType::kFloat64)}});
      default:
        return has_rows(x, 0) ? add("Gather", {x, labels_}) : add("isobit.BatchStatistics", {x}, {}, 2);
    }
  }

  // Whether a label is a place of this axis.
  bool has_rows(ValueId x, size_t axis) const {
    const std::vector<int64_t>& dims = g.value(x).dims;
    return dims.size() > axis && dims[axis] >= 4;
  }

  // A value of the type and the shape of x: itself where no other is found.
  ValueId like(ValueId x) {
    for (int tries = 0; tries < 6; ++tries) {
      const ValueId y = any();
      if (g.value(y).dtype == g.value(x).dtype && g.value(y).dims == g.value(x).dims) return y;
    }
    return x;
  }

  std::mt19937_64 random_;
  std::vector<ValueId> known_;
  ValueId rate_ = graph::kNoValue, labels_ = graph::kNoValue, row_ = graph::kNoValue;
  const std::vector<Ints> shapes_ = {{4, 4}, {4, 6}, {6, 4}, {24}, {4}, {1, 4}, {4, 0}, {0}};
};

}  // namespace isobit::runtime::testing
