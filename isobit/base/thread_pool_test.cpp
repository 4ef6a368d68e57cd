#include "isobit/base/thread_pool.h"

#include <gtest/gtest.h>

#include <new>
#include <vector>

namespace isobit {
namespace {

TEST(ThreadPool, WhatAPartThrowsReachesTheCallerAndThePoolGoesOn) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (int64_t bad = 0; bad < 20; bad += 7) {
      EXPECT_THROW(pool.parallel_for(20, 1,
                                     [&](int64_t begin, int64_t end) {
                                       if (begin <= bad && bad < end) throw std::bad_alloc();
                                     }),
                   std::bad_alloc);
      std::vector<int> done(20);
      pool.parallel_for(20, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++done[static_cast<size_t>(i)];
      });
      EXPECT_EQ(done, std::vector<int>(20, 1));
    }
  }
}

TEST(ThreadPool, OfSeveralFailuresOneIsThrown) {
  ThreadPool pool(4);
  for (int i = 0; i < 10; ++i) {
    EXPECT_THROW(pool.parallel_for(4, 1, [](int64_t, int64_t) { throw std::bad_alloc(); }), std::bad_alloc);
    EXPECT_THROW(pool.on_every_thread([](int) { throw std::bad_alloc(); }), std::bad_alloc);
  }
  int ran = 0;
  pool.parallel_for(1, 1, [&](int64_t, int64_t) { ++ran; });
  EXPECT_EQ(ran, 1);
}

TEST(ThreadPool, OneThreadMayFailInWhatBelongsToEveryThread) {
  ThreadPool pool(3);
  for (int which : {0, 1, 2}) {
    EXPECT_THROW(pool.on_every_thread([&](int thread) {
      if (thread == which) throw std::bad_alloc();
    }),
                 std::bad_alloc);
  }
}

}  // namespace
}  // namespace isobit
