// That a kernel finishes is a claim like the traits: here every operator that says so tells each element of an output
// once, when it is what it will be, and whoever changes it then changes what later nodes read and nothing else.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/elements.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/naive_executor_for_test.h"
#include "isobit/runtime/operator_cases_for_test.h"
#include "isobit/runtime/specialise.h"
#include "isobit/runtime/stages/rounding_stage.h"

namespace isobit::runtime {
namespace {

bool is_real(const Tensor& t) { return t.defined() && (t.dtype() == DType::kFloat32 || t.dtype() == DType::kFloat64); }

void change_sign(Tensor& t, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    if (t.dtype() == DType::kFloat64) {
      t.data<double>()[i] = -t.data<double>()[i];
    } else {
      t.data<float>()[i] = -t.data<float>()[i];
    }
  }
}

// Changes the sign of every real output, of those that are told when they are.
class Negating final : public Stage, public kernels::Finisher {
 public:
  explicit Negating(int64_t at_once) : Finisher(at_once) {}

  kernels::Finisher* finisher(KernelCall& call) override {
    outputs_.clear();
    for (const Tensor& t : call.outputs) {
      outputs_.push_back({t, std::vector<std::atomic<int>>(is_real(t) ? static_cast<size_t>(t.elements()) : 0)});
    }
    return this;
  }
  void finish(int64_t n, int64_t begin, int64_t end) override {
    for (Output& o : outputs_) {
      if (!is_real(o.tensor) || o.tensor.elements() != n) continue;
      for (int64_t i = begin; i < end; ++i) ++o.told[static_cast<size_t>(i)];
      change_sign(o.tensor, begin, end);
    }
  }
  Status apply(size_t, KernelCall& call) override {
    for (size_t o = 0; o < call.outputs.size(); ++o) {
      if (!is_real(call.outputs[o])) continue;
      int64_t told = 0;
      for (size_t i = 0; o < outputs_.size() && i < outputs_[o].told.size(); ++i) {
        EXPECT_LE(outputs_[o].told[i], 1) << i;
        told += outputs_[o].told[i];
      }
      if (told == 0) {
        change_sign(call.outputs[o], 0, call.outputs[o].elements());
      } else {
        EXPECT_EQ(told, call.outputs[o].elements()) << "output " << o;
        any_told = true;
      }
    }
    outputs_.clear();
    return {};
  }
  Status apply_again(size_t, KernelCall&) override { return {}; }
  bool any_told = false;

 private:
  struct Output {
    Tensor tensor;  // shares the storage
    std::vector<std::atomic<int>> told;
  };
  std::vector<Output> outputs_;
};

Executor::Feeds feeds_of(const OneOperator& one) {
  Executor::Feeds feeds;
  for (size_t i = 0; i < one.feeds.size(); ++i) feeds.emplace_back(one.graph.inputs()[i], one.feeds[i].clone());
  return feeds;
}

class Finishing : public ::testing::TestWithParam<OperatorCase> {};

std::vector<OperatorCase> finishing_cases() {
  std::vector<OperatorCase> cases;
  for (const OperatorCase& c : operator_cases()) {
    const auto kernel = kernel_table().find(c.op);
    if (kernel != kernel_table().end() && kernel->second.finishes) cases.push_back(c);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Operators, Finishing, ::testing::ValuesIn(finishing_cases()), name_of_case);

TEST_P(Finishing, ElementsAreToldOnceAndAsTheyWillBe) {
  std::vector<DType> types = {DType::kFloat32};
  if (graph::find_op(GetParam().op)->any_real_type) types.push_back(DType::kFloat64);
  for (DType dtype : types) {
    const OneOperator one(GetParam(), dtype);
    if (!is_static(one.graph)) continue;
    for (int threads : {1, 3}) {
      ThreadPool pool(threads);
      for (kernels::Isa isa : kernels::available_isas()) {
        const kernels::KernelContext ctx{isa, &pool};
        Negating afterwards(1);
        const auto expected = testing::run_naively(one.graph, ctx, feeds_of(one), &afterwards).value();
        for (int64_t together : {1, 5, 1024}) {
          Negating stage(together);
          const auto outputs = Executor(one.graph).run(ctx, feeds_of(one), {.stage = &stage}).value();
          for (size_t o = 0; o < outputs.size(); ++o) {
            EXPECT_TRUE(identical(outputs[o], expected.at(one.graph.outputs()[o])))
                << name_of(isa) << " " << threads << " " << together << " output " << o;
          }
        }
      }
    }
  }
}

TEST_P(Finishing, RoundingInPiecesIsRounding) {
  if (!graph::find_op(GetParam().op)->any_real_type) return;
  const OneOperator one(GetParam(), DType::kFloat64);
  if (!is_static(one.graph)) return;
  ThreadPool pool(2);
  const kernels::KernelContext ctx{kernels::best_isa(), &pool};
  for (int bits : {26, 32}) {
    RoundingStage afterwards(bits), in_pieces(bits);
    const auto expected = testing::run_naively(one.graph, ctx, feeds_of(one), &afterwards).value();
    const auto outputs = Executor(one.graph).run(ctx, feeds_of(one), {.stage = &in_pieces}).value();
    for (size_t o = 0; o < outputs.size(); ++o) {
      EXPECT_TRUE(identical(outputs[o], expected.at(one.graph.outputs()[o]))) << bits << " output " << o;
    }
  }
}

// An operator that says so and never does would only be slow.
TEST(FinishingOfAll, EveryOneThatSaysSoDoes) {
  std::set<std::string> said, done;
  ThreadPool pool(1);
  for (const auto& [op, kernel] : kernel_table()) {
    if (kernel.finishes) said.insert(op);
  }
  for (const OperatorCase& c : finishing_cases()) {
    const OneOperator one(c, DType::kFloat64);
    if (!is_static(one.graph)) continue;
    Negating stage(1);
    if (Executor(one.graph).run({kernels::best_isa(), &pool}, feeds_of(one), {.stage = &stage}) && stage.any_told) {
      done.insert(c.op);
    }
  }
  EXPECT_EQ(said, done);
  EXPECT_GT(done.size(), 30U);
}

// Whoever wants values sees those of the kernel.
TEST(FinishingOfAll, NothingIsToldWhereAnObserverWantsValues) {
  class Seeing final : public Observer {
   public:
    Status before_stage(const NodeRun& run) override {
      seen = run.outputs[0].clone();
      return {};
    }
    Tensor seen;
  };
  const OneOperator one(OperatorCase{"Exp", {real({30})}}, DType::kFloat64);
  ThreadPool pool(2);
  const kernels::KernelContext ctx{kernels::best_isa(), &pool};
  Seeing observer;
  Negating stage(8);
  ASSERT_TRUE(Executor(one.graph).run(ctx, feeds_of(one), {.observer = &observer, .stage = &stage}));
  EXPECT_FALSE(stage.any_told);
  EXPECT_TRUE(identical(observer.seen, one.run(ctx)[0]));
}

}  // namespace
}  // namespace isobit::runtime
