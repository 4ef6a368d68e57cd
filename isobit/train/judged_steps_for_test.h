// Elements of a training step judged alone against what the executor computed: some of every value and every statistic.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/judge/logged.h"
#include "isobit/train/trainer.h"

namespace isobit::train {

// Every value of a step, and every statistic, as copies: by name, since a graph whose frozen parameters are constants
// has the same values by their names.
class Keeper : public runtime::Observer {
 public:
  bool wants_statistics() const override { return true; }
  Status before_stage(const runtime::NodeRun& run) override {
    keep_operands(run);
    for (const Tensor& t : run.statistics) statistics[first_output(run.graph, run.node)].push_back(t.clone());
    return {};
  }
  Status after_stage(const runtime::NodeRun& run) override {
    keep_operands(run);
    for (size_t o = 0; o < run.outputs.size(); ++o) {
      if (run.outputs[o].defined()) values[run.graph.value(run.node.outputs[o]).name] = run.outputs[o].clone();
    }
    return {};
  }

  static std::string first_output(const graph::Graph& graph, const graph::Node& node) {
    for (const graph::ValueId id : node.outputs) {
      if (id != graph::kNoValue) return graph.value(id).name;
    }
    return "";
  }

  std::map<std::string, Tensor> values;
  std::map<std::string, std::vector<Tensor>> statistics;  // by the name of the node's first output

 private:
  // What was fed is seen where it is first used, unless that overwrites it: the state, which is known.
  void keep_operands(const runtime::NodeRun& run) {
    for (size_t i = 0; i < run.inputs.size(); ++i) {
      if (run.input(i) == nullptr) continue;
      const std::string& name = run.graph.value(run.node.inputs[i]).name;
      if (!values.contains(name)) values[name] = run.input(i)->clone();
    }
  }
};

struct Judgement {
  int64_t elements = 0;
  size_t most_needs = 0, most_guides = 0;
  std::set<std::string> operators;
};

class JudgedSteps : public ::testing::Test {
 protected:
  static Job job_of(const std::string& model, const std::string& data, const std::string& optimizer,
                    const std::string& arithmetic) {
    return parse_job(text_of("[job]\nseed = 5\nsteps = 4\narithmetic = \"", arithmetic, "\"\n[model]\n", model,
                             "\n[data]\n", data, "\n[optimizer]\n", optimizer, "\n"),
                     "test", "")
        .value();
  }

  // The second step, whose momentum is not zero.
  static Judgement judge_a_step(const Job& job, std::shared_ptr<const models::Network> network = models::built_in()) {
    platform::Engine engine(platform::parse_platform("ordered/2t").value());
    auto opened = data::open_dataset(job.data);
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) return {};
    const std::shared_ptr<const data::Dataset> dataset = std::move(*opened);
    auto created = Trainer::create(job, dataset, engine, backends::native(), std::move(network));
    EXPECT_TRUE(created) << created.error().message;
    if (!created) return {};
    const std::unique_ptr<Trainer> trainer = std::move(*created);
    EXPECT_TRUE(trainer->advance());
    Keeper kept;
    const StepGraph& step = trainer->step_graph();
    const auto keep = [&](graph::ValueId in, const Tensor& tensor) {
      kept.values[step.graph.value(in).name] = tensor.clone();
    };
    for (size_t i = 0; i < step.slots.size(); ++i) keep(step.slots[i].in, trainer->state()[i].tensor);
    for (size_t i = 0; i < step.frozen.size(); ++i) keep(step.frozen[i].in, trainer->frozen()[i].tensor);
    EXPECT_TRUE(trainer->advance({.observer = &kept}));
    Judgement all;
    for (size_t n = 0; n < step.graph.nodes().size(); ++n) judge_node(job, step.graph, n, kept, all);
    return all;
  }

  static const Tensor* operand(const graph::Graph& graph, const Keeper& kept, graph::ValueId id) {
    if (id == graph::kNoValue) return nullptr;
    if (const Tensor* constant = graph.initializer(id)) return constant;
    return &kept.values.at(graph.value(id).name);
  }

  // The bits of an element of an operand or of a statistic.
  using ValueOf = std::function<judge::Bits(const graph::ElementSource&)>;

  static std::vector<judge::Bits> values_of(const std::vector<graph::ElementSource>& needs, const ValueOf& value_of) {
    std::vector<judge::Bits> values;
    for (const graph::ElementSource& s : needs) values.push_back(value_of(s));
    return values;
  }

  // What is the same on every platform. How many needs it has.
  static size_t expect_bits(const Job& job, const judge::Question& q, const ValueOf& value_of, judge::Bits expected) {
    ThreadPool pool(1);
    const kernels::KernelContext ctx{kernels::Isa::kReference, &pool};
    const auto needs = judge::needs_of(q);
    EXPECT_TRUE(needs) << needs.error().message;
    if (!needs) return 0;
    const auto bits = judge::evaluate(ctx, q, values_of(*needs, value_of), arithmetic_of(job));
    EXPECT_TRUE(bits) << bits.error().message;
    if (!bits) return 0;
    EXPECT_EQ(arithmetic_of(job).rounds ? judge::rounded(q, *bits, job.rounding.bits) : *bits, expected)
        << q.where.element << " of " << needs->size() << " needs";
    return needs->size();
  }

  // What the trainer published of an inner product is legal.
  static size_t expect_legal(const Job& job, const judge::Question& q, const ValueOf& value_of, judge::Bits claimed) {
    const judge::LoggedProduct product = judge::LoggedProduct::of(q).value();
    judge::State state = product.begin();
    size_t needs = 0;
    for (int64_t c = 0; c < product.chunks(); ++c) {
      const std::vector<judge::Bits> values = values_of(product.needs(c), value_of);
      needs += values.size();
      state = product.partial(c, values, state).value();
    }
    const std::vector<judge::Bits> once = values_of(product.once(), value_of);
    const judge::ExactElement element = product.finish(once, state, job.rounding.bits).value();
    const runtime::ErrorBounds bounds{32, runtime::sound_divergence(product.terms())};
    EXPECT_TRUE(judge::rule_on_claim(element, claimed, bounds, job.rounding.bits).taken()) << q.where.element;
    return needs + once.size();
  }

  static void judge_node(const Job& job, const graph::Graph& graph, size_t n, const Keeper& kept, Judgement& all) {
    const graph::Node& node = graph.nodes()[n];
    SCOPED_TRACE(text_of(node.op, " '", node.name, "'"));
    const auto operand_at = [&](int i) { return operand(graph, kept, node.inputs[static_cast<size_t>(i)]); };
    const auto guide = [&](int i, int64_t e) { return std::optional(judge::bits_of(*operand_at(i), e)); };
    judge::Question q = judge::ask_about(graph, node, operand_at, guide).value();
    all.operators.insert(node.op);
    const auto found = kept.statistics.find(Keeper::first_output(graph, node));
    const std::vector<Tensor> statistics = found == kept.statistics.end() ? std::vector<Tensor>{} : found->second;
    const ValueOf value_of = [&](const graph::ElementSource& s) {
      return judge::bits_of(s.of_statistic ? statistics[static_cast<size_t>(s.input)] : *operand_at(s.input),
                            s.element);
    };
    const bool has_rule = arithmetic_of(job).rounds && q.def().is_inner_product();
    const auto expect = [&](const Tensor& expected) {
      for (const int64_t e : {int64_t{0}, expected.elements() / 2, expected.elements() - 1}) {
        q.where.element = e;
        const judge::Bits bits = judge::bits_of(expected, e);
        const size_t needs = has_rule ? expect_legal(job, q, value_of, bits) : expect_bits(job, q, value_of, bits);
        ++all.elements;
        for (size_t stage = 0; stage < judge::guide_stages(q); ++stage) {
          all.most_guides = std::max(all.most_guides, judge::guides_of(q, stage).value().size());
        }
        all.most_needs = std::max(all.most_needs, needs);
      }
    };
    for (size_t s = 0; s < statistics.size(); ++s) {
      q.where.statistic = s;
      expect(statistics[s]);
    }
    q.where.statistic.reset();
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o] == graph::kNoValue) continue;
      q.where.output = o;
      expect(kept.values.at(graph.value(node.outputs[o]).name));
    }
  }
};

}  // namespace isobit::train
