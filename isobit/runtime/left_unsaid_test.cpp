// What is true of an operator and was left unsaid. A trait that says less than it could is safe and costs: something is
// rounded once more, a bound is wider, an auditor compares what cannot differ. An operator's examples together must
// show that each of its traits cannot say more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "isobit/runtime/traits_for_test.h"

namespace isobit::runtime {
namespace {

using graph::ElementRule;
using graph::InputSet;
using graph::OutputDef;

using Examples = std::vector<const OperatorCase*>;

std::map<std::string, Examples> examples() {
  std::map<std::string, Examples> examples;
  for (const OperatorCase& c : operator_cases()) examples[c.op].push_back(&c);
  return examples;
}

// What all examples of an operator show of one output.
struct Shown {
  std::set<size_t> follows_from;  // inputs that change it
  std::set<size_t> moved_from;    // inputs of which it has elements
  bool other = false;             // has something that is no element of an input of its type
  bool twice = false;             // has an element of `moved_from` a second time
};

class LeftUnsaid : public ::testing::Test {
 protected:
  std::vector<Tensor> run(const OneOperator& one) { return one.run({kernels::best_isa(), &pool_}); }

  // The last one stands for all further outputs (OpDef::more_outputs_like_last).
  static Shown& described(std::vector<Shown>& shown, size_t o) { return shown[std::min(o, shown.size() - 1)]; }

  void look_for_dependence(const OperatorCase& c, std::vector<Shown>& shown) {
    const OneOperator one(c, DType::kFloat32);
    const std::vector<Tensor> expected = run(one);
    for (size_t i = 0; i < one.feeds.size(); ++i) {
      for (uint64_t seed : {2, 3, 4}) {
        const std::vector<Tensor> found = run(with_other_values(one, c, i, seed));
        for (size_t o = 0; o < expected.size(); ++o) {
          if (!identical(found[o], expected[o])) described(shown, o).follows_from.insert(i);
        }
      }
    }
  }

  void look_for_moves(const OperatorCase& c, uint64_t seed, std::vector<Shown>& shown) {
    const OneOperator one(c, DType::kFloat32, seed);
    const std::vector<Tensor> outputs = run(one);
    std::map<double, size_t> input_of;  // by magnitude, of which none comes twice
    for (size_t i = 0; i < one.feeds.size(); ++i) {
      if (!c.operands[i].is_real()) continue;
      for (double x : reals(one.feeds[i])) {
        if (!std::isnan(x)) input_of[std::fabs(x)] = i;
      }
    }
    for (size_t o = 0; o < outputs.size(); ++o) {
      Shown& of_output = described(shown, o);
      if (outputs[o].dtype() != DType::kFloat32) {
        of_output.other = true;
        continue;
      }
      std::set<double> seen;
      for (double x : reals(outputs[o])) {
        if (x == 0) continue;
        const auto found = input_of.find(std::fabs(x));
        if (found == input_of.end()) {
          of_output.other = true;
          continue;
        }
        of_output.moved_from.insert(found->second);
        of_output.twice |= !seen.insert(found->first).second;
      }
    }
  }

  std::vector<Shown> look_at(const Examples& all) {
    std::vector<Shown> shown(graph::find_op(all[0]->op)->outputs.size());
    for (const OperatorCase* c : all) {
      look_for_dependence(*c, shown);
      for (uint64_t seed : {1, 2, 3}) look_for_moves(*c, seed, shown);
    }
    return shown;
  }

  // Whether some example shows what an input that is no parameter does.
  static bool shows(const Examples& all, size_t i) {
    return std::any_of(all.begin(), all.end(), [i](const OperatorCase* c) {
      return i < c->operands.size() && c->operands[i].kind != CaseOperand::Kind::kParameter &&
             c->operands[i].kind != CaseOperand::Kind::kAbsent;
    });
  }

  static size_t most_inputs(const Examples& all) {
    size_t most = 0;
    for (const OperatorCase* c : all) most = std::max(most, c->operands.size());
    return most;
  }

  ThreadPool pool_{1};
};

TEST_F(LeftUnsaid, EveryInputThatIsNamedIsFollowed) {
  for (const auto& [op, all] : examples()) {
    const std::vector<Shown> shown = look_at(all);
    for (size_t o = 0; o < shown.size(); ++o) {
      SCOPED_TRACE(op + " output " + std::to_string(o));
      const OutputDef& def = graph::find_op(op)->output(o);
      for (size_t i = 0; i < most_inputs(all); ++i) {
        if (!shows(all, i)) continue;
        if (!def.follows_from.contains(i)) continue;
        EXPECT_TRUE(shown[o].follows_from.contains(i)) << "never by input " << i;
      }
    }
  }
}

TEST_F(LeftUnsaid, WhatIsMovedSaysSo) {
  for (const auto& [op, all] : examples()) {
    const std::vector<Shown> shown = look_at(all);
    for (size_t o = 0; o < shown.size(); ++o) {
      SCOPED_TRACE(op + " output " + std::to_string(o));
      const OutputDef& def = graph::find_op(op)->output(o);
      if (def.moved_from.empty() && !shown[o].other) {
        // The maxima of rows are rounded like what else becomes of a row: logs hold decisions for them.
        EXPECT_TRUE(op == "isobit.CrossEntropy" && def.rule == ElementRule::kMaximum) << "is moved";
      }
      if (def.moved_from.empty()) continue;
      for (size_t i = 0; i < most_inputs(all); ++i) {
        if (!def.moved_from.contains(i)) continue;
        EXPECT_TRUE(shown[o].moved_from.contains(i)) << "nothing of input " << i;
      }
      EXPECT_NE(def.takes_each_once, shown[o].twice) << "whether an element is taken a second time";
    }
  }
}

}  // namespace
}  // namespace isobit::runtime
