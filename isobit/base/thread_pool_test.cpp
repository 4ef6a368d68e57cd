#include "isobit/base/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "isobit/base/machine_cannot.h"

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

// A sanitizer's own memory would be in the way of the limit.
#if defined(__GLIBC__) && !defined(ISOBIT_SANITIZED)

// Room for a few stacks of 256 MiB and no more. Ends the process: with 0 when the pool said what it should.
[[noreturn]] void ask_for_more_threads_than_there_is_room_for() {
  pthread_attr_t large;
  pthread_attr_init(&large);
  pthread_attr_setstacksize(&large, size_t{256} << 20);
  if (pthread_setattr_default_np(&large) != 0) std::exit(2);
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t room = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) + (uint64_t{900} << 20);
  const rlimit limit = {room, room};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::exit(3);
  try {
    ThreadPool pool(64);
  } catch (const MachineCannot& error) {
    std::fputs(error.what(), stderr);
    pthread_attr_setstacksize(&large, size_t{1} << 20);
    pthread_setattr_default_np(&large);
    ThreadPool small(3);  // those that had started are gone, and so are their stacks
    std::atomic<int> sum{0};
    small.on_every_thread([&](int thread) { sum += thread; });
    std::exit(sum == 3 ? 0 : 4);
  }
  std::exit(5);
}

TEST(ThreadPoolDeathTest, ThreadsThatCannotBeStartedAreAnError) {
  EXPECT_EXIT(ask_for_more_threads_than_there_is_room_for(), testing::ExitedWithCode(0), "cannot start 64 threads: ");
}

#endif

}  // namespace
}  // namespace isobit
