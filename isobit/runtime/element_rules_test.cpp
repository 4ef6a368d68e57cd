// The rule by which an operator says that one element of an output follows, against what its kernel computes when
// single elements of the inputs change, and elements judged alone: by the elements that they say they are made of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "isobit/runtime/element_formula.h"
#include "isobit/runtime/traits_for_test.h"

namespace isobit::runtime {
namespace {

using graph::ElementRule;
using graph::OutputDef;

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
        for (double other : {x * 1.5, x * 0.75, GetParam().operands[i].kind == CaseOperand::Kind::kReal ? -x : x * 8}) {
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

  // Whether each element is just the one element that it depends on, or else zero.
  bool is_moved(const OneOperator& one, const Tensor& expected, const std::vector<Sources>& sources) {
    const std::vector<double> found = reals(expected);
    for (size_t k = 0; k < found.size(); ++k) {
      double x = 0;
      if (sources[k].size() > 1) return false;
      for (const auto& [input, elements] : sources[k]) {
        if (elements.size() > 1) return false;
        x = reals(one.feeds[input])[static_cast<size_t>(*elements.begin())];
      }
      if (found[k] != x) return false;
    }
    return true;
  }

  // The last real input that output o follows from, doubled, doubles it. More than one element counts, and each that
  // counts does so when it grows and when it shrinks.
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
    for (size_t e = 0; e < terms.size(); ++e) {
      const auto place = static_cast<int64_t>(e);
      EXPECT_EQ(changed(expected, with(one, summed, place, 100)[o]),
                changed(expected, with(one, summed, place, -100)[o]))
          << "element " << e << " counts only on one side, as in a maximum";
    }
  }

  // Input 0 doubled doubles it, and more than one element of it counts.
  void expect_sampled(const OneOperator& one, const Tensor& expected, size_t o, const std::vector<Sources>& sources) {
    OneOperator doubled = one;
    doubled.feeds[0] = one.feeds[0].clone();
    const std::vector<double> src = reals(one.feeds[0]), once = reals(expected);
    for (size_t e = 0; e < src.size(); ++e) set_element(doubled.feeds[0], static_cast<int64_t>(e), 2 * src[e]);
    const std::vector<double> twice = reals(run(doubled)[o]);
    size_t most = 0;
    for (size_t k = 0; k < once.size(); ++k) {
      EXPECT_EQ(twice[k], 2 * once[k]) << k;
      const auto found = sources[k].find(0);
      if (found != sources[k].end()) most = std::max(most, found->second.size());
    }
    EXPECT_GT(most, 1U) << "no element is made of several";
  }

  // An element is one of input 0; raising an element of that input (lowering it, of a minimum: sign -1) raises it to
  // just that, or leaves it alone.
  void expect_extreme(const OneOperator& one, const Tensor& expected, size_t o, double sign) {
    const std::vector<double> src = reals(one.feeds[0]), dst = reals(expected);
    for (double x : dst) EXPECT_TRUE(std::find(src.begin(), src.end(), x) != src.end()) << x;
    const double far = 100 * sign;
    size_t raised = 0;
    for (size_t e = 0; e < src.size(); ++e) {
      const std::vector<double> up = reals(with(one, 0, static_cast<int64_t>(e), far)[o]),
                                down = reals(with(one, 0, static_cast<int64_t>(e), -far)[o]);
      for (size_t k = 0; k < dst.size(); ++k) {
        EXPECT_TRUE(up[k] == dst[k] || up[k] == far) << e << " " << k;
        EXPECT_LE(down[k] * sign, dst[k] * sign) << e << " " << k;
        raised += up[k] == far ? 1 : 0;
      }
    }
    EXPECT_GT(raised, dst.size()) << "no element is the largest of several";
  }

  // An element is one of input 0. One that is made the largest, or the least, by far becomes an element of the output
  // or moves others in it to the next place, as no maximum does.
  void expect_ranked(const OneOperator& one, const Tensor& expected, size_t o) {
    const std::vector<double> src = reals(one.feeds[0]), dst = reals(expected);
    size_t taken = 0, moved = 0;
    for (size_t e = 0; e < src.size(); ++e) {
      for (double far : {100.0, -100.0}) {
        const std::vector<double> found = reals(with(one, 0, static_cast<int64_t>(e), far)[o]);
        for (size_t k = 0; k < dst.size(); ++k) {
          EXPECT_TRUE(found[k] == far || std::find(src.begin(), src.end(), found[k]) != src.end()) << e << " " << k;
          taken += found[k] == far ? 1 : 0;
          moved += found[k] != far && found[k] != dst[k] ? 1 : 0;
        }
      }
    }
    EXPECT_GT(taken, 0u);
    EXPECT_GT(moved, 0u) << "is a maximum or a minimum";
  }

  // Where an integer says that element e of input 0 is: along the node's axis, or among all elements.
  int64_t place_of(const OneOperator& one, int64_t e) {
    const Shape& shape = one.feeds[0].shape();
    const graph::Attributes& attributes = GetParam().attributes;
    if (!attributes.has("axis")) return e;
    const auto given = static_cast<int>(attributes.integer("axis", 0));
    const int axis = given < 0 ? given + shape.rank() : given;
    return e / shape.elements(axis + 1, shape.rank()) % shape[axis];
  }

  // Whether an element that becomes x is what each integer that changes then names; or one of them, where the others
  // are of the elements that it moved to the next place.
  bool is_found(const OneOperator& one, const Tensor& expected, size_t o, double x) {
    const bool moves_others = one.def().output(0).rule == ElementRule::kRanked;
    bool met = false;
    for (int64_t e = 0; e < one.feeds[0].elements(); ++e) {
      const Tensor found = with(one, 0, e, x)[o];
      const std::vector<int64_t> places = changed(expected, found);
      const auto is_there = [&](int64_t k) { return found.data<int64_t>()[k] == place_of(one, e); };
      const auto right = std::count_if(places.begin(), places.end(), is_there);
      if (right == 0 ? !places.empty() : !moves_others && right < static_cast<int64_t>(places.size())) return false;
      met |= right > 0;
    }
    return met;
  }

  // An element that becomes the largest by far, or the least, is found at its place.
  void expect_place(const OneOperator& one, const Tensor& expected, size_t o) {
    ASSERT_EQ(expected.dtype(), DType::kInt64);
    EXPECT_TRUE(is_found(one, expected, o, 100) || is_found(one, expected, o, -100));
  }

  // An element that is doubled doubles what it is a factor of.
  void expect_product(const OneOperator& one, const Tensor& expected, size_t o, size_t most_of_one_input) {
    EXPECT_GT(most_of_one_input, 1U) << "no element is the product of several";
    const std::vector<double> once = reals(expected);
    for (size_t i = 0; i < one.feeds.size(); ++i) {
      if (!GetParam().operands[i].is_real()) continue;
      const std::vector<double> factors = reals(one.feeds[i]);
      for (size_t e = 0; e < factors.size(); ++e) {
        const std::vector<double> found = reals(with(one, i, static_cast<int64_t>(e), 2 * factors[e])[o]);
        for (size_t k = 0; k < once.size(); ++k) {
          EXPECT_TRUE(found[k] == once[k] || found[k] == 2 * once[k]) << i << " " << e << " " << k;
        }
      }
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
      size_t most_of_one_input = 0;
      for (const Sources& element : all[o]) {
        for (const auto& [input, elements] : element) most_of_one_input = std::max(most_of_one_input, elements.size());
      }
      switch (def.rule) {
        case ElementRule::kMoved:
          EXPECT_TRUE(is_moved(one, expected[o], all[o]));
          EXPECT_FALSE(def.moved_from.empty());
          break;
        case ElementRule::kPointwise:
          EXPECT_LE(most_of_one_input, 1U);
          // A cast may leave numbers as they are.
          if (one.def().any_real_type) {
            EXPECT_FALSE(is_moved(one, expected[o], all[o])) << "is moved and does not say so";
          }
          break;
        case ElementRule::kSum:
          expect_sum(one, expected[o], o, all[o]);
          break;
        case ElementRule::kMaximum:
          expect_extreme(one, expected[o], o, 1);
          break;
        case ElementRule::kMinimum:
          expect_extreme(one, expected[o], o, -1);
          break;
        case ElementRule::kRanked:
          expect_ranked(one, expected[o], o);
          break;
        case ElementRule::kProduct:
          expect_product(one, expected[o], o, most_of_one_input);
          break;
        case ElementRule::kPlace:
          expect_place(one, expected[o], o);
          break;
        case ElementRule::kInnerProduct:
        case ElementRule::kStatistics:
          EXPECT_GT(most_of_one_input, 1U) << "is pointwise";
          break;
        case ElementRule::kSampled:
          expect_sampled(one, expected[o], o, all[o]);
          break;
        case ElementRule::kFormula:  // of which attributes may leave one element alone
        case ElementRule::kWhole:
          break;
        case ElementRule::kNone:
          ADD_FAILURE();
      }
    }
  }
}

// What an output says of its elements' sources.
class ElementSources : public Dependence {
 protected:
  static graph::ElementQuery query(const OneOperator& one, const std::vector<Tensor>& outputs, size_t o) {
    graph::ElementQuery q{.node = one.node()};
    for (size_t i = 0; i < one.feeds.size(); ++i) {
      const bool is_there = one.node().inputs[i] != graph::kNoValue;
      q.inputs.push_back(is_there ? one.feeds[i].shape().dims() : std::vector<int64_t>{});
    }
    for (const Tensor& t : outputs) q.outputs.push_back(t.shape().dims());
    for (const graph::Statistic& s : graph::statistics_of(one.graph, one.node())) q.statistics.push_back(s.dims);
    // Elements that say where are looked at one by one; what is asked for as a whole are no real numbers, but for
    // constants.
    q.operand = [&one](int i) {
      const graph::ValueId id = one.node().inputs[static_cast<size_t>(i)];
      return id == graph::kNoValue ? nullptr : &one.feeds[static_cast<size_t>(i)];
    };
    q.output = o;
    return q;
  }

  // In place of statistics what those are made of; each element once.
  static std::vector<graph::ElementSource> of_inputs(const OneOperator& one, graph::ElementQuery q,
                                                     const std::vector<graph::ElementSource>& said) {
    const std::vector<graph::Statistic> statistics = graph::statistics_of(one.graph, one.node());
    std::vector<graph::ElementSource> all;
    const auto add = [&](const graph::ElementSource& s) {
      if (std::find(all.begin(), all.end(), s) == all.end()) all.push_back(s);
    };
    for (const graph::ElementSource& s : said) {
      if (!s.of_statistic) {
        add(s);
        continue;
      }
      const auto number = static_cast<size_t>(s.input);
      EXPECT_TRUE(!q.statistic || number < *q.statistic) << "statistics follow from those before them";
      graph::ElementQuery of_statistic = q;
      of_statistic.statistic = number;
      of_statistic.element = s.element;
      std::ranges::for_each(of_inputs(one, of_statistic, statistics[number].sources(of_statistic)), add);
    }
    return all;
  }

  static const ElementFormula* formula_of(const OneOperator& one, size_t o) {
    const ElementFormulas* all = element_formulas(one.node());
    return all != nullptr && o < all->outputs.size() ? &all->outputs[o] : nullptr;
  }

  static std::vector<graph::ElementSource> each_once(std::vector<graph::ElementSource> elements,
                                                     const std::vector<graph::SourceRule>& guides,
                                                     const graph::ElementQuery& q) {
    for (const graph::SourceRule& stage : guides) std::ranges::copy(stage(q), std::back_inserter(elements));
    std::ranges::sort(elements, {}, [](const auto& s) { return std::pair(s.input, s.element); });
    elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
    return elements;
  }

  // The first element, the last one and some between.
  static std::vector<int64_t> some_of(int64_t n) {
    std::vector<int64_t> some;
    for (int64_t e = 0; e < n; e += std::max<int64_t>(1, n / 7)) some.push_back(e);
    if (n > 0 && some.back() != n - 1) some.push_back(n - 1);
    return some;
  }

  static const char* bytes(const Tensor& t, int64_t e) {
    return static_cast<const char*>(t.raw()) + static_cast<size_t>(e) * size_of(t.dtype());
  }

  // The products of the pairs and what is behind them add up to it, within the rounding of float32.
  static void expect_product_sum(const OneOperator& one, const std::vector<graph::ElementSource>& said, double found) {
    const auto number = [&](size_t i) {
      return reals(one.feeds[static_cast<size_t>(said[i].input)])[static_cast<size_t>(said[i].element)];
    };
    double sum = 0, size = 0;
    size_t i = 0;
    for (; i + 1 < said.size() && said[i + 1].input == 1; i += 2) {
      ASSERT_EQ(said[i].input, 0);
      sum += number(i) * number(i + 1);
      size += std::fabs(number(i) * number(i + 1));
    }
    if (i < said.size()) sum += number(i);
    EXPECT_LE(said.size(), i + 1);
    EXPECT_NEAR(found, sum, 1e-5 * (1 + size));
  }

  // The node with every input filled with the element that counts; what counts nowhere stays.
  std::vector<Tensor> filled(const OneOperator& one, const std::vector<graph::ElementSource>& sources) {
    OneOperator other = one;
    for (const graph::ElementSource& s : sources) {
      const Tensor& from = one.feeds[static_cast<size_t>(s.input)];
      Tensor& to = other.feeds[static_cast<size_t>(s.input)];
      to = from.clone();
      const size_t size = size_of(to.dtype());
      for (int64_t e = 0; is_real(to) && e < to.elements(); ++e) {
        std::memcpy(static_cast<char*>(to.raw()) + static_cast<size_t>(e) * size, bytes(from, s.element), size);
      }
    }
    return run(other);
  }
};

INSTANTIATE_TEST_SUITE_P(Operators, ElementSources, ::testing::ValuesIn(operator_cases()), name_of_case);

TEST_P(ElementSources, AreAllThatAnElementIsMadeOf) {
  for (DType dtype : types()) {
    const OneOperator one(GetParam(), dtype);
    const std::vector<Tensor> expected = run(one);
    const std::vector<std::vector<Sources>> changing = sources(one, expected);
    for (size_t o = 0; o < expected.size(); ++o) {
      const OutputDef& def = one.def().output(o);
      const ElementFormula* formula = formula_of(one, o);
      const bool is_sampled = formula != nullptr && formula->sampled;
      if (!def.sources && !is_sampled) continue;
      graph::ElementQuery q = query(one, expected, o);
      for (const int64_t element : some_of(expected[o].elements())) {
        q.element = element;
        SCOPED_TRACE("output " + std::to_string(o) + " element " + std::to_string(q.element));
        const std::vector<graph::ElementSource> said = is_sampled ? formula->sampled(q).sources : def.sources(q);
        const bool by_statistics = def.rule == ElementRule::kStatistics;
        std::vector<graph::ElementSource> inputs = by_statistics ? of_inputs(one, q, said) : said;
        // A sampled place may be met twice, and its coordinates count, too.
        if (is_sampled) inputs = each_once(inputs, formula->guides, q);
        for (const auto& [input, elements] : changing[o][static_cast<size_t>(element)]) {
          for (const int64_t e : elements) {
            const graph::ElementSource s{static_cast<int>(input), e};
            EXPECT_EQ(std::count(inputs.begin(), inputs.end(), s), 1) << "input " << input << " element " << e;
          }
        }
        const char* const found = bytes(expected[o], q.element);
        const auto k = static_cast<size_t>(q.element);
        const size_t size = size_of(expected[o].dtype());
        if (def.rule == ElementRule::kMoved) {
          ASSERT_LE(said.size(), 1u);
          const std::vector<char> zero(size, 0);
          const char* const moved =
              said.empty() ? zero.data() : bytes(one.feeds[static_cast<size_t>(said[0].input)], said[0].element);
          EXPECT_EQ(std::memcmp(found, moved, size), 0);
        }
        if (def.rule == ElementRule::kInnerProduct) expect_product_sum(one, said, reals(expected[o])[k]);
        if (def.rule == ElementRule::kPointwise) {
          EXPECT_EQ(std::memcmp(found, bytes(filled(one, said)[o], q.element), size), 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace isobit::runtime
