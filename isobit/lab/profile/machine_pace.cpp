#include "isobit/lab/profile/machine_pace.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "isobit/kernels/matmul/gemm.h"

namespace isobit::lab::profile {
namespace {

constexpr int kTries = 5;
constexpr double kLongEnough = 0.01;  // seconds

template <class F>
double best_rate(const platform::Clock& clock, double work, F&& f) {
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const double begin = clock();
    f();
    const double seconds = clock() - begin;
    if (seconds > 0) best = std::max(best, work / seconds);
  }
  return best;
}

template <class T>
double fma_rate(ThreadPool& pool, kernels::Isa isa, const platform::Clock& clock) {
  const kernels::gemm::Table<T>& table = kernels::gemm::table_of<T>(isa);
  std::atomic<T> unused{};
  const auto run = [&](int64_t rounds) { pool.on_every_thread([&](int) { unused = table.chain_fmas(rounds); }); };
  // As many rounds as take long enough on this machine: emulated fmas are fifty times slower than others.
  int64_t rounds = 1024;
  for (double seconds = 0; seconds < kLongEnough; rounds *= 2) {
    const double begin = clock();
    run(rounds);
    seconds = clock() - begin;
  }
  const double fmas = static_cast<double>(rounds) * table.lanes * kernels::gemm::kFmaChains * pool.threads();
  return best_rate(clock, 2 * fmas, [&] { run(rounds); });
}

double memory_rate(ThreadPool& pool, const platform::Clock& clock) {
  constexpr int64_t kElements = kPaceBytes / 2 / static_cast<int64_t>(sizeof(float));
  std::vector<float> a(kElements, 1), b(kElements, 1);
  return best_rate(clock, 3.0 * kElements * sizeof(float), [&] {
    pool.parallel_for(kElements, 1 << 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) b[static_cast<size_t>(i)] += a[static_cast<size_t>(i)];
    });
  });
}

}  // namespace

MachinePace measure_pace(const platform::Platform& platform, const platform::Clock& clock) {
  ThreadPool pool(platform.threads);
  return {.float32 = fma_rate<float>(pool, platform.isa, clock),
          .float64 = fma_rate<double>(pool, platform.isa, clock),
          .bytes = memory_rate(pool, clock)};
}

}  // namespace isobit::lab::profile
