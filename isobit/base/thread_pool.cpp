#include "isobit/base/thread_pool.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "isobit/base/fp_env.h"
#include "isobit/base/machine_cannot.h"
#include "isobit/base/scratch_shelf.h"
#include "isobit/base/status.h"
#include "isobit/base/text.h"

namespace isobit {
namespace {

// 0.3 ms on an x86 server of 2020, elsewhere less: most of what a network does on one thread between two loops on all
// takes less.
constexpr int kSpins = 10000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether `done` came.
template <class F>
bool spin_until(int times, F done) {
  for (int i = 0; i < times; ++i) {
    if (done()) return true;
    relax();
  }
  return false;
}

// A call whose parts have a shelf each, whichever thread runs them.
struct Parts {
  void (*call)(void*, int64_t, int64_t);
  void* data;
  std::span<scratch::Shelf* const> shelves;
};

void call_in_parts(void* data, int64_t begin, int64_t end) {
  const Parts& parts = *static_cast<const Parts*>(data);
  parts.call(parts.data, begin, end);
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  ISOBIT_CHECK(threads >= 1 && threads <= 0xffff);
  if (static_cast<unsigned>(threads) <= std::thread::hardware_concurrency()) spins_ = kSpins;
  pin_fp_environment();
  unfinished_.store(threads - 1);
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error& error) {
    end_workers();
    throw MachineCannot(text_of("cannot start ", threads, " threads: ", error.code().message(),
                                "; ask for fewer, where the command takes --platform ('ordered/2t'), or raise the "
                                "limits on processes and memory (ulimit -u, ulimit -v)"));
  } catch (...) {
    end_workers();
    throw;
  }
  // A process that forks while a thread is still being set up may copy locks which that thread holds.
  wait_for_all();
}

ThreadPool::~ThreadPool() { end_workers(); }

void ThreadPool::end_workers() {
  stop_.store(true);
  generation_.fetch_add(1);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// An exception cannot leave a worker; it waits for the caller.
void ThreadPool::call_part(int64_t begin, int64_t end) noexcept {
  try {
    call_(data_, begin, end);
  } catch (...) {
    if (failed_.exchange(1) == 0) failure_ = std::current_exception();
  }
}

void ThreadPool::throw_failure() {
  if (failed_.exchange(0) == 0) return;
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::finish_part() {
  if (unfinished_.fetch_sub(1) == 1) unfinished_.notify_all();
}

void ThreadPool::wait_for_all() {
  for (int left = unfinished_.load(); left != 0; left = unfinished_.load()) unfinished_.wait(left);
}

void ThreadPool::run_open_parts() {
  for (uint64_t open = open_.load();;) {
    const uint64_t part = open & 0xffff, parts = open >> 16 & 0xffff;
    if (part >= parts) return;
    if (!open_.compare_exchange_weak(open, open + 1)) continue;
    // The part is ours, so the call cannot end and its fields cannot change before we are done.
    const auto i = static_cast<int64_t>(part), n = static_cast<int64_t>(parts);
    const scratch::OnShelf shelf(*static_cast<const Parts*>(data_)->shelves[part]);
    call_part(n_ * i / n, n_ * (i + 1) / n);
    finish_part();
    open = open_.load();
  }
}

void ThreadPool::run(int64_t n, int64_t grain, Call call, void* data) {
  const int64_t parts = std::min<int64_t>(threads(), (n + grain - 1) / grain);
  if (parts <= 1) {
    call(data, 0, n);
    return;
  }
  Parts all{call, data, scratch::shelves_of_parts(static_cast<size_t>(parts))};
  call_ = call_in_parts;
  data_ = &all;
  n_ = n;
  unfinished_.store(static_cast<int>(parts));
  const uint32_t generation = generation_.load() + 1;
  open_.store(uint64_t{generation} << 32 | static_cast<uint64_t>(parts) << 16);
  generation_.store(generation);
  generation_.notify_all();
  run_open_parts();
  spin_until(spins_, [this] { return unfinished_.load() == 0; });
  wait_for_all();
  throw_failure();
}

void ThreadPool::run_everywhere(Call call, void* data) {
  call_ = call;
  data_ = data;
  unfinished_.store(threads() - 1);
  const uint32_t generation = generation_.load() + 1;
  everywhere_.store(uint64_t{1} << 32 | generation);
  generation_.store(generation);
  generation_.notify_all();
  call_part(0, 1);
  spin_until(spins_, [this] { return unfinished_.load() == 0; });
  wait_for_all();
  everywhere_.store(0);
  throw_failure();
}

void ThreadPool::work(int thread) {
  pin_fp_environment();
  ISOBIT_CHECK(fp_environment_is_standard());
  finish_part();
  uint32_t seen = 0;
  for (;;) {
    spin_until(spins_, [&] { return generation_.load() != seen; });
    generation_.wait(seen);
    seen = generation_.load();
    if (stop_.load()) return;
    if (everywhere_.load() == (uint64_t{1} << 32 | seen)) {
      call_part(thread, thread + 1);
      finish_part();
    } else {
      run_open_parts();
    }
  }
}

}  // namespace isobit
