// A node that has run, with everything that a referee could be shown of it; and contexts of arithmetics.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "isobit/judge/judge.h"
#include "isobit/kernels/correct/inner_products.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"

namespace isobit::judge {

// Copies of a node's operands, statistics and outputs.
struct RanNode {
  graph::Graph graph;  // the node as it was run: its shapes are known
  size_t index = 0;
  std::vector<Tensor> inputs, statistics, outputs;  // undefined: absent
  mutable std::set<int> whole = {};                 // what expect_named() found named
  mutable std::set<std::pair<int, int64_t>> guides = {};

  const graph::Node& node() const { return graph.nodes()[index]; }

  // Gives out what was named and nothing else.
  Expected<Question> question() const {
    const auto operand = [this](int i) {
      EXPECT_TRUE(whole.contains(i)) << "input " << i << " is asked for as a whole and was not named";
      return &inputs[static_cast<size_t>(i)];
    };
    return ask_about(graph, node(), operand, [this](int i, int64_t e) -> std::optional<Bits> {
      EXPECT_TRUE(guides.contains({i, e})) << "element " << e << " of input " << i << " was not named";
      return bits_of(inputs[static_cast<size_t>(i)], e);
    });
  }

  // What says where, of the element that is asked for.
  void expect_named(const Question& q) const {
    whole.clear();
    guides.clear();
    for (const WholeOperand& operand : whole_operands(q)) {
      whole.insert(operand.input);
      EXPECT_FALSE(FloatTypes::contains(inputs[static_cast<size_t>(operand.input)].dtype()))
          << "what says where, all of it, is real";
      EXPECT_EQ(static_cast<size_t>(operand.bytes), inputs[static_cast<size_t>(operand.input)].bytes());
    }
    for (size_t stage = 0; stage < guide_stages(q); ++stage) {
      const auto named = guides_of(q, stage);
      ASSERT_TRUE(named) << named.error().message;
      for (const graph::ElementSource& s : *named) guides.emplace(s.input, s.element);
    }
  }

  std::vector<Bits> values(const std::vector<graph::ElementSource>& needs) const {
    std::vector<Bits> values;
    for (const graph::ElementSource& s : needs) {
      const Tensor& from = (s.of_statistic ? statistics : inputs)[static_cast<size_t>(s.input)];
      EXPECT_TRUE(s.element >= 0 && s.element < from.elements());
      values.push_back(bits_of(from, s.element));
    }
    return values;
  }
};

// Keeps what a node was given and gave out, before a stage and behind it.
class Watcher : public runtime::Observer {
 public:
  explicit Watcher(size_t index) : index_(index) {}
  bool wants_statistics() const override { return true; }
  Status before_stage(const runtime::NodeRun& run) override {
    if (run.index != index_) return {};
    for (const Tensor& t : run.statistics) statistics.push_back(t.clone());
    return {};
  }
  Status after_stage(const runtime::NodeRun& run) override {
    if (run.index != index_) return {};
    for (const Tensor& t : run.outputs) outputs.push_back(t.defined() ? t.clone() : Tensor());
    return {};
  }
  std::vector<Tensor> statistics, outputs;

 private:
  size_t index_;
};

// Correctly rounded products, as their specification has them.
class CorrectProducts {
 public:
  explicit CorrectProducts(ThreadPool* pool) : pool_(pool), products_({kernels::Isa::kReference, pool}, nullptr) {}
  kernels::KernelContext context() { return {kernels::best_isa(), pool_, &products_}; }

 private:
  ThreadPool* pool_;
  kernels::correct::CorrectInnerProducts products_;
};

// A graph of one node, `like`'s, over these operands: those that shapes follow from are constants.
inline graph::Graph alone(const graph::Graph& like, const std::vector<Tensor>& operands) {
  const graph::Node& node = like.nodes()[0];
  graph::Graph graph;
  std::vector<graph::ValueId> ids;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool awaited = std::ranges::find(node.awaits, static_cast<int>(i)) != node.awaits.end();
    if (node.inputs[i] == graph::kNoValue) {
      ids.push_back(graph::kNoValue);
    } else if (awaited) {
      ids.push_back(graph.add_initializer("constant", operands[i]));
    } else {
      ids.push_back(graph.add_input("input", operands[i].dtype(), operands[i].shape().dims()));
    }
  }
  const std::vector<std::string> names(node.outputs.size(), "output");
  for (const graph::ValueId id : graph.emit_all(node.op, ids, node.attributes, names)) graph.add_output(id);
  return graph;
}

// Runs the node of `like` on these operands, before the watcher's eyes.
inline RanNode run_watched(const graph::Graph& like, const std::vector<Tensor>& operands,
                           const kernels::KernelContext& ctx, Watcher& watcher, runtime::Stage* stage = nullptr) {
  RanNode ran;
  ran.graph = alone(like, operands);
  runtime::Executor::Feeds feeds;
  for (size_t i = 0; i < operands.size(); ++i) {
    const graph::ValueId id = ran.node().inputs[i];
    ran.inputs.push_back(id == graph::kNoValue ? Tensor() : operands[i]);
    if (id != graph::kNoValue && ran.graph.initializer(id) == nullptr) feeds.emplace_back(id, operands[i].clone());
  }
  const runtime::RunOptions options{.observer = &watcher, .stage = stage};
  EXPECT_TRUE(runtime::Executor(ran.graph).run(ctx, std::move(feeds), options));
  ran.statistics = std::move(watcher.statistics);
  ran.outputs = std::move(watcher.outputs);
  return ran;
}
inline RanNode run_watched(const graph::Graph& like, const std::vector<Tensor>& operands,
                           const kernels::KernelContext& ctx) {
  Watcher watcher(0);
  return run_watched(like, operands, ctx, watcher);
}

}  // namespace isobit::judge
