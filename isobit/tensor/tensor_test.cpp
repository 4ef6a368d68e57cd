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

// Its memory is the host's, upside down: what is read without a copy is wrong.
class UpsideDown final : public Device {
 public:
  std::string name() const override { return "upside down"; }
  std::shared_ptr<uint8_t[]> allocate(size_t bytes) override { return host().allocate(bytes); }
  void copy_in(uint8_t* to, ByteView from) override {
    for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<uint8_t>(~from[i]);
    ++copies;
  }
  void copy_out(std::span<uint8_t> to, const uint8_t* from) const override {
    for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<uint8_t>(~from[i]);
    ++copies;
  }
  mutable int copies = 0;
};

TEST(Tensor, KnowsItsDeviceAndGoesToAnotherWhenAskedTo) {
  UpsideDown device, other;
  const float values[] = {1, -2, 3, 0};
  const Tensor here = Tensor::of<float>({2, 2}, values);
  EXPECT_TRUE(here.on_host());
  EXPECT_EQ(&here.device(), &host());
  const Tensor there = here.copied_to(device);
  EXPECT_FALSE(there.on_host());
  EXPECT_EQ(&there.device(), &device);
  EXPECT_EQ(device.copies, 1);
  const Tensor view = there.reshaped({4});
  EXPECT_EQ(&view.device(), &device);
  EXPECT_EQ(device.copies, 1) << "a view copies nothing";
  EXPECT_TRUE(identical(view.copied_to(host()), Tensor::of<float>({4}, values)));
  EXPECT_TRUE(identical(there.copied_to(other).copied_to(host()), here));
  EXPECT_EQ(other.copies, 2);
  EXPECT_TRUE(identical(there.clone().copied_to(host()), here));
}

TEST(TensorDeathTest, WhatLiesElsewhereIsNotLookedAt) {
  UpsideDown device;
  const Tensor there = Tensor::scalar(1.0f).copied_to(device);
  EXPECT_DEATH(there.data<float>(), "");
  EXPECT_DEATH(there.byte_view(), "");
}

TEST(Tensor, PartsAndStoragesAreShared) {
  const Tensor bytes = Tensor::zeros(DType::kUint8, {256});
  Tensor part = bytes.part(64, DType::kFloat32, {3});
  part.data<float>()[2] = 1;
  EXPECT_FALSE(bytes.sole_owner());
  EXPECT_EQ(reinterpret_cast<const uint8_t*>(part.raw()), bytes.data<uint8_t>() + 64);
  EXPECT_EQ(bytes.data<uint8_t>()[64 + 11], 0x3f);
  Tensor empty = Tensor::without_storage(DType::kFloat32, {3});
  EXPECT_FALSE(empty.defined());
  EXPECT_TRUE(empty.has_type(DType::kFloat32, {3}));
  empty.share_storage(part);
  EXPECT_TRUE(identical(empty, part));
  empty.drop_storage();
  part = Tensor();
  EXPECT_TRUE(bytes.sole_owner());
}

TEST(Tensor, WhatIsUndefinedStaysSoInEveryCopy) {
  Tensor moved = Tensor::zeros(DType::kFloat64, {2, 3});
  const Tensor to = std::move(moved);
  EXPECT_EQ(to.elements(), 6);
  UpsideDown device;
  for (const Tensor& undefined : {Tensor(), Tensor::without_storage(DType::kFloat32, {1 << 20}), moved}) {
    EXPECT_FALSE(undefined.defined());
    EXPECT_FALSE(undefined.clone().defined());
    EXPECT_FALSE(undefined.copied_to(device).defined());
    EXPECT_TRUE(identical(undefined, undefined));
    EXPECT_TRUE(identical(undefined, Tensor()));
    EXPECT_FALSE(identical(undefined, to));
    EXPECT_FALSE(identical(to, undefined));
  }
  EXPECT_EQ(device.copies, 0);
  EXPECT_EQ(moved.elements(), 0);
  EXPECT_EQ(moved.bytes(), 0u);
  EXPECT_EQ(moved.shape(), Shape());
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

TEST(CheckedElements, ExtentsOfAnEmptyTensorCountWithoutItsZeros) {
  const int64_t empty[] = {4, 0, 1 << 20};
  EXPECT_EQ(checked_extents(empty, DType::kUint8, 4 << 20).value(), 4 << 20);
  EXPECT_FALSE(checked_extents(empty, DType::kUint8, (4 << 20) - 1));
  const int64_t fine[] = {3, 4};
  EXPECT_EQ(checked_extents(fine, DType::kFloat32, 48).value(), 12);
  EXPECT_EQ(checked_extents({}, DType::kFloat32, 4).value(), 1);
}

}  // namespace
}  // namespace isobit
