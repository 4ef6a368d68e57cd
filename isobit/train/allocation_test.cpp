// A steady step allocates nothing: not in the executor, not in a kernel, not for the batch. Counted by standing in for
// the C library's malloc and its relatives, which operator new calls too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/data/dataset.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/operator_cases_for_test.h"
#include "isobit/runtime/specialise.h"
#include "isobit/train/trainer.h"

#if defined(__GLIBC__) && !defined(ISOBIT_SANITIZED)
#define ISOBIT_COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<bool> counting{false};
std::atomic<int64_t> allocations{0};
void count() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

#ifdef ISOBIT_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t n, size_t size);
void* __libc_realloc(void* p, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  count();
  return __libc_malloc(size);
}
void* calloc(size_t n, size_t size) {
  count();
  return __libc_calloc(n, size);
}
void* realloc(void* p, size_t size) {
  count();
  return __libc_realloc(p, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
void* memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** p, size_t alignment, size_t size) {
  count();
  *p = __libc_memalign(alignment, size);
  return *p == nullptr ? ENOMEM : 0;
}
}
#endif

namespace isobit::train {
namespace {

Job example(const std::string& name, std::vector<std::string> overrides) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  overrides.push_back("job.arithmetic=ordered-1");
  return load_job(std::string(source ? source : ".") + "/examples/jobs/" + name + ".toml", overrides).value();
}

// Allocations of each of some steps after a few.
std::vector<int64_t> counted(const Job& job, int threads, runtime::Recompute what) {
  platform::Platform platform = platform::parse_platform("ordered").value();
  platform.threads = threads;
  platform::Engine engine(platform);
  auto trainer =
      Trainer::create(job, data::open_dataset(job.data).value(), engine, backends::native(), models::built_in(), what)
          .value();
  std::vector<int64_t> counts;
  for (int i = 0; i < 12; ++i) {
    allocations = 0;
    counting = true;
    const bool done = trainer->advance().has_value();
    counting = false;
    EXPECT_TRUE(done);
    if (i >= 3) counts.push_back(allocations);
  }
  return counts;
}

class Allocation : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef ISOBIT_COUNTS_ALLOCATIONS
    GTEST_SKIP() << "skipped: allocations are counted with glibc's malloc only";
#endif
    Bytes bytes(4000);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i / 7);
    ASSERT_TRUE(write_file_durably(text_, bytes));
  }
  void TearDown() override { fs::remove(text_); }

  Job gpt() const {
    return example("tiny-gpt", {text_of("data.path=\"", text_.string(), "\""), "data.context=16", "data.batch=3"});
  }
  const fs::path text_ = fs::temp_directory_path() / text_of("isobit_allocation_", ::getpid());
};

// A count of 0 below means something: a vector and a tensor are counted.
TEST_F(Allocation, IsSeen) {
  counting = true;
  allocations = 0;
  const std::vector<int> v(1000);
  const Tensor t(DType::kFloat32, {1000});
  counting = false;
  EXPECT_GE(allocations, 2);
  EXPECT_TRUE(t.defined() && v.size() == 1000);
}

TEST_F(Allocation, ASteadyStepHasNone) {
  for (const Job& job : {example("digits", {}), gpt(),
                         example("cifar10-resnet", {"data.dataset=digits", "data.path=\"\"", "data.batch=3"})}) {
    // Which thread takes which part is not fixed; what a part finds to compute with is.
    for (const int threads : {1, 2, 3}) {
      for (const runtime::Recompute what : {runtime::Recompute::kNothing, runtime::Recompute::kEverything}) {
        EXPECT_EQ(counted(job, threads, what), std::vector<int64_t>(9, 0))
            << job.name << ", " << threads << " threads, again: " << name_of(what);
      }
    }
  }
}

// Every operator in the type that ordered-1 computes in, on feeds of the caller's. Not those that run graphs, which
// bring memory of their own, and what follows from data.
TEST_F(Allocation, NoOperatorHasOneOnceItHasRun) {
  for (const runtime::OperatorCase& c : runtime::operator_cases()) {
    const runtime::OneOperator one(c, DType::kFloat32);
    if (one.def().runs_graphs) continue;           // it brings memory of its own
    if (!runtime::is_static(one.graph)) continue;  // its shapes follow from data: memory is taken as they are found
    for (const int threads : {1, 2}) {
      ThreadPool pool(threads);
      const kernels::KernelContext ctx{kernels::best_isa(), &pool};
      runtime::Executor executor(one.graph);
      std::vector<Tensor> outputs(one.graph.outputs().size());
      for (int round = 0; round < 4; ++round) {
        runtime::Executor::Feeds feeds;
        for (const Tensor& feed : one.feeds) feeds.emplace_back(one.graph.inputs()[feeds.size()], feed.clone());
        allocations = 0;
        counting = true;
        const bool done = executor.run_into(ctx, feeds, outputs).has_value();
        counting = false;
        ASSERT_TRUE(done) << c.op;
        EXPECT_TRUE(round < 2 || allocations == 0) << c.op << ", " << threads << " threads: " << allocations;
      }
    }
  }
}

}  // namespace
}  // namespace isobit::train
