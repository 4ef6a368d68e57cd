// Reductions and ranks of every element type, of nothing, and with parameters that are operands: what the operators of
// ONNX give there.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "isobit/graph/op.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"

namespace isobit::runtime {
namespace {

using graph::Attributes;
using graph::Graph;
using graph::ValueId;
using Ints = std::vector<int64_t>;

// The outputs of one node; operands behind the first are constants.
Expected<std::vector<Tensor>> run(const std::string& op, const std::vector<Tensor>& operands,
                                  const Attributes& attributes, size_t outputs = 1) {
  Graph g;
  const ValueId x = g.add_input("x", operands[0].dtype(), operands[0].shape().dims());
  std::vector<ValueId> ids = {x};
  for (size_t i = 1; i < operands.size(); ++i) ids.push_back(g.add_initializer("parameter", operands[i]));
  ISOBIT_TRY(const auto added, g.add_node(op, ids, attributes, std::vector<std::string>(outputs, "y")));
  for (ValueId id : added) g.add_output(id);
  ThreadPool pool(2);
  return Executor(g).run({kernels::best_isa(), &pool}, {{x, operands[0].clone()}});
}

template <class T>
Tensor tensor(Shape shape, std::vector<T> values) {
  return Tensor::of<T>(std::move(shape), std::span<const T>(values));
}
Tensor truths(Shape shape, std::vector<uint8_t> bytes) {
  Tensor t(DType::kBool, std::move(shape));
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(t.raw()));
  return t;
}

void expect(const Tensor& expected, const std::string& op, const std::vector<Tensor>& operands,
            const Attributes& attributes = {}) {
  SCOPED_TRACE(op);
  const auto found = run(op, operands, attributes);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(identical(found->front(), expected));
}

Attributes axes(Ints list, int64_t keepdims = 0) { return {{"axes", std::move(list)}, {"keepdims", keepdims}}; }

template <class T>
class Integers : public ::testing::Test {};
using Summed = ::testing::Types<int32_t, int64_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(Integers, Summed);

TYPED_TEST(Integers, AreSummedModuloTheirSize) {
  using T = TypeParam;
  constexpr T kMost = std::numeric_limits<T>::max();
  const Tensor x = tensor<T>({2, 3}, {kMost, 1, 2, 3, 4, 5});
  expect(tensor<T>({2}, {static_cast<T>(std::numeric_limits<T>::lowest() + 2), 12}), "ReduceSum", {x}, axes({1}));
  expect(tensor<T>({3}, {static_cast<T>(static_cast<uint64_t>(kMost) * 3), 4, 10}), "ReduceProd", {x}, axes({0}));
  expect(tensor<T>({1}, {4}), "ReduceMean", {tensor<T>({1, 2}, {4, 5})}, axes({1}));
  expect(tensor<T>({}, {55}), "ReduceSumSquare", {tensor<T>({5}, {1, 2, 3, 4, 5})}, axes({}));
  expect(tensor<T>({2, 3}, {0, kMost, static_cast<T>(static_cast<uint64_t>(kMost) + 1), 0, 3, 7}), "CumSum", {x},
         {{"axis", int64_t{1}}, {"exclusive", int64_t{1}}});
}

template <class T>
class Numbers : public ::testing::Test {};
using Compared =
    ::testing::Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(Numbers, Compared);

TYPED_TEST(Numbers, AreComparedInTheirType) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  const Tensor x = tensor<T>({2, 3}, {L::max(), 1, 2, 3, L::lowest(), 3});
  expect(tensor<T>({2}, {L::max(), 3}), "ReduceMax", {x}, axes({1}));
  expect(tensor<T>({2}, {1, L::lowest()}), "ReduceMin", {x}, axes({1}));
  expect(tensor<int64_t>({2, 1}, {0, 0}), "ArgMax", {x}, {{"axis", int64_t{1}}});
  expect(tensor<int64_t>({2}, {0, 2}), "ArgMax", {x},
         {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}, {"select_last_index", int64_t{1}}});
  expect(tensor<int64_t>({1, 3}, {1, 1, 0}), "ArgMin", {x}, {});
  const auto top = run("TopK", {x, tensor<int64_t>({1}, {2})}, {{"largest", int64_t{0}}}, 2);
  ASSERT_TRUE(top) << top.error().message;
  EXPECT_TRUE(identical((*top)[0], tensor<T>({2, 2}, {1, 2, L::lowest(), 3})));
  EXPECT_TRUE(identical((*top)[1], tensor<int64_t>({2, 2}, {1, 2, 1, 0})));
}

TEST(ReductionsOfTruths, AreAnyAndAll) {
  const Tensor x = truths({2, 2}, {0, 9, 1, 255});
  expect(truths({2}, {1, 1}), "ReduceMax", {x}, axes({1}));
  expect(truths({2}, {0, 1}), "ReduceMin", {x}, axes({1}));
  const Tensor none(DType::kBool, {2, 0});
  expect(truths({2}, {0, 0}), "ReduceMax", {none}, axes({1}));
  expect(truths({2}, {1, 1}), "ReduceMin", {none}, axes({1}));
}

TEST(ReductionsOfNothing, AreTheIdentitiesOfOnnx) {
  const Tensor x = Tensor::zeros(DType::kFloat32, {2, 0, 4});
  const float inf = std::numeric_limits<float>::infinity();
  for (const auto& [op, identity] : std::vector<std::pair<std::string, float>>{{"ReduceSum", 0.0f},
                                                                               {"ReduceSumSquare", 0.0f},
                                                                               {"ReduceL2", 0.0f},
                                                                               {"ReduceProd", 1.0f},
                                                                               {"ReduceMax", -inf},
                                                                               {"ReduceMin", inf},
                                                                               {"ReduceLogSumExp", -inf}}) {
    expect(tensor<float>({2, 1, 4}, std::vector<float>(8, identity)), op, {x}, axes({1}, 1));
    expect(Tensor(DType::kFloat32, {0, 4}), op, {x}, axes({0}));
  }
  using L = std::numeric_limits<int32_t>;
  expect(tensor<int32_t>({}, {L::lowest()}), "ReduceMax", {Tensor::zeros(DType::kInt32, {0})}, axes({}));
  expect(tensor<int32_t>({}, {L::max()}), "ReduceMin", {Tensor::zeros(DType::kInt32, {0})}, axes({}));
  // ONNX leaves these open: an error that names the node.
  for (const char* op : {"ReduceMean", "ArgMax", "ArgMin"}) {
    const auto found = run(op, {Tensor::zeros(DType::kFloat32, {0})}, {});
    ASSERT_FALSE(found) << op;
    EXPECT_NE(found.error().message.find("node 'y'"), std::string::npos) << found.error().message;
  }
  expect(Tensor(DType::kFloat32, {0, 4}), "ReduceMean", {x}, axes({0}));
  expect(Tensor(DType::kInt64, {2, 0}), "ArgMax", {x}, {{"axis", int64_t{2}}, {"keepdims", int64_t{0}}});
}

TEST(ReductionsOverNoAxes, AreOfSingleElements) {
  const Tensor x = tensor<float>({3}, {-2, 0.5f, 3});
  const Attributes none = {{"noop_with_empty_axes", int64_t{1}}};
  expect(x, "ReduceSum", {x}, none);
  expect(x, "ReduceMax", {x, Tensor::zeros(DType::kInt64, {0})}, none);
  expect(tensor<float>({3}, {4, 0.25f, 9}), "ReduceSumSquare", {x}, none);
  expect(tensor<float>({3}, {2, 0.5f, 3}), "ReduceL2", {x}, none);
  expect(tensor<float>({1}, {1.5f}), "ReduceSum", {x, Tensor::zeros(DType::kInt64, {0})});
}

TEST(ParametersAsOperands, AreThoseOfAttributes) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  expect(tensor<float>({2, 1}, {6, 15}), "ReduceSum", {x, tensor<int64_t>({1}, {-1})});
  expect(tensor<float>({2, 3}, {1, 3, 6, 4, 9, 15}), "CumSum", {x, tensor<int32_t>({}, {1})});
}

// The rows of a norm need elements; where there are no rows there is nothing to do.
TEST(NormsOfNothing, AreErrorsWhereStatisticsAreAskedFor) {
  const Tensor scale = Tensor::zeros(DType::kFloat32, {1});
  for (const char* op : {"LayerNormalization", "RMSNormalization"}) {
    const size_t outputs = op == std::string("LayerNormalization") ? 3 : 1;
    const auto none = run(op, {Tensor::zeros(DType::kFloat32, {2, 0}), scale}, {}, outputs);
    ASSERT_FALSE(none) << op;
    EXPECT_NE(none.error().message.find("node 'y': rows of no elements"), std::string::npos) << none.error().message;
    EXPECT_TRUE(run(op, {Tensor::zeros(DType::kFloat32, {0, 3}), scale}, {}, outputs)) << op;
  }
}

}  // namespace
}  // namespace isobit::runtime
