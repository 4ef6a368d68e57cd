#include "isobit/base/scratch.h"

#include <gtest/gtest.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cstdint>
#include <thread>

#include "isobit/base/scratch_shelf.h"
#include "isobit/base/spare_memory.h"
#include "isobit/base/thread_pool.h"

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

// A shelf is its part's on every thread.
TEST(Scratch, WhatAPartKeepsIsThereWhoeverRunsIt) {
  scratch::Shelf* const second = scratch::shelves_of_parts(2)[1];  // the span ends with the next one
  void* kept = nullptr;
  std::thread([&] {
    const scratch::OnShelf shelf(*second);
    kept = scratch::take(5000);
    scratch::give_back(kept, 5000);
    void* growing = scratch::growing_block(1, 10000);
    EXPECT_EQ(scratch::growing_block(1, 20), growing);
    EXPECT_NE(scratch::growing_block(0, 20), growing);
  }).join();
  void* own = scratch::take(5000);
  EXPECT_NE(own, kept);
  scratch::give_back(own, 5000);
  const auto again = scratch::shelves_of_parts(3);
  ASSERT_EQ(again[1], second);
  for (const size_t part : {0u, 1u, 2u}) {
    const scratch::OnShelf shelf(*again[part]);
    void* block = scratch::take(5000);
    EXPECT_EQ(block == kept, part == 1) << part;
    scratch::give_back(block, 5000);
  }
}

TEST(Scratch, PartsOfAParallelForHaveTheirShelves) {
  ThreadPool pool(3);
  void* of_part[3] = {};
  pool.parallel_for(3, 1, [&](int64_t begin, int64_t) {
    void* block = scratch::take(7000);
    of_part[begin] = block;
    scratch::give_back(block, 7000);
  });
  const auto shelves = scratch::shelves_of_parts(3);
  for (size_t part = 0; part < 3; ++part) {
    const scratch::OnShelf shelf(*shelves[part]);
    void* block = scratch::take(7000);
    EXPECT_EQ(block, of_part[part]) << part;
    scratch::give_back(block, 7000);
  }
}

#ifdef __GLIBC__
// Constructed before anything is kept, so destroyed after all of that is gone.
TEST(Scratch, WhatIsGivenBackWhileItsThreadEndsIsNotLost) {
  struct Late {
    ScratchVector<char> bytes;
  };
  const size_t before = mallinfo2().hblkhd;
  std::thread([] {
    static thread_local Late late;
    late.bytes.clear();
    late.bytes.resize(size_t{64} << 20);
  }).join();
  EXPECT_LE(mallinfo2().hblkhd, before + (size_t{1} << 20));
}
#endif

TEST(Scratch, ALimitHoldsForWhatIsHeldAndWhatIsKeptMakesRoom) {
  scratch::trim();
  constexpr size_t kBlock = 1 << 20;
  const size_t before = scratch::held_bytes();
  const size_t unlimited = scratch::set_limit(before + 4 * kBlock);
  void* first = scratch::take(3 * kBlock);  // rounded to 4
  EXPECT_EQ(scratch::held_bytes(), before + 4 * kBlock);
  EXPECT_THROW(scratch::take(kBlock), std::bad_alloc);
  scratch::give_back(first, 3 * kBlock);
  EXPECT_EQ(scratch::held_bytes(), before + 4 * kBlock) << "it is kept";
  void* second = scratch::take(kBlock);
  EXPECT_LE(scratch::held_bytes(), before + 2 * kBlock);
  EXPECT_THROW(scratch::growing_block(0, 8 * kBlock), std::bad_alloc);
  EXPECT_NO_THROW(scratch::growing_block(0, 2 * kBlock));
  scratch::give_back(second, kBlock);
  EXPECT_EQ(scratch::set_limit(unlimited), before + 4 * kBlock);
  scratch::trim();
  EXPECT_EQ(scratch::held_bytes(), before);
}

TEST(Scratch, PartsGiveBackWhatTheyKeep) {
  scratch::trim();
  const size_t before = scratch::held_bytes();
  {
    const scratch::OnShelf shelf(*scratch::shelves_of_parts(2)[1]);
    scratch::give_back(scratch::take(1 << 20), 1 << 20);
  }
  EXPECT_EQ(scratch::held_bytes(), before + (1 << 20));
  scratch::trim();
  EXPECT_EQ(scratch::held_bytes(), before);
}

TEST(Scratch, WhatIsSpareMakesRoomUnlessItIsInUse) {
  scratch::trim();
  const size_t held = scratch::held_bytes(), before = scratch::set_limit(held + (3 << 20));
  {
    scratch::Spare used, left;
    void* const memory = used.take(1 << 20);
    ASSERT_NE(memory, nullptr);
    ASSERT_NE(left.take((1 << 20) - 30), nullptr);
    EXPECT_EQ(left.bytes(), size_t{1} << 20) << "whole lines of 64 bytes";
    left.leave();
    EXPECT_EQ(scratch::held_bytes(), held + (2 << 20));
    EXPECT_EQ(scratch::Spare().take(2 << 20), nullptr) << "nothing goes for what is spare itself";
    { const ScratchVector<char> needed(2 << 20); }
    EXPECT_EQ(left.use(), nullptr);
    EXPECT_EQ(used.use(), memory);
    EXPECT_THROW(scratch::take(4 << 20), std::bad_alloc);
    EXPECT_EQ(used.use(), memory);
    used.leave();
    EXPECT_EQ(used.use(), memory) << "nobody needed it";
    used.leave();
    scratch::trim();
    EXPECT_EQ(used.use(), nullptr);
  }
  scratch::set_limit(before);
  EXPECT_EQ(scratch::held_bytes(), held);
}

TEST(Scratch, WhatIsTooLargeForAnySizeThrows) {
  EXPECT_THROW(ScratchVector<double>(static_cast<size_t>(-1) / 8), std::exception);
  EXPECT_THROW(ScratchAllocator<double>().allocate(static_cast<size_t>(1) << 61), std::bad_alloc);
}

}  // namespace
}  // namespace isobit
