// What the operator set says of each operator, against the kernels that run: a trait that is wrong fails here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "isobit/graph/autograd/autograd.h"
#include "isobit/graph/passes/retype.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/inner_products.h"
#include "isobit/runtime/operator_cases_for_test.h"
#include "isobit/runtime/promises.h"

namespace isobit::runtime {
namespace {

using graph::ElementRule;
using graph::OpDef;
using graph::OutputDef;
using graph::ProductForm;

std::vector<double> reals(const Tensor& t) {
  if (t.dtype() == DType::kFloat64) return {t.span<double>().begin(), t.span<double>().end()};
  return {t.span<float>().begin(), t.span<float>().end()};
}

bool is_real(const Tensor& t) { return t.dtype() == DType::kFloat32 || t.dtype() == DType::kFloat64; }

void set_element(Tensor& t, int64_t i, double x) {
  if (t.dtype() == DType::kFloat32) t.data<float>()[i] = static_cast<float>(x);
  if (t.dtype() == DType::kFloat64) t.data<double>()[i] = x;
}

// Which elements of b are not those of a, bit by bit.
std::vector<int64_t> changed(const Tensor& a, const Tensor& b) {
  std::vector<int64_t> places;
  const size_t size = size_of(a.dtype());
  for (int64_t i = 0; i < a.elements(); ++i) {
    const auto *x = static_cast<const char*>(a.raw()) + static_cast<size_t>(i) * size,
               *y = static_cast<const char*>(b.raw()) + static_cast<size_t>(i) * size;
    if (std::memcmp(x, y, size) != 0) places.push_back(i);
  }
  return places;
}

// A platform whose every inner product is 7.
template <class T>
class Sevens final : public kernels::InnerProducts<T> {
 public:
  Status matmul(const kernels::MatmulArgs<T>& args) override {
    for (int64_t t = 0; t < args.batch; ++t) {
      for (int64_t i = 0; i < args.m; ++i) {
        std::fill_n(args.c + t * args.c_batch_stride + i * args.c_row_stride, args.n, T{7});
      }
    }
    return {};
  }
  Status conv_forward(const kernels::ConvShape& s, const T*, const T*, const T*, T* dst) override {
    return fill(dst, s.n * s.oc * s.oh() * s.ow());
  }
  Status conv_grad_src(const kernels::ConvShape& s, const T*, const T*, T* diff_src) override {
    return fill(diff_src, s.n * s.ic * s.ih * s.iw);
  }
  Status conv_grad_weights(const kernels::ConvShape& s, const T*, const T*, T* diff_weights) override {
    return fill(diff_weights, s.oc * (s.ic / s.groups) * s.kh * s.kw);
  }

 private:
  static Status fill(T* out, int64_t n) {
    std::fill_n(out, n, T{7});
    return {};
  }
};

class Traits : public ::testing::TestWithParam<OperatorCase> {
 protected:
  // float64 and float32, or float32 alone.
  std::vector<DType> types() const {
    std::vector<DType> types = {DType::kFloat32};
    if (graph::find_op(GetParam().op)->any_real_type) types.push_back(DType::kFloat64);
    return types;
  }
  std::vector<Tensor> run(const OneOperator& one) { return one.run({kernels::best_isa(), &pool_}); }

  ThreadPool pool_{1};
};

INSTANTIATE_TEST_SUITE_P(Operators, Traits, ::testing::ValuesIn(operator_cases()), name_of_case);

TEST(TraitsOfAll, EveryOperatorIsWalked) {
  std::set<std::string> walked;
  for (const OperatorCase& c : operator_cases()) walked.insert(c.op);
  const std::vector<std::string> all = graph::op_names();
  EXPECT_EQ(walked, std::set<std::string>(all.begin(), all.end()));
}

// Nothing is left at its default by mistake: the safe default of an operator is that no arithmetic can promise its
// bits.
TEST(TraitsOfAll, EveryOperatorSaysWhatItIs) {
  for (const std::string& name : graph::op_names()) {
    SCOPED_TRACE(name);
    const OpDef& def = *graph::find_op(name);
    EXPECT_NE(def.platform_independent, def.is_inner_product());
    EXPECT_EQ(def.outputs.size(), static_cast<size_t>(def.max_outputs));
    bool by_statistics = false;
    for (size_t o = 0; o < def.outputs.size(); ++o) {
      const OutputDef& output = def.outputs[o];
      EXPECT_NE(output.rule, ElementRule::kNone) << o;
      EXPECT_EQ(output.rule == ElementRule::kInnerProduct, def.is_inner_product()) << o;
      EXPECT_FALSE(output.takes_each_once && output.moved_from.empty()) << o;
      by_statistics |= output.rule == ElementRule::kStatistics;
    }
    EXPECT_EQ(by_statistics, static_cast<bool>(def.statistics));
  }
}

TEST(TraitsOfAll, GradientsBelongToOperators) {
  int with = 0;
  for (const std::string& name : graph::op_names()) with += graph::find_gradient(name) != nullptr ? 1 : 0;
  EXPECT_EQ(static_cast<size_t>(with), graph::operators_with_gradients().size());
}

// Of unknown operators, of what nobody has said, and of an output that an operator does not have.
TEST(TraitsOfAll, TheDefaultIsSafe) {
  const OpDef def{.name = "new", .infer = {}};
  EXPECT_FALSE(def.platform_independent || def.is_inner_product() || def.only_moves_values() || def.any_real_type);
  EXPECT_FALSE(def.updates_state || def.matrices || def.statistics);
  const OutputDef& output = def.output(0);
  EXPECT_EQ(output.rule, ElementRule::kNone);
  EXPECT_TRUE(output.follows_from.contains(0) && output.follows_from.contains(99));
  EXPECT_TRUE(output.moved_from.empty() && !output.moved_from.contains(0) && !output.takes_each_once);
}

// An arithmetic that promises bits takes no operator of which nothing is said; the others take any.
TEST(TraitsOfAll, NobodyPromisesWhatDependsOnThePlatform) {
  const OpDef unknown{.name = "new", .infer = {}};
  const OpDef ours{.name = "new", .infer = {}, .platform_independent = true};
  const OpDef product{.name = "new", .infer = {}, .product = ProductForm::kGemm};
  for (const platform::Arithmetic& a : platform::arithmetics()) {
    EXPECT_EQ(can_promise(a, unknown), a.computes_in == DType::kFloat64 ? !a.logs : a.name == "float32") << a.name;
    EXPECT_TRUE(can_promise(a, ours) && can_promise(a, product)) << a.name;
  }
  for (const OperatorCase& c : operator_cases()) {
    const OneOperator one(c, DType::kFloat32);
    EXPECT_TRUE(check_promises(one.graph, platform::arithmetic_of("ordered-1"))) << c.op;
  }
}

TEST_P(Traits, PlatformIndependentMeansTheSameBitsOnEveryPlatform) {
  for (DType dtype : types()) {
    const OneOperator one(GetParam(), dtype);
    const std::vector<Tensor> expected = one.run({kernels::Isa::kReference, &pool_});
    Sevens<float> f32;
    Sevens<double> f64;
    for (kernels::Isa isa : kernels::available_isas()) {
      for (int threads : {1, 3}) {
        ThreadPool pool(threads);
        const std::vector<Tensor> own = one.run({isa, &pool}), other = one.run({isa, &pool, &f32, &f64});
        for (size_t o = 0; o < expected.size(); ++o) {
          EXPECT_TRUE(identical(own[o], expected[o])) << name_of(isa) << " " << threads << " output " << o;
          if (one.def().platform_independent) {
            EXPECT_TRUE(identical(other[o], expected[o])) << "output " << o << " comes from the platform";
          }
        }
        if (!one.def().is_inner_product()) continue;
        for (double x : reals(other[0])) ASSERT_EQ(x, 7) << "not wholly the platform's";
      }
    }
  }
}

TEST_P(Traits, OutputsFollowFromTheInputsThatAreNamed) {
  for (DType dtype : types()) {
    const OneOperator one(GetParam(), dtype);
    const std::vector<Tensor> expected = run(one);
    for (size_t i = 0; i < one.feeds.size(); ++i) {
      for (uint64_t seed : {2, 3, 4}) {
        OneOperator other = one;
        other.feeds[i] = values_of(GetParam().operands[i], dtype, seed);
        const std::vector<Tensor> found = run(other);
        for (size_t o = 0; o < expected.size(); ++o) {
          if (one.def().output(o).follows_from.contains(i)) continue;
          EXPECT_TRUE(identical(found[o], expected[o])) << "output " << o << " depends on input " << i;
        }
      }
    }
  }
}

TEST_P(Traits, MovedElementsAreThoseOfInputs) {
  for (DType dtype : types()) {
    for (uint64_t seed : {1, 2, 3}) {
      const OneOperator one(GetParam(), dtype, seed);
      const std::vector<Tensor> outputs = run(one);
      for (size_t o = 0; o < outputs.size(); ++o) {
        const OutputDef& def = one.def().output(o);
        if (def.moved_from.empty()) continue;
        std::multiset<double> left;
        for (size_t i = 0; i < one.feeds.size(); ++i) {
          if (!def.moved_from.contains(i) || !is_real(one.feeds[i])) continue;
          for (double x : reals(one.feeds[i])) left.insert(std::fabs(x));
        }
        for (double x : reals(outputs[o])) {
          if (x == 0) continue;
          const auto found = left.find(std::fabs(x));
          ASSERT_NE(found, left.end()) << "output " << o << " has " << x << ", of no such input, or a second time";
          if (def.takes_each_once) left.erase(found);
        }
      }
    }
  }
}

TEST_P(Traits, AnyRealTypeMeansThatTheGraphCanBeRetyped) {
  const OneOperator narrow(GetParam(), DType::kFloat32);
  const auto wide = graph::retype(narrow.graph, graph::kInFloat64);
  ASSERT_EQ(wide.has_value(), narrow.def().any_real_type);
  if (!wide) return;
  const OneOperator expected(GetParam(), DType::kFloat64);
  for (graph::ValueId id = 0; id < wide->value_count(); ++id) {
    EXPECT_EQ(wide->value(id).dtype, expected.graph.value(id).dtype) << id;
    EXPECT_NE(wide->value(id).dtype, DType::kFloat32) << id;
  }
  const auto back = graph::retype(*wide, {.from = DType::kFloat64, .to = DType::kFloat32});
  for (const Operand& o : GetParam().operands) {
    if (o.kind == Operand::Kind::kRate) return;  // a rate is float64 in every graph, so that none can be narrowed back
  }
  ASSERT_TRUE(back) << back.error().message;
  for (graph::ValueId id = 0; id < back->value_count(); ++id) {
    EXPECT_EQ(back->value(id).dtype, narrow.graph.value(id).dtype) << id;
  }
}

TEST_P(Traits, OptimizersReplaceAParameter) {
  const OneOperator one(GetParam(), DType::kFloat32);
  if (!one.def().updates_state) return;
  const graph::Value &before = one.graph.value(one.node().inputs[0]), &after = one.graph.value(one.node().outputs[0]);
  EXPECT_EQ(before.dims, after.dims);
  EXPECT_EQ(before.dtype, after.dtype);
  const auto& operands = GetParam().operands;
  const auto rate =
      std::find_if(operands.begin(), operands.end(), [](const Operand& o) { return o.kind == Operand::Kind::kRate; });
  ASSERT_NE(rate, operands.end()) << "it has no learning rate";
  OneOperator still = one;
  still.feeds[static_cast<size_t>(rate - operands.begin())] = Tensor::scalar(0.0);
  EXPECT_TRUE(identical(run(still)[0], one.feeds[0])) << "a parameter moves though the learning rate is 0";
  EXPECT_FALSE(identical(run(one)[0], one.feeds[0]));
}

TEST_P(Traits, MatricesOfABatchDoNotMeet) {
  if (!graph::find_op(GetParam().op)->matrices) return;
  const OneOperator one(GetParam(), DType::kFloat64);
  const std::vector<Tensor> expected = run(one);
  const Shape& shape = expected[0].shape();
  const int64_t matrix = shape.elements(shape.rank() - 2, shape.rank()), batch = expected[0].elements() / matrix;
  for (size_t i = 0; i < one.feeds.size(); ++i) {
    const int64_t size = one.feeds[i].elements() / batch;
    if (one.feeds[i].shape().rank() < shape.rank()) continue;  // the same for the whole batch
    for (int64_t e = 0; e < one.feeds[i].elements(); ++e) {
      OneOperator other = one;
      other.feeds[i] = one.feeds[i].clone();
      set_element(other.feeds[i], e, 3);
      for (int64_t place : changed(expected[0], run(other)[0])) EXPECT_EQ(place / matrix, e / size) << i << " " << e;
    }
  }
}

// What an element of an output depends on: by output and element, the elements of each real input.
class Dependence : public Traits {
 protected:
  using Sources = std::map<size_t, std::set<int64_t>>;  // input -> elements

  std::vector<std::vector<Sources>> sources(const OneOperator& one, const std::vector<Tensor>& expected) {
    std::vector<std::vector<Sources>> all;
    for (const Tensor& t : expected) all.emplace_back(static_cast<size_t>(t.elements()));
    for (size_t i = 0; i < one.feeds.size(); ++i) {
      if (!GetParam().operands[i].is_real()) continue;
      for (int64_t e = 0; e < one.feeds[i].elements(); ++e) {
        const double x = reals(one.feeds[i])[static_cast<size_t>(e)];
        for (double other : {x * 1.5, x * 0.75, GetParam().operands[i].kind == Operand::Kind::kReal ? -x : x * 8}) {
          const std::vector<Tensor> found = with(one, i, e, other);
          for (size_t o = 0; o < expected.size(); ++o) {
            for (int64_t place : changed(expected[o], found[o])) all[o][static_cast<size_t>(place)][i].insert(e);
          }
        }
      }
    }
    return all;
  }

  // The outputs with element e of input i set to x.
  std::vector<Tensor> with(const OneOperator& one, size_t i, int64_t e, double x) {
    OneOperator other = one;
    other.feeds[i] = one.feeds[i].clone();
    set_element(other.feeds[i], e, x);
    return run(other);
  }

  // The last real input that output o follows from, doubled, doubles it, and more than one element counts.
  void expect_sum(const OneOperator& one, const Tensor& expected, size_t o, const std::vector<Sources>& sources) {
    size_t summed = one.feeds.size();
    for (size_t i = 0; i < one.feeds.size(); ++i) {
      if (one.def().output(o).follows_from.contains(i) && GetParam().operands[i].is_real()) summed = i;
    }
    ASSERT_LT(summed, one.feeds.size());
    OneOperator doubled = one;
    doubled.feeds[summed] = one.feeds[summed].clone();
    const std::vector<double> terms = reals(one.feeds[summed]);
    for (size_t e = 0; e < terms.size(); ++e) set_element(doubled.feeds[summed], static_cast<int64_t>(e), 2 * terms[e]);
    const std::vector<double> once = reals(expected), twice = reals(run(doubled)[o]);
    size_t most = 0;
    for (size_t k = 0; k < once.size(); ++k) {
      EXPECT_EQ(twice[k], 2 * once[k]) << k;
      const auto found = sources[k].find(summed);
      if (found != sources[k].end()) most = std::max(most, found->second.size());
    }
    EXPECT_GT(most, 1U) << "no element is the sum of several";
  }

  // An element is one of input 0; raising an element of that input raises it to just that, or leaves it alone.
  void expect_maximum(const OneOperator& one, const Tensor& expected, size_t o) {
    const std::vector<double> src = reals(one.feeds[0]), dst = reals(expected);
    for (double x : dst) EXPECT_TRUE(std::find(src.begin(), src.end(), x) != src.end()) << x;
    size_t raised = 0;
    for (size_t e = 0; e < src.size(); ++e) {
      const std::vector<double> up = reals(with(one, 0, static_cast<int64_t>(e), 100)[o]),
                                down = reals(with(one, 0, static_cast<int64_t>(e), -100)[o]);
      for (size_t k = 0; k < dst.size(); ++k) {
        EXPECT_TRUE(up[k] == dst[k] || up[k] == 100) << e << " " << k;
        EXPECT_LE(down[k], dst[k]) << e << " " << k;
        raised += up[k] == 100 ? 1 : 0;
      }
    }
    EXPECT_GT(raised, dst.size()) << "no element is the largest of several";
  }

  // An element that becomes the largest by far is found at its place of its plane, the last two axes of input 0.
  void expect_place(const OneOperator& one, const Tensor& expected, size_t o) {
    ASSERT_EQ(expected.dtype(), DType::kInt64);
    const Shape& shape = one.feeds[0].shape();
    const int64_t plane = shape.elements(shape.rank() - 2, shape.rank());
    for (int64_t e = 0; e < shape.elements(); ++e) {
      const Tensor found = with(one, 0, e, 100)[o];
      for (int64_t k : changed(expected, found)) EXPECT_EQ(found.data<int64_t>()[k], e % plane);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Operators, Dependence, ::testing::ValuesIn(operator_cases()), name_of_case);

TEST_P(Dependence, ElementsFollowTheirRule) {
  for (DType dtype : types()) {
    const OneOperator one(GetParam(), dtype);
    const std::vector<Tensor> expected = run(one);
    const std::vector<std::vector<Sources>> all = sources(one, expected);
    for (size_t o = 0; o < expected.size(); ++o) {
      SCOPED_TRACE(o);
      const OutputDef& def = one.def().output(o);
      size_t most_of_one_input = 0, most = 0;
      for (const Sources& element : all[o]) {
        size_t sum = 0;
        for (const auto& [input, elements] : element) {
          most_of_one_input = std::max(most_of_one_input, elements.size());
          sum += elements.size();
        }
        most = std::max(most, sum);
      }
      switch (def.rule) {
        case ElementRule::kMoved:
          EXPECT_LE(most, 1U);
          EXPECT_FALSE(def.moved_from.empty());
          break;
        case ElementRule::kPointwise:
          EXPECT_LE(most_of_one_input, 1U);
          break;
        case ElementRule::kSum:
          expect_sum(one, expected[o], o, all[o]);
          break;
        case ElementRule::kMaximum:
          expect_maximum(one, expected[o], o);
          break;
        case ElementRule::kPlace:
          expect_place(one, expected[o], o);
          break;
        case ElementRule::kInnerProduct:
        case ElementRule::kStatistics:
          EXPECT_GT(most_of_one_input, 1U) << "is pointwise";
          break;
        case ElementRule::kNone:
          ADD_FAILURE();
      }
    }
  }
}

}  // namespace
}  // namespace isobit::runtime
