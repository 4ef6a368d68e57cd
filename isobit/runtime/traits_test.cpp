// What the operator set says of each operator, against the kernels that run: a trait that is wrong fails here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/passes/retype.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/inner_products.h"
#include "isobit/runtime/promises.h"
#include "isobit/runtime/traits_for_test.h"

namespace isobit::runtime {
namespace {

using graph::ElementRule;
using graph::OpDef;
using graph::OutputDef;
using graph::ProductForm;

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
    if (def.more_outputs_like_last) {
      EXPECT_TRUE(!def.outputs.empty() && def.outputs.size() < static_cast<size_t>(def.max_outputs));
    } else {
      EXPECT_EQ(def.outputs.size(), static_cast<size_t>(def.max_outputs));
    }
    bool by_statistics = false;
    for (size_t o = 0; o < def.outputs.size(); ++o) {
      const OutputDef& output = def.outputs[o];
      EXPECT_NE(output.rule, ElementRule::kNone) << o;
      EXPECT_EQ(output.rule == ElementRule::kInnerProduct, def.is_inner_product()) << o;
      EXPECT_FALSE(output.takes_each_once && output.moved_from.empty()) << o;
      const bool says_where = output.rule != ElementRule::kSampled && output.rule != ElementRule::kWhole &&
                              output.rule != ElementRule::kMaximum;
      EXPECT_TRUE(output.sources || !says_where) << o << ": where an element comes from is not said";
      EXPECT_EQ(output.rule == ElementRule::kWhole, !output.whole_because.empty()) << o;
      by_statistics |= output.rule == ElementRule::kStatistics;
    }
    EXPECT_EQ(by_statistics, static_cast<bool>(def.statistics));
  }
}

TEST(TraitsOfAll, GradientsBelongToOperators) {
  for (const auto& [op, rule] : graph::autograd::all_rules().with) EXPECT_NE(graph::find_op(op), nullptr) << op;
  for (const auto& [op, why] : graph::autograd::all_rules().without) EXPECT_NE(graph::find_op(op), nullptr) << op;
}

// Of unknown operators, of what nobody has said, and of an output that an operator does not have.
TEST(TraitsOfAll, TheDefaultIsSafe) {
  const OpDef def{.name = "new", .infer = {}};
  EXPECT_FALSE(def.platform_independent || def.is_inner_product() || def.only_moves_values() || def.any_real_type);
  EXPECT_FALSE(def.retyped);
  EXPECT_FALSE(def.updates_state || def.draws_by_element || def.on_matrices() || def.statistics);
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
        const std::vector<Tensor> found = run(with_other_values(one, GetParam(), i, seed));
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
          if (!def.moved_from.contains(i)) continue;
          ASSERT_EQ(one.feeds[i].dtype(), outputs[o].dtype()) << "output " << o << " is a conversion of input " << i;
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

// Whether shape inference takes float64 where float32 was, and makes float64 of it where it made float32.
bool has_a_form_in_float64(const OneOperator& narrow) {
  graph::Graph wide;
  std::vector<graph::ValueId> ids;
  const auto wider = [](DType dtype) { return dtype == DType::kFloat32 ? DType::kFloat64 : dtype; };
  const graph::Node& node = narrow.node();
  for (graph::ValueId id : narrow.graph.inputs()) {
    ids.push_back(wide.add_input("x", wider(narrow.graph.value(id).dtype), narrow.graph.value(id).dims));
    if (node.inputs[ids.size() - 1] == graph::kNoValue) ids.back() = graph::kNoValue;
  }
  const auto added = wide.add_node(node.op, ids, node.attributes, std::vector<std::string>(node.outputs.size(), "y"));
  if (!added) return false;
  bool made = false;
  for (size_t o = 0; o < added->size(); ++o) {
    const DType before = narrow.graph.value(node.outputs[o]).dtype;
    if (wide.value((*added)[o]).dtype != wider(before)) return false;
    made |= before == DType::kFloat32;
  }
  return made;
}

TEST_P(Traits, AnyRealTypeMeansThatTheGraphCanBeRetyped) {
  const OneOperator narrow(GetParam(), DType::kFloat32);
  const auto wide = graph::retype(narrow.graph, graph::kInFloat64);
  ASSERT_EQ(wide.has_value(), narrow.def().any_real_type || narrow.def().retyped);
  if (!wide) {
    EXPECT_FALSE(has_a_form_in_float64(narrow)) << "it could be retyped and does not say so";
    EXPECT_NE(wide.error().message.find(GetParam().op + "): has no float64 form"), std::string::npos);
    return;
  }
  if (!narrow.def().any_real_type) {  // its type is not that of its operands
    for (graph::ValueId id = 0; id < wide->value_count(); ++id) {
      const DType before = narrow.graph.value(id).dtype;
      EXPECT_EQ(wide->value(id).dtype, before == DType::kFloat32 ? DType::kFloat64 : before) << id;
    }
    return;
  }
  const OneOperator expected(GetParam(), DType::kFloat64);
  for (graph::ValueId id = 0; id < wide->value_count(); ++id) {
    EXPECT_EQ(wide->value(id).dtype, expected.graph.value(id).dtype) << id;
    EXPECT_NE(wide->value(id).dtype, DType::kFloat32) << id;
  }
  const auto back = graph::retype(*wide, {.from = DType::kFloat64, .to = DType::kFloat32});
  for (const CaseOperand& o : GetParam().operands) {
    if (o.kind == CaseOperand::Kind::kRate)
      return;  // a rate is float64 in every graph, so that none can be narrowed back
  }
  ASSERT_TRUE(back) << back.error().message;
  for (graph::ValueId id = 0; id < back->value_count(); ++id) {
    EXPECT_EQ(back->value(id).dtype, narrow.graph.value(id).dtype) << id;
  }
}

TEST_P(Traits, OptimizersReplaceAParameter) {
  const OneOperator one(GetParam(), DType::kFloat32);
  const auto& operands = GetParam().operands;
  const auto rate = std::find_if(operands.begin(), operands.end(),
                                 [](const CaseOperand& o) { return o.kind == CaseOperand::Kind::kRate; });
  ASSERT_EQ(one.def().updates_state, rate != operands.end())
      << "an optimizer has a learning rate, and no other has one";
  if (!one.def().updates_state) return;
  const graph::Value &before = one.graph.value(one.node().inputs[0]), &after = one.graph.value(one.node().outputs[0]);
  EXPECT_EQ(before.dims, after.dims);
  EXPECT_EQ(before.dtype, after.dtype);
  OneOperator still = one;
  still.feeds[static_cast<size_t>(rate - operands.begin())] = Tensor::scalar(0.0);
  EXPECT_TRUE(identical(run(still)[0], one.feeds[0])) << "a parameter moves though the learning rate is 0";
  EXPECT_FALSE(identical(run(one)[0], one.feeds[0]));
}

TEST_P(Traits, APartOfWhatIsDrawnForDrawsWhatTheWholeDraws) {
  if (!graph::find_op(GetParam().op)->draws_by_element) return;
  const OneOperator whole(GetParam(), DType::kFloat32);
  const int64_t n = whole.feeds[0].elements(), first = n / 3;
  OperatorCase tail = GetParam();
  tail.operands[0].dims = {n - first};
  tail.attributes.set(graph::kFirstDraw, first);
  OneOperator part(tail, DType::kFloat32);
  for (size_t i = 1; i < part.feeds.size(); ++i) part.feeds[i] = whole.feeds[i];
  std::ranges::copy(whole.feeds[0].span<float>().subspan(static_cast<size_t>(first)), part.feeds[0].data<float>());
  const std::vector<Tensor> of_whole = run(whole), of_part = run(part);
  EXPECT_TRUE(
      std::ranges::equal(of_whole[0].span<float>().subspan(static_cast<size_t>(first)), of_part[0].span<float>()));
  tail.attributes.set(graph::kFirstDraw, int64_t{0});
  OneOperator front(tail, DType::kFloat32);
  front.feeds = part.feeds;
  EXPECT_FALSE(identical(run(front)[0], of_part[0])) << "nothing is drawn by the number of an element";
}

TEST_P(Traits, MatricesOfABatchDoNotMeet) {
  if (!graph::find_op(GetParam().op)->on_matrices()) return;
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

}  // namespace
}  // namespace isobit::runtime
