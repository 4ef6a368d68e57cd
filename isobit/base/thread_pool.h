// A fixed set of threads and a parallel-for. Ordered code gives every output element to exactly one range, so the
// number of threads cannot reach the bits.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <type_traits>
#include <vector>

namespace isobit {

class ThreadPool {
 public:
  // threads >= 1, the caller included. Worker threads pin the floating-point environment. MachineCannot or
  // std::bad_alloc when the system starts fewer than that; those that had started have ended by then.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls f(begin, end) on disjoint ranges that cover [0, n): as many as threads, or ceil(n / grain) where that is
  // less. Their lengths differ by one at most; where there are several none is shorter than half of `grain`. Returns
  // when all are done. Which thread runs which range is not fixed: on a busy machine the caller takes those that no
  // worker has begun, instead of waiting for it. What f throws on any thread (memory may run out) is thrown here once
  // every range is done or given up: the first of several. f must not call parallel_for itself, nor may there be two at
  // a time.
  template <class F>
  void parallel_for(int64_t n, int64_t grain, F&& f) {
    if (n <= 0) return;
    auto call = [](void* data, int64_t begin, int64_t end) {
      (*static_cast<std::remove_reference_t<F>*>(data))(begin, end);
    };
    run(n, grain < 1 ? 1 : grain, call, const_cast<void*>(static_cast<const void*>(&f)));
  }

  // Calls f(thread) once on every thread, 0 being the caller, and returns when all are done. For what belongs to a
  // thread and not to work: every worker is woken and waited for. Otherwise as parallel_for.
  template <class F>
  void on_every_thread(F&& f) {
    auto call = [](void* data, int64_t thread, int64_t) {
      (*static_cast<std::remove_reference_t<F>*>(data))(static_cast<int>(thread));
    };
    run_everywhere(call, const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  using Call = void (*)(void*, int64_t, int64_t);
  void run(int64_t n, int64_t grain, Call call, void* data);
  void run_everywhere(Call call, void* data);
  void work(int thread);
  void end_workers();
  void run_open_parts();
  void call_part(int64_t begin, int64_t end) noexcept;
  void throw_failure();
  void finish_part();
  void wait_for_all();

  int spins_ = 0;  // before a thread sleeps; none where threads share processors
  std::vector<std::thread> workers_;
  std::atomic<uint32_t> generation_{0};  // what workers sleep on
  // Generation (32 bits), parts (16), next part to be taken (16): one word, so that a worker that comes late takes no
  // part of a later call by mistake.
  std::atomic<uint64_t> open_{0};
  // 2^32 + the generation that every worker runs once; 0 for none. With its generation, so that a worker that is late
  // for the one before does not take it for that.
  std::atomic<uint64_t> everywhere_{0};
  std::atomic<int> unfinished_{0};
  std::atomic<bool> stop_{false};
  // Of the current call; stable while any of its parts is taken and unfinished.
  Call call_ = nullptr;
  void* data_ = nullptr;
  int64_t n_ = 0;
  // What a part threw, written by the first that threw (0 before, 1 from then on) before it is finished. No bool:
  // RISC-V exchanges whole words only.
  std::atomic<int> failed_{0};
  std::exception_ptr failure_;
};

}  // namespace isobit
