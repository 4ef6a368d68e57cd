#include "isobit/lab/reveal/probes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "isobit/lab/reveal/functions.h"
#include "isobit/lab/reveal/planted_for_test.h"
#include "isobit/lab/reveal/svg.h"
#include "isobit/lab/reveal/words.h"

namespace isobit::lab::reveal {
namespace {

using namespace testing;

struct Faults {
  bool fused = false, wide = false, truncates = false, flushes_inputs = false, flushes_results = false;
};

float flushed(float x, bool flush) { return flush && std::abs(x) < 0x1p-126f ? 0.0f : x; }

// A chain of products with planted arithmetic.
class Chain final : public Summation {
 public:
  Chain(int64_t k, const Faults& faults) : k_(k), faults_(faults), weights_(static_cast<size_t>(k), 1) {}
  int64_t terms() const override { return k_; }
  Format format() const override { return Format::kFloat32; }
  bool has_weights() const override { return true; }
  Status weigh(const double* w) override {
    weights_.assign(w, w + k_);
    return {};
  }
  Status sums(int64_t count, const double* terms, double* results) override {
    for (int64_t q = 0; q < count; ++q) results[q] = sum(terms + q * k_);
    return {};
  }

 private:
  double sum(const double* terms) const {
    if (faults_.wide) {
      double total = 0;
      for (int64_t l = 0; l < k_; ++l) total += terms[l] * weights_[static_cast<size_t>(l)];
      return static_cast<double>(static_cast<float>(total));
    }
    float total = 0;
    for (int64_t l = 0; l < k_; ++l) {
      const float a = flushed(static_cast<float>(terms[l]), faults_.flushes_inputs);
      const float b = flushed(static_cast<float>(weights_[static_cast<size_t>(l)]), faults_.flushes_inputs);
      const double exact = faults_.fused ? static_cast<double>(a) * b : static_cast<double>(a * b);
      total = flushed(rounded(exact, static_cast<double>(total)), faults_.flushes_results);
    }
    return static_cast<double>(total);
  }
  // The terms of the probes add exactly in float64.
  float rounded(double a, double b) const {
    const double sum = a + b;
    float near = static_cast<float>(sum);
    if (faults_.truncates && std::abs(static_cast<double>(near)) > std::abs(sum)) near = std::nextafter(near, 0.0f);
    return near;
  }

  int64_t k_;
  Faults faults_;
  std::vector<double> weights_;
};

std::string finding(const Faults& faults, const std::string& name) {
  Chain chain(20, faults);
  const auto probes = probe_arithmetic(chain, chain_tree(20)).value();
  for (const Probe& p : probes) {
    if (p.name == name) return p.finding;
  }
  return "none";
}

TEST(Probes, OfPlainArithmetic) {
  EXPECT_EQ(finding({}, "rounding"), "to nearest even");
  EXPECT_EQ(finding({}, "accumulator"), "24 bits (float32)");
  EXPECT_EQ(finding({}, "products"), "rounded, then added");
  for (const char* name : {"subnormal inputs", "subnormal results", "subnormal products"})
    EXPECT_EQ(finding({}, name), "kept");
}

TEST(Probes, FindWhatIsPlanted) {
  EXPECT_EQ(finding({.fused = true}, "products"), "fused multiply-add");
  EXPECT_EQ(finding({.wide = true}, "accumulator"), "53 bits (float64)");
  EXPECT_EQ(finding({.truncates = true}, "rounding"), "toward zero");
  EXPECT_EQ(finding({.flushes_inputs = true}, "subnormal inputs"), "taken as zero");
  EXPECT_EQ(finding({.flushes_results = true}, "subnormal results"), "flushed to zero");
  EXPECT_EQ(finding({.flushes_results = true}, "subnormal products"), "flushed to zero");
}

TEST(Probes, TellDivisionFromMultiplicationByAReciprocal) {
  for (const bool divides : {true, false}) {
    Planted mean(6, Format::kFloat32, [&](const double* terms) {
      float total = 0;
      for (int l = 0; l < 6; ++l) total += static_cast<float>(terms[l]);
      return static_cast<double>(divides ? total / 6 : total * (1.0f / 6)) * 6;
    });
    EXPECT_EQ(probe_division(mean).value().finding, divides ? "division" : "multiplication by the rounded 1/6");
  }
}

std::vector<FunctionReport> compared(const std::function<float(Function, float, float)>& f) {
  return compare_functions([&](Function function, const std::vector<float>& x, const std::vector<float>& y) {
           std::vector<float> out(x.size());
           for (size_t i = 0; i < x.size(); ++i) out[i] = f(function, x[i], y.empty() ? 0 : y[i]);
           return Expected<std::vector<float>>(std::move(out));
         })
      .value();
}

TEST(Functions, CountTheUlpsOfWhatIsPlanted) {
  int64_t exps = 0;
  const auto reports = compared([&](Function f, float x, float y) {
    const float right = expected(f, x, y);
    if (f == Function::kDivide6) return x * (1.0f / 6);
    if (f != Function::kExp) return right;
    return ++exps % 4 == 0 ? std::nextafter(right, INFINITY) : right;
  });
  for (const FunctionReport& r : reports) {
    SCOPED_TRACE(name_of(r.function));
    EXPECT_EQ(r.ulps[0] + r.ulps[1], r.arguments);
    if (r.function == Function::kExp) {
      EXPECT_EQ(r.ulps[1], r.arguments / 4);
      EXPECT_EQ(r.largest, 1u);
    } else if (r.function == Function::kDivide6) {
      EXPECT_GT(r.like_reciprocal, r.arguments / 10);
      EXPECT_EQ(r.like_reciprocal, r.reciprocal_differs);
      EXPECT_EQ(r.ulps[1], r.reciprocal_differs);
    } else {
      EXPECT_EQ(r.ulps[0], r.arguments);
    }
  }
}

TEST(Functions, DigestsTellOneBit) {
  const float one = arguments_of(Function::kTanh)[7];
  const auto right = compared(expected),
             wrong = compared([&](Function f, float x, float y) {
               const float value = expected(f, x, y);
               return x == one && f == Function::kTanh ? std::nextafter(value, 2.0f) : value;
             });
  for (size_t f = 0; f < right.size(); ++f) {
    EXPECT_EQ(right[f].digest == wrong[f].digest, right[f].function != Function::kTanh);
  }
}

TEST(Svg, IsSelfContainedAndEscaped) {
  for (const SumTree& tree : {chain_tree(2), lane_tree(64, 16), block_tree(4096, 384), chain_tree(4096), SumTree()}) {
    const std::string svg = svg_of_tree(tree, "<script>alert(\"1 & 2\")</script>");
    EXPECT_EQ(svg.find("<script"), svg.npos);
    EXPECT_NE(svg.find("&lt;script&gt;"), svg.npos);
    EXPECT_EQ(svg.rfind("</svg>\n"), svg.size() - 7);
    EXPECT_EQ(svg.find("nan"), svg.npos);
    EXPECT_LT(svg.size(), 200'000u);
  }
  // Every leaf of a small tree is there, and parts of a large one.
  const std::string small = svg_of_tree(lane_tree(64, 16), "t"), large = svg_of_tree(block_tree(4096, 384), "t");
  for (int leaf = 0; leaf < 64; ++leaf)
    EXPECT_NE(small.find(">" + std::to_string(leaf) + "</text>"), small.npos) << leaf;
  EXPECT_NE(large.find("from 384</text>"), large.npos);
  EXPECT_NE(large.find("384 terms</text>"), large.npos);
}

TEST(Svg, ItsWordsStandInLinesThatFit) {
  for (const SumTree& tree : {chain_tree(4), lane_tree(256, 16), block_tree(4096, 320)}) {
    const std::string words = words_of(tree), svg = svg_of_tree(tree, "t");
    const double width = std::stod(svg.substr(svg.find("width=\"") + 7));
    std::string drawn;
    const std::regex line(R"(<text x="24" y="\d+" font-size="12">([^<]*)</text>)");
    for (std::sregex_iterator at(svg.begin(), svg.end(), line), end; at != end; ++at) {
      EXPECT_LE(6 * static_cast<double>((*at)[1].length()), width - 24) << (*at)[1];
      drawn += (drawn.empty() ? "" : " ") + (*at)[1].str();
    }
    EXPECT_EQ(drawn, words);
  }
}

}  // namespace
}  // namespace isobit::lab::reveal
