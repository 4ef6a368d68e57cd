#include "isobit/lab/measure/parallel.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "isobit/base/machine_cannot.h"
#include "isobit/base/text.h"

namespace isobit::lab::measure {
namespace {

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  int free = 0;
  std::vector<bool> ended;
};

class Threads {
 public:
  ~Threads() {
    for (std::thread& t : threads_) t.join();
  }
  template <class Work>
  void start(Work work) {
    try {
      threads_.emplace_back(std::move(work));
    } catch (const std::system_error& error) {
      throw MachineCannot(text_of("no thread can be started to wait for a worker: ", error.what()));
    }
  }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace

Status in_parallel(const std::vector<int>& weights, int cores, const std::function<void(size_t)>& work,
                   const std::function<Status(size_t)>& done, const std::function<void()>& abandon) {
  State state;
  state.free = cores;
  state.ended.assign(weights.size(), false);
  Threads threads;
  size_t begun = 0, taken = 0;
  const auto weight = [&](size_t i) { return std::clamp(weights[i], 1, cores); };
  while (taken < weights.size()) {
    {
      std::unique_lock lock(state.mutex);
      state.changed.wait(lock,
                         [&] { return state.ended[taken] || (begun < weights.size() && weight(begun) <= state.free); });
      if (begun < weights.size() && weight(begun) <= state.free) {
        state.free -= weight(begun);
        threads.start([&state, &work, i = begun, w = weight(begun)] {
          work(i);
          const std::lock_guard guard(state.mutex);
          state.ended[i] = true;
          state.free += w;
          state.changed.notify_one();
        });
        ++begun;
        continue;
      }
    }
    if (const Status status = done(taken++); !status) {
      abandon();
      return status;
    }
  }
  return {};
}

}  // namespace isobit::lab::measure
