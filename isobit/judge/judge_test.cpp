// Elements judged alone against what the executor's kernels gave: of every case of every operator, in every type, each
// output and each statistic.
#include "isobit/judge/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "isobit/graph/autograd/autograd.h"
#include "isobit/judge/judged_for_test.h"
#include "isobit/runtime/traits_for_test.h"

namespace isobit::judge {
namespace {

using runtime::OneOperator;

// The first element, the last one and some between.
std::vector<int64_t> some_of(int64_t n) {
  std::vector<int64_t> some;
  for (int64_t e = 0; e < n; e += std::max<int64_t>(1, n / 13)) some.push_back(e);
  if (n > 0 && some.back() != n - 1) some.push_back(n - 1);
  return some;
}

class Judged : public runtime::Traits {
 protected:
  enum class Operands { kAsTheyAre, kOdd };

  // Every element that is looked at is judged to be what it is; what cannot be judged says why. How many were judged.
  int expect_judged(const platform::Arithmetic& arithmetic, const kernels::KernelContext& ctx, Operands operands) {
    int judged = 0;
    for (const DType dtype : types()) {
      if (arithmetic.corrects && dtype != DType::kFloat32) continue;
      OneOperator one(GetParam(), dtype);
      if (operands == Operands::kOdd) runtime::make_odd(one);
      const RanNode ran = run_watched(one.graph, one.feeds, ctx);
      auto asked = ran.question();
      if (!asked) continue;  // no shape is known before the run: no training step has it
      Question& q = *asked;
      for (size_t o = 0; o < ran.outputs.size(); ++o) {
        if (!ran.outputs[o].defined()) continue;
        q.where.output = o;
        for (const int64_t e : some_of(ran.outputs[o].elements())) judged += is_judged(ran, q, e, arithmetic, ctx);
      }
      for (size_t s = 0; s < ran.statistics.size(); ++s) {
        q.where.statistic = s;
        for (const int64_t e : some_of(ran.statistics[s].elements())) judged += is_judged(ran, q, e, arithmetic, ctx);
      }
    }
    return judged;
  }

  static int is_judged(const RanNode& ran, Question& q, int64_t e, const platform::Arithmetic& arithmetic,
                       const kernels::KernelContext& ctx) {
    q.where.element = e;
    ran.expect_named(q);
    const auto needs = needs_of(q);
    if (!needs) {
      EXPECT_NE(needs.error().message.find("cannot be judged alone: "), std::string::npos) << needs.error().message;
      return 0;
    }
    const auto found = evaluate(ctx, q, ran.values(*needs), arithmetic);
    const Tensor& expected = q.where.statistic ? ran.statistics[*q.where.statistic] : ran.outputs[q.where.output];
    EXPECT_TRUE(found) << found.error().message;
    if (found) {
      EXPECT_EQ(*found, bits_of(expected, e))
          << name_of(expected.dtype()) << (q.where.statistic ? " statistic " : " output ")
          << q.where.statistic.value_or(q.where.output) << " element " << e << " of " << needs->size() << " needs";
    }
    return 1;
  }
};

INSTANTIATE_TEST_SUITE_P(Operators, Judged, ::testing::ValuesIn(runtime::operator_cases()), runtime::name_of_case);

TEST_P(Judged, AsTheOrderedKernelsGiveIt) {
  const platform::Arithmetic& ordered = platform::arithmetic_of("ordered-1");
  const kernels::KernelContext ctx{kernels::best_isa(), &pool_};
  RecordProperty("elements", expect_judged(ordered, ctx, Operands::kAsTheyAre));
  RecordProperty("elements of odd numbers", expect_judged(ordered, ctx, Operands::kOdd));
}

TEST_P(Judged, AsCorrectProductsAre) {
  if (!graph::find_op(GetParam().op)->is_inner_product()) return;
  CorrectProducts correct(&pool_);
  const platform::Arithmetic& arithmetic = platform::arithmetic_of("correct-1");
  EXPECT_GT(expect_judged(arithmetic, correct.context(), Operands::kAsTheyAre), 0);
  EXPECT_GT(expect_judged(arithmetic, correct.context(), Operands::kOdd), 0);
}

// A question about a node of one operator over inputs of these types and shapes, of which nothing is at hand but what a
// test says.
struct Asked {
  graph::Graph graph;
  Question of(const std::string& op, const std::vector<std::pair<DType, std::vector<int64_t>>>& inputs,
              const graph::Attributes& attributes, std::function<const Tensor*(int)> operand, GuideOf guide) {
    std::vector<graph::ValueId> ids;
    for (const auto& [dtype, dims] : inputs) ids.push_back(graph.add_input("input", dtype, dims));
    graph.emit_all(op, ids, attributes,
                   std::vector<std::string>(static_cast<size_t>(graph::find_op(op)->max_outputs), "y"));
    return ask_about(graph, graph.nodes().back(), std::move(operand), std::move(guide)).value();
  }
};

// How much of what says where an element needs: one index of a gather, all of an embedding's gradient.
TEST(SaysWhere, OneElementOrTheWholeOperand) {
  constexpr int64_t kWords = 50257;
  Asked asked;
  Question q = asked.of("Gather", {{DType::kFloat32, {kWords, 768}}, {DType::kInt64, {4, 64}}}, {}, {},
                        [](int, int64_t) { return std::optional<Bits>(7); });
  q.where.element = 100 * 768 + 5;
  EXPECT_TRUE(whole_operands(q).empty());
  EXPECT_EQ(guides_of(q, 0).value(), (std::vector<graph::ElementSource>{{1, 100}}));
  EXPECT_EQ(needs_of(q).value(), (std::vector<graph::ElementSource>{{0, 7 * 768 + 5}}));

  Tensor indices(DType::kInt64, Shape{4, 64});
  for (int64_t i = 0; i < 256; ++i) indices.data<int64_t>()[i] = i % 100;
  Asked embedding;
  Question grad = embedding.of("isobit.EmbeddingGrad", {{DType::kInt64, {4, 64}}, {DType::kFloat32, {4, 64, 768}}},
                               {{"table_shape", std::vector<int64_t>{kWords, 768}}}, [&](int) { return &indices; }, {});
  grad.where.element = 3 * 768;
  EXPECT_EQ(whole_operands(grad), (std::vector<WholeOperand>{{0, 2048}}));
  EXPECT_EQ(guide_stages(grad), 0u);
  EXPECT_EQ(needs_of(grad).value(), (std::vector<graph::ElementSource>{{1, 3 * 768}, {1, 103 * 768}, {1, 203 * 768}}));
}

// A constant of the graph is known with it.
TEST(SaysWhere, ConstantsAreNotAskedFor) {
  graph::Graph graph;
  const graph::ValueId x = graph.add_input("x", DType::kFloat32, {5, 2});
  const graph::ValueId indices = graph.add_initializer("i", Tensor::of<int64_t>(Shape{2}, std::vector<int64_t>{4, -5}));
  graph.emit("Gather", {x, indices}, {}, "y");
  Question q = ask_about(graph, graph.nodes()[0], {}, [](int, int64_t) { return std::optional<Bits>(); }).value();
  q.where.element = 3;
  EXPECT_TRUE(guides_of(q, 0).value().empty());
  EXPECT_EQ(needs_of(q).value(), (std::vector<graph::ElementSource>{{0, 1}}));
}

// Whatever says where comes from a stranger.
TEST(SaysWhere, WhatIsMissingOrNamesNothingIsAnError) {
  const auto refusal = [](const Question& q) {
    const auto needs = needs_of(q);
    return needs ? std::string("accepted") : needs.error().message;
  };
  const auto all = [](int64_t value) {
    return [value](int, int64_t) { return std::optional<Bits>(static_cast<Bits>(value)); };
  };
  const std::vector<std::pair<DType, std::vector<int64_t>>> gathers = {{DType::kFloat32, {5, 2}}, {DType::kInt64, {3}}};
  for (const int64_t index : {int64_t{5}, int64_t{-6}, INT64_MAX, INT64_MIN}) {
    EXPECT_NE(refusal(Asked().of("Gather", gathers, {}, {}, all(index))).find("does not have"), std::string::npos);
    EXPECT_NE(refusal(Asked().of("GatherND", {{DType::kFloat32, {5, 2}}, {DType::kInt64, {3, 1}}}, {}, {}, all(index)))
                  .find("does not have"),
              std::string::npos);
    Asked rows;
    Question loss =
        rows.of("isobit.CrossEntropy", {{DType::kFloat32, {3, 4}}, {DType::kInt64, {3}}}, {}, {}, all(index));
    loss.where.statistic = 2;
    EXPECT_NE(refusal(loss).find("does not have"), std::string::npos);
    EXPECT_NE(refusal(Asked().of("RoiAlign",
                                 {{DType::kFloat32, {1, 1, 4, 4}}, {DType::kFloat32, {2, 4}}, {DType::kInt64, {2}}}, {},
                                 {}, all(index)))
                  .find("does not have"),
              std::string::npos);
  }
  const auto nothing = [](int, int64_t) { return std::optional<Bits>(); };
  EXPECT_NE(refusal(Asked().of("Gather", gathers, {}, {}, nothing)).find("element 0 of input 1 says where an element"),
            std::string::npos);
  EXPECT_NE(refusal(Asked().of("Gather", gathers, {}, {}, {})).find("input 1 says where"), std::string::npos);
  const Tensor other = Tensor::of<int64_t>(Shape{2}, std::vector<int64_t>{0, 0});
  EXPECT_NE(
      refusal(Asked().of("Gather", gathers, {}, [&](int) { return &other; }, {})).find("int64 [2], expected int64 [3]"),
      std::string::npos);
  EXPECT_NE(refusal(Asked().of("isobit.EmbeddingGrad", {{DType::kInt64, {3}}, {DType::kFloat32, {3, 2}}},
                               {{"table_shape", std::vector<int64_t>{5, 2}}}, {}, nothing))
                .find("input 0 says where"),
            std::string::npos);
}

// The table of docs/guarantees.md: operator -> why no element of it is judged alone.
std::map<std::string, std::string> refused_by_the_page() {
  const std::string path = std::string(std::getenv("ISOBIT_SOURCE_DIR")) + "/docs/guarantees.md";
  std::ifstream in(path);
  std::map<std::string, std::string> refused;
  bool in_table = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("| operators of which no element is judged alone |")) in_table = true;
    if (!line.starts_with("|")) in_table = false;
    const size_t middle = line.find(" | "), end = line.rfind(" |");
    if (!in_table || line.starts_with("| operators") || line.starts_with("|-")) continue;
    std::istringstream names(line.substr(2, middle - 2));
    for (std::string name; std::getline(names >> std::ws, name, ',');) {
      refused[name] = line.substr(middle + 3, end - middle - 3);
    }
  }
  return refused;
}

// Everything else is judged in every output and statistic: by the tests above, to the executor's bits.
TEST(JudgedOfAll, WhatIsRefusedIsInTheDocumentsWithItsReason) {
  const std::string open = "its shapes are not known before the run";
  std::map<std::string, std::string> refused;
  ThreadPool pool(1);
  for (const runtime::OperatorCase& c : runtime::operator_cases()) {
    const OneOperator one(c, DType::kFloat32);
    const RanNode ran = run_watched(one.graph, one.feeds, {kernels::best_isa(), &pool});
    const std::string name = graph::short_name(c.op);
    auto asked = ran.question();
    if (!asked) {
      EXPECT_NE(asked.error().message.find(open), std::string::npos) << asked.error().message;
      refused[name] = open;
      continue;
    }
    for (size_t o = 0; o < ran.outputs.size(); ++o) {
      asked->where.output = o;
      if (!ran.outputs[o].defined() || ran.outputs[o].elements() == 0) continue;
      ran.expect_named(*asked);
      const auto needs = needs_of(*asked);
      if (needs) continue;
      const std::string& why = needs.error().message;
      refused[name] = why.substr(why.find("alone: ") + 7);
    }
  }
  EXPECT_EQ(refused, refused_by_the_page());
}

// Operators that can train: those that have a gradient, and those that gradients are made of. All are judged but those
// that run graphs, with which no step can be disputed (train::StepGraph::disputable).
TEST(JudgedOfAll, WhatTrainsIsJudged) {
  std::set<std::string> refused;
  for (const runtime::OperatorCase& c : runtime::operator_cases()) {
    if (graph::find_gradient(c.op) == nullptr) continue;
    const OneOperator one(c, DType::kFloat32);
    graph::Graph step = alone(one.graph, one.feeds);
    std::vector<graph::Seed> seeds;
    const std::vector<graph::ValueId> outputs = step.nodes()[0].outputs;
    for (const graph::ValueId id : outputs) {
      const graph::Value value = step.value(id);
      if (value.dtype != DType::kFloat32 || !value.is_static()) continue;
      seeds.push_back({id, step.add_input("diff", value.dtype, value.dims)});
    }
    std::vector<graph::ValueId> targets;
    for (const graph::ValueId id : step.nodes()[0].inputs) {
      if (id != graph::kNoValue && step.value(id).dtype == DType::kFloat32) targets.push_back(id);
    }
    if (!graph::append_gradients(step, seeds, targets)) continue;  // none in this use of it
    for (const graph::Node& node : step.nodes()) {
      auto asked = ask_about(step, node, {});
      if (!asked) continue;
      for (size_t o = 0; o < node.outputs.size(); ++o) {
        asked->where.output = o;
        const bool is_there = node.outputs[o] != graph::kNoValue && asked->elements() > 0;
        if (is_there && !can_judge(*asked)) refused.insert(node.op);
      }
    }
  }
  const std::map<std::string, std::string> page = refused_by_the_page();
  for (const std::string& op : refused) {
    EXPECT_TRUE(graph::find_op(op)->runs_graphs) << op;
    EXPECT_TRUE(page.contains(op)) << op;
  }
}

}  // namespace
}  // namespace isobit::judge
