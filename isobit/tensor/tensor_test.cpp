#include "isobit/tensor/tensor.h"

#include <gtest/gtest.h>

namespace isobit {
namespace {

TEST(Shape, CountsElementsOfAnyRange) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.elements(), 30);
  EXPECT_EQ(shape.elements(1, 3), 15);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape.text(), "[2, 3, 5]");
}

TEST(Tensor, CopiesShareStorageAndClonesDoNot) {
  Tensor a = Tensor::zeros(DType::kFloat32, {2, 2});
  Tensor b = a, c = a.clone();
  a.data<float>()[3] = 1;
  EXPECT_EQ(b.data<float>()[3], 1);
  EXPECT_EQ(c.data<float>()[3], 0);
  EXPECT_FALSE(a.sole_owner());
  EXPECT_TRUE(c.sole_owner());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.raw()) % 64, 0u);
}

TEST(Tensor, IdenticalComparesBitsNotValues) {
  EXPECT_FALSE(identical(Tensor::scalar(0.0f), Tensor::scalar(-0.0f)));
  const float nan = __builtin_nanf("");
  EXPECT_TRUE(identical(Tensor::scalar(nan), Tensor::scalar(nan)));
  EXPECT_FALSE(identical(Tensor::zeros(DType::kFloat32, {4}), Tensor::zeros(DType::kFloat32, {2, 2})));
}

TEST(CheckedElements, RefusesOverflowNegativeAndTooLarge) {
  const int64_t overflow[] = {int64_t{1} << 40, int64_t{1} << 40};
  const int64_t negative[] = {3, -1};
  const int64_t large[] = {1 << 20};
  const int64_t fine[] = {3, 4};
  EXPECT_FALSE(checked_elements(overflow, DType::kFloat32, UINT64_MAX));
  const int64_t hidden_overflow[] = {4160684544, 3925868289, 0};  // fits 64 bits unsigned, times 0
  EXPECT_FALSE(checked_elements(hidden_overflow, DType::kUint8, 1 << 20));
  const int64_t empty[] = {4, 0, 1 << 20};
  EXPECT_EQ(checked_elements(empty, DType::kUint8, 1).value(), 0);
  EXPECT_FALSE(checked_elements(negative, DType::kFloat32, UINT64_MAX));
  EXPECT_FALSE(checked_elements(large, DType::kFloat32, 1 << 20));
  EXPECT_EQ(checked_elements(fine, DType::kFloat32, 48).value(), 12);
}

}  // namespace
}  // namespace isobit
