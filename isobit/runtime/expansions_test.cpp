// Operators that are written as others compute what ONNX says: against loops in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "isobit/graph/expansions/normalisation.h"
#include "isobit/graph/expansions/reductions.h"
#include "isobit/graph/expansions/softmax.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"

namespace isobit::runtime {
namespace {

namespace expansions = graph::expansions;

using graph::Attributes;
using graph::Graph;
using graph::ValueId;
using Ints = std::vector<int64_t>;
using Values = std::vector<ValueId>;
using Doubles = std::vector<double>;
using Expansion = Expected<Values> (*)(Graph&, const Values&, const Attributes&, const std::vector<std::string>&);

Tensor random_tensor(DType dtype, Ints dims, uint64_t seed) {
  Tensor t(dtype, Shape(std::move(dims)));
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < t.elements(); ++i) {
    const double x = static_cast<double>(random() % 4001) / 1000 - 2;
    if (dtype == DType::kFloat32) t.data<float>()[i] = static_cast<float>(x);
    if (dtype == DType::kFloat64) t.data<double>()[i] = x;
    if (dtype == DType::kInt64) t.data<int64_t>()[i] = static_cast<int64_t>(x * 50);
  }
  return t;
}

Doubles doubles(const Tensor& t) {
  if (t.dtype() == DType::kFloat64) return {t.span<double>().begin(), t.span<double>().end()};
  if (t.dtype() == DType::kInt64) return {t.span<int64_t>().begin(), t.span<int64_t>().end()};
  return {t.span<float>().begin(), t.span<float>().end()};
}

// The outputs of the nodes that an operator is written as. Dimensions that are -1 in `dims` are not known to them.
std::vector<Tensor> run(Expansion expansion, const std::vector<Tensor>& inputs, const Attributes& attributes,
                        size_t outputs = 1, const std::vector<Ints>& dims = {}) {
  Graph g;
  Values ids;
  Executor::Feeds feeds;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Ints known = i < dims.size() ? dims[i] : inputs[i].shape().dims();
    ids.push_back(g.add_input("x", inputs[i].dtype(), known));
    feeds.emplace_back(ids.back(), inputs[i].clone());
  }
  const auto made = expansion(g, ids, attributes, std::vector<std::string>(outputs, "y"));
  EXPECT_TRUE(made) << made.error().message;
  if (!made) return {};
  for (ValueId id : *made) g.add_output(id);
  ThreadPool pool(2);
  auto found = Executor(g).run({kernels::best_isa(), &pool}, std::move(feeds));
  EXPECT_TRUE(found) << (found ? "" : found.error().message);
  return found ? *found : std::vector<Tensor>{};
}

void expect_near(const Tensor& found, const Doubles& expected, double tolerance) {
  const Doubles all = doubles(found);
  ASSERT_EQ(all.size(), expected.size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(all[i], expected[i], tolerance) << i;
}

// f(line of elements) -> as many, for every line of x along an axis.
Doubles along(const Tensor& x, int axis, const std::function<Doubles(const Doubles&)>& f) {
  const int64_t n = x.shape()[axis], inner = x.shape().elements(axis + 1, x.shape().rank());
  const Doubles src = doubles(x);
  Doubles dst(src.size());
  for (size_t e = 0; e < src.size(); ++e) {
    if (static_cast<int64_t>(e) / inner % n != 0) continue;
    Doubles line;
    for (int64_t a = 0; a < n; ++a) line.push_back(src[e + static_cast<size_t>(a * inner)]);
    const Doubles out = f(line);
    for (int64_t a = 0; a < n; ++a) dst[e + static_cast<size_t>(a * inner)] = out[static_cast<size_t>(a)];
  }
  return dst;
}

Doubles softmax_of(const Doubles& x) {
  double sum = 0;
  for (double v : x) sum += std::exp(v);
  Doubles out;
  for (double v : x) out.push_back(std::exp(v) / sum);
  return out;
}

double tolerance_of(DType dtype) { return dtype == DType::kFloat32 ? 5e-6 : 1e-12; }
constexpr DType kReals[] = {DType::kFloat32, DType::kFloat64};

TEST(ExpansionsRun, SoftmaxesOfAnyAxis) {
  for (DType dtype : kReals) {
    const Tensor x = random_tensor(dtype, {3, 4, 5}, 1);
    for (int axis : {0, 1, 2}) {
      const Attributes attributes = {{"axis", int64_t{axis} - 3}};
      const Doubles expected = along(x, axis, softmax_of);
      expect_near(run(expansions::softmax, {x}, attributes)[0], expected, tolerance_of(dtype));
      Doubles logs;
      for (double p : expected) logs.push_back(std::log(p));
      expect_near(run(expansions::log_softmax, {x}, attributes)[0], logs, tolerance_of(dtype));
    }
    // Of the matrix [3, 20].
    const Doubles rows = along(x.reshaped({3, 20}), 1, softmax_of);
    expect_near(run(expansions::softmax_of_matrix, {x}, {})[0], rows, tolerance_of(dtype));
  }
}

TEST(ExpansionsRun, HardmaxMarksTheFirstOfTheLargest) {
  const float values[] = {1, 3, 3, 0, 2, 1}, last[] = {0, 1, 0, 0, 1, 0}, first[] = {1, 1, 1, 0, 0, 0};
  const Tensor x = Tensor::of<float>({2, 3}, values);
  for (const Ints& known : {Ints{2, 3}, Ints{-1, -1}}) {
    EXPECT_TRUE(identical(run(expansions::hardmax, {x}, {}, 1, {known})[0], Tensor::of<float>({2, 3}, last)));
    EXPECT_TRUE(identical(run(expansions::hardmax, {x}, {{"axis", int64_t{0}}}, 1, {known})[0],
                          Tensor::of<float>({2, 3}, first)));
  }
}

TEST(ExpansionsRun, Reductions) {
  const Attributes rows = {{"axes", Ints{1}}, {"keepdims", int64_t{0}}};
  for (DType dtype : kReals) {
    const Tensor x = random_tensor(dtype, {4, 6}, 2);
    Doubles l1(4), l2(4), exps(4);
    const Doubles v = doubles(x);
    for (size_t e = 0; e < 24; ++e) {
      l1[e / 6] += std::fabs(v[e]);
      l2[e / 6] += v[e] * v[e];
      exps[e / 6] += std::exp(v[e]);
    }
    for (double& s : l2) s = std::sqrt(s);
    for (double& s : exps) s = std::log(s);
    expect_near(run(expansions::reduce_l1, {x}, rows)[0], l1, tolerance_of(dtype));
    expect_near(run(expansions::reduce_l2, {x}, rows)[0], l2, tolerance_of(dtype));
    expect_near(run(expansions::reduce_log_sum_exp, {x}, rows)[0], exps, tolerance_of(dtype));
  }
  const int64_t whole[] = {3, -4, 12, 0, 5, 1};
  const Tensor x = Tensor::of<int64_t>({2, 3}, whole);
  expect_near(run(expansions::reduce_l1, {x}, rows)[0], {19, 6}, 0);
  expect_near(run(expansions::reduce_l2, {x}, rows)[0], {13, 5}, 0);      // of 169 and 26
  expect_near(run(expansions::reduce_log_sum, {x}, rows)[0], {2, 1}, 0);  // of log 11 and log 6
  expect_near(run(expansions::reduce_log_sum_exp, {x}, rows)[0], {12, 5}, 0);
}

// x normalised over the elements that `group` puts together; `scale` and `bias` by element.
Doubles normalised(const Tensor& x, double epsilon, const std::function<int64_t(int64_t)>& group,
                   const std::function<double(int64_t)>& scale, const std::function<double(int64_t)>& bias) {
  const Doubles v = doubles(x);
  std::map<int64_t, Doubles> members;
  for (size_t e = 0; e < v.size(); ++e) members[group(static_cast<int64_t>(e))].push_back(v[e]);
  std::map<int64_t, std::pair<double, double>> moments;
  for (const auto& [g, all] : members) {
    double mean = 0, var = 0;
    for (double m : all) mean += m / static_cast<double>(all.size());
    for (double m : all) var += (m - mean) * (m - mean) / static_cast<double>(all.size());
    moments[g] = {mean, 1 / std::sqrt(var + epsilon)};
  }
  Doubles out;
  for (size_t e = 0; e < v.size(); ++e) {
    const auto i = static_cast<int64_t>(e);
    const auto& [mean, r] = moments[group(i)];
    out.push_back((v[e] - mean) * r * scale(i) + bias(i));
  }
  return out;
}

TEST(ExpansionsRun, NormsOfGroupsAndInstances) {
  for (DType dtype : kReals) {
    const Tensor x = random_tensor(dtype, {2, 4, 3, 5}, 3), scale = random_tensor(dtype, {4}, 4),
                 bias = random_tensor(dtype, {4}, 5);
    const Doubles s = doubles(scale), b = doubles(bias);
    const auto by_channel = [](const Doubles& of) {
      return [values = &of](int64_t e) { return (*values)[static_cast<size_t>(e / 15 % 4)]; };
    };
    const Attributes groups = {{"num_groups", int64_t{2}}, {"epsilon", 1e-2}, {"stash_type", int64_t{11}}};
    const Doubles expected = normalised(
        x, 1e-2, [](int64_t e) { return e / 30; }, by_channel(s), by_channel(b));
    for (const Ints& known : {Ints{2, 4, 3, 5}, Ints{-1, 4, 3, -1}, Ints{-1, -1, -1, -1}}) {
      const std::vector<Tensor> found = run(expansions::group_normalization, {x, scale, bias}, groups, 1, {known});
      expect_near(found[0], expected, tolerance_of(dtype));
    }
    const Tensor of_group = random_tensor(dtype, {2}, 6);
    const Doubles g = doubles(of_group);
    const auto by_group = [&g](int64_t e) { return g[static_cast<size_t>(e / 30 % 2)]; };
    expect_near(run(expansions::group_normalization_by_group, {x, of_group, of_group}, groups)[0],
                normalised(
                    x, 1e-2, [](int64_t e) { return e / 30; }, by_group, by_group),
                tolerance_of(dtype));
    expect_near(run(expansions::instance_normalization, {x, scale, bias}, {{"epsilon", 1e-2}})[0],
                normalised(
                    x, 1e-2, [](int64_t e) { return e / 15; }, by_channel(s), by_channel(b)),
                tolerance_of(dtype));
  }
}

TEST(ExpansionsRun, NormsOfRows) {
  const auto one = [](int64_t) { return 1.0; };
  for (DType dtype : kReals) {
    const Tensor x = random_tensor(dtype, {2, 3, 4}, 7), scale = random_tensor(dtype, {3, 1}, 8),
                 bias = random_tensor(dtype, {2, 1, 4}, 9);
    const Doubles s = doubles(scale), b = doubles(bias);
    for (int64_t axis : {0, 1, 2}) {
      const int64_t width = x.shape().elements(static_cast<int>(axis), 3);
      const auto row = [&](int64_t e) { return e / width; };
      const Doubles expected = normalised(
          x, 1e-5, row, [&](int64_t e) { return s[static_cast<size_t>(e / 4 % 3)]; },
          [&](int64_t e) { return b[static_cast<size_t>(e / 12 * 4 + e % 4)]; });
      const auto found =
          run(expansions::layer_normalization, {x, scale, bias}, {{"axis", axis}, {"stash_type", int64_t{11}}}, 3);
      expect_near(found[0], expected, tolerance_of(dtype));
      Ints rows = {2, 3, 4};
      for (int64_t a = axis; a < 3; ++a) rows[static_cast<size_t>(a)] = 1;
      EXPECT_EQ(found[1].shape().dims(), rows);
      EXPECT_EQ(found[2].dtype(), DType::kFloat64) << "of the first stage";
      // y = (x - mean) * inv_std_dev, whatever the scale.
      const Doubles plain = normalised(x, 1e-5, row, one, [](int64_t) { return 0.0; });
      const Doubles mean = doubles(found[1]), inverse = doubles(found[2]), v = doubles(x);
      for (size_t e = 0; e < v.size(); ++e) {
        const size_t r = e / static_cast<size_t>(width);
        EXPECT_NEAR((v[e] - mean[r]) * inverse[r], plain[e], 1e-9);
      }
    }
  }
}

// A first stage in float32 of numbers in float64 has the precision of float32.
TEST(ExpansionsRun, TheFirstStageMayBeNarrower) {
  const Tensor x = random_tensor(DType::kFloat64, {3, 50}, 10), scale = random_tensor(DType::kFloat64, {50}, 11);
  const Tensor narrow = run(expansions::rms_normalization, {x, scale}, {})[0],
               wide = run(expansions::rms_normalization, {x, scale}, {{"stash_type", int64_t{11}}})[0];
  EXPECT_EQ(narrow.dtype(), DType::kFloat64);
  double most = 0;
  for (size_t i = 0; i < 150; ++i) most = std::max(most, std::fabs(doubles(narrow)[i] - doubles(wide)[i]));
  EXPECT_LT(most, 1e-5);
  EXPECT_GT(most, 1e-10);
}

TEST(ExpansionsRun, OtherNorms) {
  for (DType dtype : kReals) {
    const Tensor x = random_tensor(dtype, {2, 3, 4}, 12);
    const auto zero = [](int64_t) { return 0.0; };
    const auto one = [](int64_t) { return 1.0; };
    // Over the first and the last axis.
    expect_near(run(expansions::mean_variance_normalization, {x}, {{"axes", Ints{0, 2}}})[0],
                normalised(
                    x, 0, [](int64_t e) { return e / 4 % 3; }, one, zero),
                dtype == DType::kFloat32 ? 5e-6 : 1e-8);
    for (int64_t p : {1, 2}) {
      expect_near(run(expansions::lp_normalization, {x}, {{"axis", int64_t{1}}, {"p", p}})[0],
                  along(x, 1,
                        [p](const Doubles& line) {
                          double sum = 0;
                          for (double v : line) sum += p == 1 ? std::fabs(v) : v * v;
                          Doubles out;
                          for (double v : line) out.push_back(v / (p == 1 ? sum : std::sqrt(sum)));
                          return out;
                        }),
                  tolerance_of(dtype));
    }
  }
  // What has no length stays as it is.
  const Tensor zeros = Tensor::zeros(DType::kFloat32, {2, 3});
  EXPECT_TRUE(identical(run(expansions::lp_normalization, {zeros}, {})[0], zeros));
  EXPECT_TRUE(identical(run(expansions::mean_variance_normalization, {zeros}, {{"axes", Ints{1}}})[0], zeros));
}

TEST(ExpansionsRun, BatchNormalizationInTraining) {
  const Tensor x = random_tensor(DType::kFloat64, {4, 3, 2}, 13), scale = random_tensor(DType::kFloat64, {3}, 14),
               bias = random_tensor(DType::kFloat64, {3}, 15), mean = random_tensor(DType::kFloat64, {3}, 16),
               var = random_tensor(DType::kFloat64, {3}, 17);
  const Attributes training = {{"training_mode", int64_t{1}}, {"momentum", 0.75}};
  const auto found = run(expansions::batch_normalization, {x, scale, bias, mean, var}, training, 3);
  const Doubles s = doubles(scale), b = doubles(bias), v = doubles(x);
  const auto channel = [](int64_t e) { return e / 2 % 3; };
  expect_near(found[0],
              normalised(
                  x, 1e-5, channel, [&](int64_t e) { return s[static_cast<size_t>(channel(e))]; },
                  [&](int64_t e) { return b[static_cast<size_t>(channel(e))]; }),
              1e-12);
  Doubles now_mean(3), now_var(3);
  for (size_t e = 0; e < 24; ++e) now_mean[e / 2 % 3] += v[e] / 8;
  for (size_t e = 0; e < 24; ++e) now_var[e / 2 % 3] += (v[e] - now_mean[e / 2 % 3]) * (v[e] - now_mean[e / 2 % 3]) / 8;
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(doubles(found[1])[c], 0.75 * doubles(mean)[c] + 0.25 * now_mean[c], 1e-12);
    EXPECT_NEAR(doubles(found[2])[c], 0.75 * doubles(var)[c] + 0.25 * now_var[c], 1e-12);
  }
}

}  // namespace
}  // namespace isobit::runtime
