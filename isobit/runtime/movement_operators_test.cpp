// Operators that move elements, as a graph has them: every type by the size of its elements, parameters in each of
// their forms, and sizes that follow from data.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"

namespace isobit::runtime {
namespace {

using graph::Attributes;
using graph::Graph;
using graph::ValueId;
using Ints = std::vector<int64_t>;

constexpr DType kAllTypes[] = {
#define ISOBIT_EACH(enumerator, T, number, name) DType::enumerator,
    ISOBIT_FOR_DTYPES(ISOBIT_EACH)
#undef ISOBIT_EACH
};

Tensor ints(const Ints& values) { return Tensor::of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values); }

// Elements of which no two are alike, but for bool; their bits say nothing to whoever computes.
Tensor counted(DType dtype, const Ints& dims) {
  Tensor t(dtype, Shape(dims));
  auto* bytes = static_cast<uint8_t*>(t.raw());
  const size_t size = size_of(dtype);
  for (size_t i = 0; i < t.bytes(); ++i) bytes[i] = static_cast<uint8_t>(i % size == 0 ? i / size + 1 : 0xf1);
  for (size_t i = 0; dtype == DType::kBool && i < t.bytes(); ++i) bytes[i] = i % 3 == 0;
  return t;
}

enum class Form { kAttribute, kConstant, kFed };

// A node whose inputs are tensors (undefined: absent) and then parameters.
struct NodeOf {
  std::string op;
  std::vector<Tensor> operands;
  std::vector<std::pair<std::string, Ints>> parameters;  // of inputs 1, 2, ...; "" for an operand
  Attributes attributes = {};
  size_t outputs = 1;

  Expected<std::vector<Tensor>> run(Form form) const {
    Graph g;
    Executor::Feeds feeds;
    std::vector<ValueId> ids;
    Attributes all = attributes;
    const auto feed = [&](const Tensor& t) {
      ids.push_back(g.add_input("x", t.dtype(), t.shape().dims()));
      feeds.emplace_back(ids.back(), t);
    };
    for (const Tensor& t : operands) {
      if (t.defined()) {
        feed(t);
      } else {
        ids.push_back(graph::kNoValue);
      }
    }
    for (size_t p = 0; p < parameters.size(); ++p) {
      const auto& [name, numbers] = parameters[p];
      const size_t input = p + 1;
      if (name.empty()) continue;
      if (form == Form::kAttribute) {
        all.set(name, numbers);
        continue;
      }
      while (ids.size() <= input) ids.push_back(graph::kNoValue);
      ids[input] = form == Form::kConstant ? g.add_initializer("p", ints(numbers))
                                           : g.add_input("p", DType::kInt64, {static_cast<int64_t>(numbers.size())});
      if (form == Form::kFed) feeds.emplace_back(ids[input], ints(numbers));
    }
    ISOBIT_TRY(const auto made, g.add_node(op, ids, all, std::vector<std::string>(outputs, "y")));
    for (const ValueId id : made) g.add_output(id);
    ThreadPool pool(2);
    return Executor(g).run({kernels::best_isa(), &pool}, std::move(feeds));
  }
  std::vector<Tensor> result(Form form = Form::kAttribute) const {
    auto found = run(form);
    EXPECT_TRUE(found) << op << ": " << found.error().message;
    return found.value();
  }
};

std::vector<NodeOf> nodes_with_parameters(DType dtype) {
  const Tensor x = counted(dtype, {4, 3}), one = counted(dtype, {1});
  return {
      {"Slice", {x}, {{"starts", {-1, 0}}, {"ends", {-9, 3}}, {"axes", {0, 1}}, {"steps", {-2, 2}}}},
      {"Slice", {x}, {{"starts", {1}}, {"ends", {3}}}},
      {"Pad", {x, Tensor(), one}, {{"pads", {1, -1, 0, 2}}}},
      {"Pad", {x}, {{"pads", {1, 2}}, {"", {}}, {"axes", {1}}}, {{"mode", std::string("reflect")}}},
      {"Tile", {x}, {{"repeats", {2, 3}}}},
      {"Expand", {x}, {{"shape", {2, 1, 3}}}},
      {"Reshape", {x}, {{"shape", {2, -1}}}},
      {"Squeeze", {counted(dtype, {1, 5, 1})}, {{"axes", {0}}}},
      {"Unsqueeze", {x}, {{"axes", {0, 3}}}},
      {"Split", {x}, {{"split", {1, 3}}}, {}, 2},
      {"CenterCropPad", {x}, {{"shape", {1, 6}}}},
  };
}

TEST(MovementOperators, ParametersMeanTheSameInEveryForm) {
  for (const DType dtype : kAllTypes) {
    for (const NodeOf& node : nodes_with_parameters(dtype)) {
      const std::vector<Tensor> expected = node.result();
      for (const Form form : {Form::kConstant, Form::kFed}) {
        const std::vector<Tensor> found = node.result(form);
        for (size_t o = 0; o < expected.size(); ++o) {
          EXPECT_TRUE(identical(found[o], expected[o])) << node.op << " of " << name_of(dtype);
        }
      }
    }
  }
}

// On elements x [4, 3], of one type after another.
std::vector<NodeOf> nodes_on(const Tensor& x) {
  const Tensor elements = Tensor::of<int64_t>({2, 3}, Ints{3, 0, -1, 1, 1, 2});
  const Tensor rows = Tensor::of<int64_t>({2, 1}, Ints{1, -1});
  Tensor keep(DType::kBool, {3}), part(x.dtype(), {2, 3});
  for (int64_t i = 0; i < 3; ++i) keep.data<bool>()[i] = i != 1;
  std::memcpy(part.raw(), x.raw(), part.bytes());
  return {
      {"Transpose", {x}, {}},
      {"Identity", {x}, {}},
      {"Flatten", {x}, {}, {{"axis", int64_t{0}}}},
      {"Concat", {x, x}, {}, {{"axis", int64_t{1}}}},
      {"Gather", {x, ints({2, -1, 0, 2})}, {}},
      {"GatherElements", {x, elements}, {}},
      {"GatherND", {x, rows}, {}},
      {"ScatterElements", {x, elements, part}, {}},
      {"ScatterND", {x, rows, part}, {}},
      {"TensorScatter", {x, x.reshaped({4, 3}), ints({0, 0, 0, 0})}, {}, {{"axis", int64_t{1}}}},
      {"Compress", {x, keep}, {}, {{"axis", int64_t{1}}}},
      {"ReverseSequence", {x, ints({4, 0, 2})}, {}},
      {"Trilu", {x}, {}, {{"k", int64_t{-1}}}},
      {"Slice", {x}, {{"starts", {3}}, {"ends", {0}}, {"axes", {0}}, {"steps", {-2}}}},
      {"Pad", {x}, {{"pads", {1, 1, 0, -1}}}},
      {"Pad", {x}, {{"pads", {2, 5, 0, 1}}}, {{"mode", std::string("wrap")}}},
      {"CenterCropPad", {x}, {{"shape", {2, 6}}}},
      {"Tile", {x}, {{"repeats", {2, 2}}}},
      {"DepthToSpace", {x.reshaped({1, 12, 1, 1})}, {}, {{"blocksize", int64_t{2}}}},
      {"SpaceToDepth", {x.reshaped({1, 1, 2, 6})}, {}, {{"blocksize", int64_t{2}}}},
  };
}

// Whatever the type, the elements are those that int64 has in their place, or zeros.
TEST(MovementOperators, MoveEveryTypeAlike) {
  Tensor numbers(DType::kInt64, {4, 3});
  for (int64_t i = 0; i < 12; ++i) numbers.data<int64_t>()[i] = i + 1;
  const std::vector<NodeOf> by_number = nodes_on(numbers);
  for (const DType dtype : kAllTypes) {
    const Tensor x = counted(dtype, {4, 3});
    const std::vector<NodeOf> nodes = nodes_on(x);
    const size_t size = size_of(dtype);
    for (size_t n = 0; n < nodes.size(); ++n) {
      SCOPED_TRACE(nodes[n].op + " of " + name_of(dtype));
      const Tensor found = nodes[n].result()[0], source = by_number[n].result()[0];
      ASSERT_EQ(found.dtype(), dtype);
      ASSERT_EQ(found.shape(), source.shape());
      std::vector<uint8_t> expected;
      for (const int64_t number : source.span<int64_t>()) {
        for (size_t b = 0; b < size; ++b) {
          expected.push_back(number == 0 ? 0 : x.byte_view()[static_cast<size_t>(number - 1) * size + b]);
        }
      }
      EXPECT_EQ(expected, (std::vector<uint8_t>(found.byte_view().begin(), found.byte_view().end())));
    }
  }
}

TEST(MovementOperators, ReductionsAreOfEveryNumberType) {
  for (const DType dtype : kAllTypes) {
    if (!NumberTypes::contains(dtype)) continue;
    by_type(NumberTypes{}, dtype, [&]<class T>(T) {
      const T data[] = {5, 2, 9}, updates[] = {3, 4, 1};
      const NodeOf node = {
          "ScatterElements", {Tensor::of<T>({3}, data), ints({0, 0, -1}), Tensor::of<T>({3}, updates)}, {}};
      const std::vector<std::pair<std::string, std::vector<T>>> expected = {
          {"add", {12, 2, 10}}, {"mul", {60, 2, 9}}, {"max", {5, 2, 9}}, {"min", {3, 2, 1}}, {"none", {4, 2, 1}}};
      for (const auto& [reduction, numbers] : expected) {
        NodeOf reducing = node;
        reducing.attributes.set("reduction", reduction);
        EXPECT_TRUE(identical(reducing.result()[0], Tensor::of<T>({3}, numbers))) << reduction << name_of(dtype);
      }
    });
  }
}

TEST(MovementOperators, ConstantsOfEveryType) {
  for (const DType dtype : kAllTypes) {
    NodeOf eye = {"EyeLike", {counted(dtype, {2, 3})}, {}, {{"k", int64_t{-1}}}};
    const Tensor found = eye.result()[0];
    ASSERT_EQ(found.dtype(), dtype);
    const NodeOf to_double = {"Cast", {found}, {}, {{"to", static_cast<int64_t>(DType::kFloat64)}}};
    const double ones[] = {0, 0, 0, 1, 0, 0};
    EXPECT_TRUE(identical(to_double.result()[0], Tensor::of<double>({2, 3}, ones))) << name_of(dtype);
    const Tensor value = counted(dtype, {1});
    const NodeOf filled = {"ConstantOfShape", {}, {}, {{"shape", Ints{2}}, {"value", value}}};
    const NodeOf twice = {"Concat", {value, value}, {}};
    EXPECT_TRUE(identical(filled.result()[0], twice.result()[0])) << name_of(dtype);
  }
}

TEST(MovementOperators, ShapesAreClampedAsSlicesAre) {
  const Tensor x = counted(DType::kInt8, {2, 3, 4});
  const std::vector<std::tuple<int64_t, int64_t, Ints>> cases = {
      {0, INT64_MAX, {2, 3, 4}}, {-1, 9, {4}}, {1, -1, {3}}, {-9, 2, {2, 3}}, {2, 1, {}}, {INT64_MIN, INT64_MIN, {}}};
  for (const auto& [start, end, expected] : cases) {
    const NodeOf shape = {"Shape", {x}, {}, {{"start", start}, {"end", end}}};
    EXPECT_TRUE(identical(shape.result()[0], ints(expected))) << start << " " << end;
  }
  EXPECT_TRUE(identical(NodeOf{"Size", {x}, {}}.result()[0], Tensor::scalar(int64_t{24})));
}

template <class T>
std::vector<T> range_of(T start, T limit, T delta) {
  const NodeOf node = {"Range", {Tensor::scalar(start), Tensor::scalar(limit), Tensor::scalar(delta)}, {}};
  const Tensor found = node.result()[0];
  return {found.span<T>().begin(), found.span<T>().end()};
}

TEST(MovementOperators, RangesAreMeasuredAndFilled) {
  EXPECT_EQ(range_of<float>(1, 2, 0.25f), (std::vector<float>{1, 1.25f, 1.5f, 1.75f}));
  EXPECT_EQ(range_of<float>(0, 0.5f, 0.1f), (std::vector<float>{0, 0.1f, 0.2f, static_cast<float>(3 * 0.1f), 0.4f}));
  EXPECT_EQ(range_of<double>(3, -3, -2.5), (std::vector<double>{3, 0.5, -2}));
  EXPECT_EQ(range_of<int16_t>(10, 4, -3), (std::vector<int16_t>{10, 7}));
  EXPECT_EQ(range_of<int64_t>(INT64_MAX - 1, INT64_MAX, 5), (std::vector<int64_t>{INT64_MAX - 1}));
  EXPECT_TRUE(range_of<int32_t>(4, 4, 1).empty());
  for (float delta : {0.0f, 1e-30f}) {
    const NodeOf endless = {"Range", {Tensor::scalar(0.0f), Tensor::scalar(1.0f), Tensor::scalar(delta)}, {}};
    const auto found = endless.run(Form::kAttribute);
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find("no range"), std::string::npos) << found.error().message;
  }
}

TEST(MovementOperators, SizesFollowFromData) {
  const NodeOf places = {"NonZero", {Tensor::of<int64_t>({2, 2}, Ints{0, 7, -1, 0})}, {}};
  EXPECT_TRUE(identical(places.result()[0], Tensor::of<int64_t>({2, 2}, Ints{0, 1, 1, 0})));
  const NodeOf distinct = {"Unique", {ints({5, 3, 5})}, {}, {}, 4};
  const std::vector<Tensor> found = distinct.result();
  const Ints expected[] = {{3, 5}, {1, 0}, {1, 0, 1}, {1, 2}};
  for (size_t o = 0; o < 4; ++o) EXPECT_TRUE(identical(found[o], ints(expected[o]))) << o;
  Tensor keep(DType::kBool, {2});
  keep.data<bool>()[0] = false;
  keep.data<bool>()[1] = true;
  const NodeOf kept = {"Compress", {ints({5, 3, 5}), keep}, {}};
  EXPECT_TRUE(identical(kept.result()[0], ints({3})));
}

TEST(MovementOperators, WhatDoesNotFitIsAnErrorOfTheRun) {
  const Tensor x = counted(DType::kFloat32, {4, 3});
  for (const NodeOf& node : std::vector<NodeOf>{
           {"Slice", {x}, {{"starts", {0}}, {"ends", {1}}, {"axes", {0}}, {"steps", {0}}}},
           {"Tile", {x}, {{"repeats", {INT64_MAX, 1}}}},
           {"Pad", {x}, {{"pads", {0, INT64_MIN, 0, 0}}}},
           {"Reshape", {x}, {{"shape", {5, -1}}}},
           {"GatherND", {x, Tensor::of<int64_t>({1, 2}, Ints{3, 3})}, {}},
           {"ScatterND", {x, ints({-5}), counted(DType::kFloat32, {3})}, {}},
           {"TensorScatter", {x, counted(DType::kFloat32, {4, 2}), ints({0, 1, 2, 0})}, {}, {{"axis", int64_t{1}}}},
           {"ReverseSequence", {x, ints({0, 5, 0})}, {}},
       }) {
    for (const Form form : {Form::kAttribute, Form::kFed}) {
      const auto found = node.run(form);
      ASSERT_FALSE(found) << node.op;
      EXPECT_EQ(found.error().code, ErrorCode::kUnreadable);
      EXPECT_NE(found.error().message.find("node 'y"), std::string::npos) << found.error().message;
    }
  }
}

}  // namespace
}  // namespace isobit::runtime
