// Training losses against plain loops in double, and their gradients against finite differences.
#include <algorithm>

#include "isobit/graph/expansions/criterion.h"
#include "isobit/runtime/expansions_for_test.h"
#include "isobit/runtime/gradient_check_for_test.h"

namespace isobit::runtime {
namespace {

using graph::expansions::Criterion;
using graph::expansions::criterion_loss;
using graph::expansions::CriterionArguments;

constexpr Criterion kAll[] = {Criterion::kSquared, Criterion::kAbsolute, Criterion::kHuber, Criterion::kLogistic};

double element(Criterion criterion, double o, double t, double delta) {
  const double d = o - t, a = std::abs(d);
  switch (criterion) {
    case Criterion::kSquared:
      return d * d;
    case Criterion::kAbsolute:
      return a;
    case Criterion::kHuber:
      return a <= delta ? 0.5 * d * d : delta * (a - 0.5 * delta);
    case Criterion::kLogistic:
      return t * std::log1p(std::exp(-o)) + (1 - t) * std::log1p(std::exp(o));
  }
  return 0;
}

// Targets of logistic lie in [0, 1].
Array target_of(Expanded& e, Criterion criterion, const Ints& dims) {
  Array t = e.random(dims);
  for (double& x : t.values) x = criterion == Criterion::kLogistic ? (x > 0 ? 1 : 0) : 2 * x;
  return t;
}

Array run(graph::Graph& g, const Executor::Feeds& feeds, graph::ValueId output) {
  g.add_output(output);
  ThreadPool pool(2);
  return numbers_of(Executor(g).run({kernels::best_isa(), &pool}, feeds).value()[0]);
}

TEST(Criteria, AreMeansOfTheirElements) {
  for (const Criterion criterion : kAll) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      for (const Ints& dims : {Ints{4}, Ints{3, 5}, Ints{2, 3, 2}}) {
        for (const bool by_sample : {false, true}) {
          Expanded e(dtype);
          const Array o = e.random(dims), t = target_of(e, criterion, dims);
          const CriterionArguments a{criterion, "loss", e.fed(o), e.fed(t), 0.75, by_sample};
          const auto loss = criterion_loss(e.g, a);
          ASSERT_TRUE(loss) << loss.error().message;
          const auto rows = static_cast<size_t>(by_sample ? dims[0] : 1);
          const size_t each = o.values.size() / rows;
          Array expected{by_sample ? Ints{dims[0]} : Ints{}, std::vector<double>(rows, 0)};
          for (size_t i = 0; i < o.values.size(); ++i) {
            expected.values[i / each] += element(criterion, o.values[i], t.values[i], 0.75) / static_cast<double>(each);
          }
          expect_near(expected, run(e.g, e.feeds(), *loss), dtype == DType::kFloat32 ? 1e-6 : 1e-14);
        }
      }
    }
  }
}

// As PyTorch's formula, which takes a difference, would not be.
TEST(Criteria, LogisticKeepsItsDigitsFarFromTheBoundary) {
  Expanded e(DType::kFloat32);
  const Array o{{4}, {30, -30, 100, -100}}, t{{4}, {1, 0, 0, 1}};
  const auto loss = criterion_loss(e.g, {Criterion::kLogistic, "loss", e.fed(o), e.fed(t), 1, true});
  const Array found = run(e.g, e.feeds(), loss.value());
  EXPECT_NEAR(found.values[0] / std::exp(-30.0), 1, 1e-6);
  EXPECT_NEAR(found.values[1] / std::exp(-30.0), 1, 1e-6);
  EXPECT_EQ(found.values[2], 100);
  EXPECT_EQ(found.values[3], 100);
}

TEST(Criteria, GradientsAgreeWithFiniteDifferences) {
  for (const Criterion criterion : kAll) {
    GradientCheck check;
    const graph::ValueId output = check.input({3, 4}, -2, 2);
    Tensor target(DType::kFloat64, {3, 4});
    for (int64_t i = 0; i < 12; ++i) target.data<double>()[i] = i % 3 == 0 ? 1 : 0;
    const auto loss =
        criterion_loss(check.graph_so_far(), {criterion, "loss", output, check.constant(target), 0.5, false});
    ASSERT_TRUE(loss) << loss.error().message;
    check.check(*loss);
  }
}

TEST(Criteria, SmoothingSpreadsAShareOverAllClasses) {
  Expanded e;
  const Array scores = e.random({5, 3});
  const ValueId fed = e.fed(scores), plain = e.g.add_initializer("plain", Tensor::scalar(0.25));
  const auto smoothed = graph::expansions::smoothed_cross_entropy(e.g, "loss", plain, fed, 0.1);
  ASSERT_TRUE(smoothed) << smoothed.error().message;
  double mean = 0;
  for (size_t row = 0; row < 5; ++row) {
    double total = 0;
    for (size_t c = 0; c < 3; ++c) total += std::exp(scores.values[row * 3 + c]);
    for (size_t c = 0; c < 3; ++c) mean += (std::log(total) - scores.values[row * 3 + c]) / 15;
  }
  expect_near(Array{{}, {0.9 * 0.25 + 0.1 * mean}}, run(e.g, e.feeds(), *smoothed), 1e-14);
}

TEST(Criteria, WhatDoesNotFitIsRefused) {
  const auto refused = [](const Ints& output, DType type, const Ints& target, CriterionArguments a) {
    graph::Graph g;
    a.name = "loss";
    a.output = g.add_input("o", DType::kFloat32, output);
    a.target = g.add_input("t", type, target);
    const auto loss = criterion_loss(g, a);
    return loss ? std::string("accepted") : loss.error().message;
  };
  const DType f32 = DType::kFloat32;
  EXPECT_NE(refused({2, 3}, f32, {3, 2}, {}).find("shape [2, 3], the target [3, 2]"), std::string::npos);
  EXPECT_NE(refused({2}, DType::kInt64, {2}, {}).find("expected float32 both"), std::string::npos);
  EXPECT_NE(refused({}, f32, {}, {.by_sample = true}).find("a scalar has no samples"), std::string::npos);
  EXPECT_NE(refused({2}, f32, {2}, {.criterion = Criterion::kHuber, .delta = 0}).find("above 0"), std::string::npos);
  EXPECT_EQ(refused({}, f32, {}, {}), "accepted");
  graph::Graph g;
  const auto one = g.add_input("x", f32, {3});
  const auto scalar = g.add_input("l", f32, {});
  EXPECT_FALSE(graph::expansions::smoothed_cross_entropy(g, "loss", scalar, one, 0.1));
  EXPECT_FALSE(graph::expansions::smoothed_cross_entropy(g, "loss", scalar, g.add_input("s", f32, {2, 3}), 1));
}

}  // namespace
}  // namespace isobit::runtime
