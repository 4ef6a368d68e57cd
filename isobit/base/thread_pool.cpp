#include "isobit/base/thread_pool.h"

#include <algorithm>

#include "isobit/base/fp_env.h"
#include "isobit/base/status.h"

namespace isobit {

ThreadPool::ThreadPool(int threads) {
  ISOBIT_CHECK(threads >= 1);
  pin_fp_environment();
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  generation_.fetch_add(1);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_part(int index) {
  if (index >= parts_) return;
  const int64_t begin = n_ * index / parts_, end = n_ * (index + 1) / parts_;
  call_(data_, begin, end);
}

void ThreadPool::run(int64_t n, int64_t grain, Call call, void* data) {
  const int parts = static_cast<int>(std::min<int64_t>(threads(), (n + grain - 1) / grain));
  if (parts <= 1) {
    call(data, 0, n);
    return;
  }
  call_ = call;
  data_ = data;
  n_ = n;
  parts_ = parts;
  pending_.store(static_cast<int>(workers_.size()));
  generation_.fetch_add(1);
  generation_.notify_all();
  run_part(0);
  for (int left = pending_.load(); left != 0; left = pending_.load()) pending_.wait(left);
}

void ThreadPool::work(int index) {
  pin_fp_environment();
  ISOBIT_CHECK(fp_environment_is_standard());
  uint32_t seen = 0;
  for (;;) {
    generation_.wait(seen);
    seen = generation_.load();
    if (stop_.load()) return;
    run_part(index);
    if (pending_.fetch_sub(1) == 1) pending_.notify_one();
  }
}

}  // namespace isobit
