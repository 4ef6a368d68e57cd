#include "isobit/base/scratch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace isobit {
namespace {

TEST(Scratch, MemoryGivenBackServesTheNextOfItsSize) {
  void* first = scratch::take(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  void* second = scratch::take(1000);
  EXPECT_NE(first, second);
  scratch::give_back(first, 1000);
  EXPECT_EQ(scratch::take(1024), first);
  scratch::give_back(first, 1024);
  scratch::give_back(second, 1000);
  void* other = scratch::take(3000);  // of another size
  EXPECT_NE(other, first);
  EXPECT_NE(other, second);
  scratch::give_back(other, 3000);
}

TEST(Scratch, VectorsGrowAndMayEndOnAnotherThread) {
  ScratchVector<int> v;
  for (int i = 0; i < 1000; ++i) v.push_back(i);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(v[static_cast<size_t>(i)], i);
  std::thread([gone = std::move(v)]() mutable { gone = {}; }).join();
}

TEST(Scratch, WhatIsTooLargeForAnySizeThrows) {
  EXPECT_THROW(ScratchVector<double>(static_cast<size_t>(-1) / 8), std::exception);
  EXPECT_THROW(ScratchAllocator<double>().allocate(static_cast<size_t>(1) << 61), std::bad_alloc);
}

}  // namespace
}  // namespace isobit
