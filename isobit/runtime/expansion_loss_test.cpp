// Losses against plain loops in double.
#include <algorithm>

#include "isobit/graph/expansions/loss.h"
#include "isobit/runtime/expansions_for_test.h"

namespace isobit::runtime {
namespace {

using graph::expansions::LossArguments;
using graph::expansions::negative_log_likelihood_loss;
using graph::expansions::softmax_cross_entropy_loss;

struct Example {
  Ints dims = {3, 5};  // of the scores
  std::string reduction = "mean";
  bool softmax = true, weights = false, narrow = false;
  std::optional<int64_t> ignored = {};
  std::set<int> unknown = {};
};

Ints target_dims(const Ints& dims) {
  Ints target = dims;
  target.erase(target.begin() + 1);
  return target;
}

struct Operands {
  Array scores, target, weights;
};

Operands operands_of(Expanded& e, const Example& x) {
  Operands o{e.random(x.dims), e.random_integers(target_dims(x.dims), x.dims[1]), e.random({x.dims[1]})};
  for (double& w : o.weights.values) w += 1.5;
  // Some places have the index that is ignored, whether it is a class or not.
  if (x.ignored) {
    for (size_t i = 0; i < o.target.values.size(); i += 2) o.target.values[i] = static_cast<double>(*x.ignored);
  }
  return o;
}

// (loss, log_prob) of scores [N, C, rest], the rest as one axis.
std::pair<Array, Array> expected(const Example& x, const Operands& o) {
  const int64_t N = x.dims[0], C = x.dims[1], rest = static_cast<int64_t>(o.target.values.size()) / N;
  Array log_prob = o.scores, losses = Array::zeros(o.target.dims);
  const auto at = [&](int64_t n, int64_t c, int64_t d) { return static_cast<size_t>((n * C + c) * rest + d); };
  double sum = 0, sum_of_weights = 0;
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t d = 0; d < rest; ++d) {
      double total = 0;
      for (int64_t c = 0; c < C; ++c) total += std::exp(o.scores.values[at(n, c, d)]);
      for (int64_t c = 0; c < C && x.softmax; ++c) log_prob.values[at(n, c, d)] -= std::log(total);
      const auto place = static_cast<size_t>(n * rest + d);
      const auto target = static_cast<int64_t>(o.target.values[place]);
      if (x.ignored && target == *x.ignored) continue;
      const double w = x.weights ? o.weights.values[static_cast<size_t>(target)] : 1;
      losses.values[place] = -w * log_prob.values[at(n, target, d)];
      sum += losses.values[place];
      sum_of_weights += w;
    }
  }
  if (x.reduction == "none") return {losses, log_prob};
  return {Array{{}, {x.reduction == "sum" ? sum : sum / sum_of_weights}}, log_prob};
}

LossArguments arguments_of(Expanded& e, const Example& x, const Operands& o) {
  LossArguments a{.name = "n", .reduction = x.reduction, .ignore_index = x.ignored, .wants_log_prob = x.softmax};
  a.scores = e.fed(o.scores, x.unknown);
  a.target = e.fed(x.narrow ? DType::kInt32 : DType::kInt64, o.target);
  if (x.weights) a.weights = e.fed(o.weights);
  return a;
}

void check(const Example& x, DType dtype = DType::kFloat64, double tolerance = 1e-12) {
  Expanded e(dtype);
  const Operands o = operands_of(e, x);
  const LossArguments a = arguments_of(e, x, o);
  const auto [loss, log_prob] = expected(x, o);
  if (!x.softmax) {
    const auto found = e.run("NegativeLogLikelihoodLoss", negative_log_likelihood_loss(e.g, a));
    return expect_near(loss, found.at(0), tolerance);
  }
  const auto found = e.run("SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss(e.g, a));
  ASSERT_EQ(found.size(), 2U);
  expect_near(loss, found[0], tolerance);
  expect_near(log_prob, found[1], tolerance);
}

TEST(Losses, EveryReductionWeightAndRank) {
  for (const Ints& dims : {Ints{3, 5}, Ints{3, 5, 2}, Ints{2, 4, 3, 2}, Ints{3, 2, 2, 1, 3, 2}}) {
    for (const char* reduction : {"none", "sum", "mean"}) {
      for (bool softmax : {false, true}) {
        for (bool weights : {false, true}) {
          check({.dims = dims, .reduction = reduction, .softmax = softmax, .weights = weights});
          // A class, a number below the classes and one above.
          for (int64_t ignored : {1, -5, 10}) {
            check({.dims = dims, .reduction = reduction, .softmax = softmax, .weights = weights, .ignored = ignored});
          }
        }
      }
    }
  }
}

TEST(Losses, InFloat32AndWithTargetsInInt32) {
  check({.dims = {4, 6, 3}}, DType::kFloat32, 1e-5);
  check({.dims = {4, 6, 3}, .weights = true, .narrow = true, .ignored = 2}, DType::kFloat32, 1e-5);
  check({.softmax = false, .narrow = true});
}

TEST(Losses, TheBatchNeedNotBeKnown) {
  check({.dims = {3, 5, 2}, .unknown = {0, 2}});
  check({.dims = {3, 5, 2}, .softmax = false, .weights = true, .ignored = 1, .unknown = {0, 2}});
}

TEST(Losses, LogProbabilitiesAreGivenOutOnlyWhenTheyAreWanted) {
  Expanded e;
  const Operands o = operands_of(e, {});
  LossArguments a = arguments_of(e, {}, o);
  a.wants_log_prob = false;
  EXPECT_EQ(softmax_cross_entropy_loss(e.g, a)->at(1), kNoValue);
  EXPECT_EQ(e.g.nodes().size(), 1U) << "isobit.CrossEntropy alone";
}

TEST(Losses, ATargetThatIsNoClassIsAnErrorOfTheRun) {
  for (bool weights : {false, true}) {
    Expanded e;
    const Example x{.weights = weights};
    Operands o = operands_of(e, x);
    o.target.values[1] = 5;
    const auto outputs = softmax_cross_entropy_loss(e.g, arguments_of(e, x, o));
    ASSERT_TRUE(outputs);
    e.g.add_output(outputs->at(0));
    ThreadPool pool(1);
    Executor::Feeds feeds;
    for (ValueId id : e.g.inputs()) feeds.emplace_back(id, Tensor());
    feeds[0].second = tensor_of(DType::kFloat64, o.scores);
    feeds[1].second = tensor_of(DType::kInt64, o.target);
    if (weights) feeds[2].second = tensor_of(DType::kFloat64, o.weights);
    EXPECT_FALSE(Executor(e.g).run({kernels::best_isa(), &pool}, std::move(feeds)));
  }
}

TEST(Losses, RefuseWhatDoesNotFit) {
  const auto refuse = [](const std::string& words, const std::function<void(Expanded&, LossArguments&)>& change) {
    for (bool softmax : {false, true}) {
      Expanded e;
      const Example x{.dims = {3, 5, 2}, .softmax = softmax, .weights = true};
      LossArguments a = arguments_of(e, x, operands_of(e, x));
      change(e, a);
      Expanded::refused(softmax ? softmax_cross_entropy_loss(e.g, a) : negative_log_likelihood_loss(e.g, a),
                        softmax ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss", words);
    }
  };
  using A = LossArguments;
  refuse("expected floats", [](Expanded& e, A& a) { a.scores = e.fed(DType::kInt64, e.random({3, 5, 2})); });
  refuse("neither int32 nor int64", [](Expanded& e, A& a) { a.target = e.fed(e.random({3, 2})); });
  refuse("the scores have rank 1", [](Expanded& e, A& a) { a.scores = e.fed(e.random({3})); });
  refuse("the target has rank 1, expected 2",
         [](Expanded& e, A& a) { a.target = e.fed(DType::kInt64, e.random({3})); });
  refuse("axis 1 of the target has 4 places, expected 2", [](Expanded& e, A& a) {
    a.target = e.fed(DType::kInt64, e.random({3, 4}));
  });
  refuse("the weights need rank 1", [](Expanded& e, A& a) { a.weights = e.fed(e.random({5, 1})); });
  refuse("4 weights for 5 classes", [](Expanded& e, A& a) { a.weights = e.fed(e.random({4})); });
  refuse("reduction 'all' is not known", [](Expanded&, A& a) { a.reduction = "all"; });
  refuse("must be known before the run",
         [](Expanded& e, A& a) { a.scores = e.g.add_input("s", DType::kFloat64, graph::kUnknownRank); });
}

}  // namespace
}  // namespace isobit::runtime
