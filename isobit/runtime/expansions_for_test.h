// For tests of expansions: a graph that one is appended to, run, and its outputs as plain numbers to hold against a
// plain computation in double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "isobit/graph/expansions/expansion_for_test.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"

namespace isobit::runtime {

using Ints = std::vector<int64_t>;
using Values = std::vector<graph::ValueId>;
using graph::kNoValue;
using graph::ValueId;

// Row-major numbers.
struct Array {
  Ints dims;
  std::vector<double> values;

  static Array zeros(Ints dims) {
    const auto n = static_cast<size_t>(Shape(dims).elements());
    return {std::move(dims), std::vector<double>(n, 0)};
  }
  size_t place(std::initializer_list<int64_t> index) const {
    size_t at = 0, axis = 0;
    for (int64_t i : index) at = at * static_cast<size_t>(dims[axis++]) + static_cast<size_t>(i);
    return at;
  }
  double& operator()(std::initializer_list<int64_t> index) { return values[place(index)]; }
  double operator()(std::initializer_list<int64_t> index) const { return values[place(index)]; }
};

inline Array numbers_of(const Tensor& t) {
  Array a{t.shape().dims(), {}};
  const bool known = by_type(NumberTypes{}, t.dtype(), [&]<class T>(T) {
    for (T x : t.span<T>()) a.values.push_back(static_cast<double>(x));
  });
  EXPECT_TRUE(known) << name_of(t.dtype());
  return a;
}

inline Tensor tensor_of(DType dtype, const Array& a) {
  Tensor t(dtype, Shape(a.dims));
  by_type(NumberTypes{}, dtype, [&]<class T>(T) {
    for (size_t i = 0; i < a.values.size(); ++i) t.data<T>()[i] = static_cast<T>(a.values[i]);
  });
  if (dtype == DType::kBool) {
    for (size_t i = 0; i < a.values.size(); ++i) static_cast<uint8_t*>(t.raw())[i] = a.values[i] != 0 ? 1 : 0;
  }
  return t;
}

inline void expect_near(const Array& expected, const Array& found, double tolerance) {
  ASSERT_EQ(expected.dims, found.dims);
  for (size_t i = 0; i < expected.values.size(); ++i) {
    const double x = expected.values[i], y = found.values[i];
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(y)) << i;
    } else if (std::isinf(x)) {
      EXPECT_EQ(x, y) << i;
    } else {
      EXPECT_NEAR(x, y, tolerance * (1 + std::abs(x))) << i;
    }
  }
}

class Expanded {
 public:
  explicit Expanded(DType dtype = DType::kFloat64, uint64_t seed = 1) : dtype_(dtype), random_(seed) {}

  graph::Graph g;

  // Operands that are fed, with their numbers kept; extents in `unknown` are not known to the graph.
  ValueId fed(DType dtype, const Array& a, const std::set<int>& unknown = {}) {
    Ints dims = a.dims;
    for (int axis : unknown) dims[static_cast<size_t>(axis)] = -1;
    const ValueId id = g.add_input("x", dtype, std::move(dims));
    feeds_.emplace_back(id, tensor_of(dtype, a));
    return id;
  }
  ValueId fed(const Array& a, const std::set<int>& unknown = {}) { return fed(dtype_, a, unknown); }
  ValueId known(DType dtype, const Array& a) { return g.add_initializer("k", tensor_of(dtype, a)); }

  // In [-1, 1), a multiple of 2^-10, so that float32 has them, too.
  Array random(Ints dims) {
    Array a = Array::zeros(std::move(dims));
    for (double& x : a.values) x = static_cast<double>(random_() % 2048) / 1024 - 1;
    return a;
  }
  Array random_integers(Ints dims, int64_t below) {
    Array a = Array::zeros(std::move(dims));
    for (double& x : a.values) x = static_cast<double>(random_() % static_cast<uint64_t>(below));
    return a;
  }

  const Executor::Feeds& feeds() const { return feeds_; }

  // The outputs that there are, in order. `op`: whose list of primitives has to have every node that was added.
  std::vector<Array> run(const std::string& op, const Expected<Values>& outputs) {
    EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().message);
    if (!outputs) return {};
    expect_primitives(op);
    for (ValueId id : *outputs) {
      if (id != kNoValue) g.add_output(g.emit("Identity", {id}, {}, "output"));
    }
    ThreadPool pool(2);
    auto found = Executor(g).run({kernels::best_isa(), &pool}, feeds_);
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    std::vector<Array> arrays;
    if (found) {
      for (const Tensor& t : *found) arrays.push_back(numbers_of(t));
    }
    return arrays;
  }

  // A graph of the same expansion is refused with these words.
  static void refused(const Expected<Values>& outputs, const std::string& op, const std::string& words) {
    ASSERT_FALSE(outputs) << words;
    EXPECT_EQ(outputs.error().code, ErrorCode::kUnreadable);
    EXPECT_NE(outputs.error().message.find("(" + op + "): "), std::string::npos) << outputs.error().message;
    EXPECT_NE(outputs.error().message.find(words), std::string::npos) << outputs.error().message;
  }

 private:
  void expect_primitives(const std::string& op) const {
    const auto* expansion = graph::expansions::find_expansion(op);
    ASSERT_NE(expansion, nullptr) << op;
    const std::set<std::string> known(expansion->primitives.begin(), expansion->primitives.end());
    for (const graph::Node& node : g.nodes()) {
      EXPECT_TRUE(known.contains(node.op)) << op << " is not said to be made of " << node.op;
      EXPECT_TRUE(node.name.starts_with("n/")) << node.name;
    }
  }

  DType dtype_;
  std::mt19937_64 random_;
  Executor::Feeds feeds_;
};

}  // namespace isobit::runtime
