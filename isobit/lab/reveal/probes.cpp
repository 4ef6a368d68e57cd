#include "isobit/lab/reveal/probes.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "isobit/base/text.h"
#include "isobit/lab/reveal/asker.h"
#include "isobit/lab/reveal/evaluate.h"

namespace isobit::lab::reveal {

namespace {

constexpr int64_t kMostTried = 64;
constexpr int kMostBits = 120;  // of an accumulator that is looked for

struct Leaves {
  TreeId p, q, r;  // p and q meet before either meets r; r = -1 where there are two terms only
};

Leaves leaves_that_meet_first(const SumTree& tree) {
  // A node of leaves alone: there always is one.
  for (const auto& children : tree.nodes()) {
    if (!std::all_of(children.begin(), children.end(), [&](TreeId id) { return tree.is_leaf(id); })) continue;
    TreeId other = 0;
    while (std::find(children.begin(), children.end(), other) != children.end()) ++other;
    return {children[0], children[1], other < tree.leaves() ? other : -1};
  }
  return {0, 0, -1};
}

class Prober {
 public:
  Prober(Summation& summation, const SumTree& tree)
      : summation_(summation), asker_(summation), tree_(tree), narrow_(summation.format() == Format::kFloat32) {}

  Expected<std::vector<Probe>> run() {
    if (tree_.leaves() < 2) return std::vector<Probe>();
    leaves_ = leaves_that_meet_first(tree_);
    std::vector<Probe> probes;
    ISOBIT_TRY(Probe rounding, probe_rounding());
    probes.push_back(std::move(rounding));
    if (leaves_.r >= 0) {
      ISOBIT_TRY(Probe accumulator, probe_accumulator());
      probes.push_back(std::move(accumulator));
    }
    if (summation_.has_weights()) {
      ISOBIT_TRY(Probe products, probe_products());
      probes.push_back(std::move(products));
    }
    ISOBIT_RETURN_IF_ERROR(probe_subnormals(probes));
    return probes;
  }

 private:
  Expected<double> pair(double x, double y) {
    const Question question{.others = 0, .count = 2, .places = {{leaves_.p, x}, {leaves_.q, y}}};
    ISOBIT_TRY(const std::vector<double> sums, asker_.ask({&question, 1}));
    return sums[0];
  }

  Expected<Probe> probe_rounding() {
    const double u = narrow_ ? 0x1p-24 : 0x1p-53;
    ISOBIT_TRY(const double above, pair(1, 1.5 * u));
    ISOBIT_TRY(const double below, pair(-1, -1.5 * u));
    ISOBIT_TRY(const double even, pair(1, u));
    ISOBIT_TRY(const double odd, pair(1 + 2 * u, u));
    const bool up = above > 1, away = below < -1;
    std::string finding = "in no way known";
    if (up && away) {
      finding = even == 1 && odd == 1 + 4 * u ? "to nearest even"
                : even > 1 && odd > 1 + 2 * u ? "to nearest, ties away from zero"
                                              : "to nearest, ties otherwise";
    } else {
      finding = !up && !away ? "toward zero" : up ? "up" : "down";
    }
    return Probe{"rounding", finding,
                 text_of("1 + 1.5u is ", up ? "1 + 2u" : "1", ", -1 - 1.5u is ", away ? "-1 - 2u" : "-1", ", 1 + u is ",
                         even == 1 ? "1" : "1 + 2u", ", (1 + 2u) + u is ", odd == 1 + 4 * u ? "1 + 4u" : "1 + 2u")};
  }

  Expected<Probe> probe_accumulator() {
    std::vector<Question> questions;
    for (int b = 1; b <= kMostBits; ++b) {
      questions.push_back(
          {.others = 0, .count = 3, .places = {{leaves_.p, 1}, {leaves_.q, std::ldexp(1.0, -b)}, {leaves_.r, -1}}});
    }
    ISOBIT_TRY(const std::vector<double> sums, asker_.ask(questions));
    const auto lost = std::find(sums.begin(), sums.end(), 0.0);
    const int64_t bits = lost - sums.begin() + 1;
    const std::string finding = lost == sums.end() ? text_of("more than ", kMostBits, " bits") : text_of(bits, " bits");
    const std::string type = bits == 24   ? " (float32)"
                             : bits == 53 ? " (float64)"
                             : bits == 11 ? " (float16)"
                             : bits == 8  ? " (bfloat16)"
                                          : "";
    return Probe{"accumulator", finding + type,
                 text_of("1 + 2^-b - 1 of terms ", leaves_.p, ", ", leaves_.q, ", ", leaves_.r,
                         " is 2^-b up to b = ", bits - 1)};
  }

  // Of each term tried, the one whose partial sum it joins.
  std::vector<std::pair<TreeId, TreeId>> partners() const {
    const std::vector<TreeId> smallest = tree_.smallest();
    std::vector<std::pair<TreeId, TreeId>> pairs;
    for (const auto& children : tree_.nodes()) {
      for (size_t c = 0; c < children.size(); ++c) {
        if (!tree_.is_leaf(children[c])) continue;
        pairs.emplace_back(children[c], smallest[static_cast<size_t>(children[c == 0 ? 1 : 0])]);
      }
    }
    std::sort(pairs.begin(), pairs.end());
    if (pairs.size() <= kMostTried) return pairs;
    std::vector<std::pair<TreeId, TreeId>> some;
    for (int64_t i = 0; i < kMostTried; ++i) some.push_back(pairs[static_cast<size_t>(i) * pairs.size() / kMostTried]);
    return some;
  }

  Expected<Probe> probe_products() {
    const double h = narrow_ ? 0x1p-12 : 0x1p-27;
    int64_t unrounded = 0, tried = 0;
    for (const auto& [p, q] : partners()) {
      std::vector<double> weights(static_cast<size_t>(tree_.leaves()), 1);
      weights[static_cast<size_t>(p)] = 1 + h;
      ISOBIT_RETURN_IF_ERROR(summation_.weigh(weights.data()));
      const Question question{.others = 0, .count = 2, .places = {{p, 1 + h}, {q, -(1 + 2 * h)}}};
      ISOBIT_TRY(const std::vector<double> sums, asker_.ask({&question, 1}));
      unrounded += sums[0] == h * h;
      ++tried;
    }
    const std::vector<double> ones(static_cast<size_t>(tree_.leaves()), 1);
    ISOBIT_RETURN_IF_ERROR(summation_.weigh(ones.data()));
    const std::string count = text_of(unrounded, " of ", tried, " terms tried enter their sum unrounded");
    return Probe{"products", unrounded > 0 ? "fused multiply-add" : "rounded, then added", count};
  }

  Status probe_subnormals(std::vector<Probe>& probes) {
    const int least = narrow_ ? -126 : -1022;
    const double normal = std::ldexp(1.0, least), half = normal / 2;
    ISOBIT_TRY(const double input, pair(half, normal));
    ISOBIT_TRY(const double result, pair(1.5 * normal, -normal));
    probes.push_back(
        {"subnormal inputs", input == 1.5 * normal ? "kept" : "taken as zero",
         text_of("2^", least - 1, " + 2^", least, input == 1.5 * normal ? " is their sum" : " is something else")});
    probes.push_back({"subnormal results", result == half ? "kept" : "flushed to zero",
                      text_of("1.5 * 2^", least, " - 2^", least, " is ",
                              result == half ? text_of("2^", least - 1) : text_of(result))});
    if (!summation_.has_weights()) return {};
    const double small = narrow_ ? 0x1p-70 : 0x1p-530;
    std::vector<double> weights(static_cast<size_t>(tree_.leaves()), small);
    ISOBIT_RETURN_IF_ERROR(summation_.weigh(weights.data()));
    const auto product = pair(small, 0);
    std::fill(weights.begin(), weights.end(), 1);
    ISOBIT_RETURN_IF_ERROR(summation_.weigh(weights.data()));
    if (!product) return tl::unexpected<Error>(product.error());
    probes.push_back({"subnormal products", *product == small * small ? "kept" : "flushed to zero",
                      text_of("2^", narrow_ ? -70 : -530, " squared is ",
                              *product == small * small ? "its square" : text_of(*product))});
    return {};
  }

  Summation& summation_;
  Asker asker_;
  const SumTree& tree_;
  const bool narrow_;
  Leaves leaves_{};
};

}  // namespace

Expected<std::vector<Probe>> probe_arithmetic(Summation& summation, const SumTree& tree) {
  return Prober(summation, tree).run();
}

Expected<Probe> probe_division(Summation& mean_of_six) {
  ISOBIT_CHECK(mean_of_six.terms() == 6);
  const Format format = mean_of_six.format();
  const double sixth = rounded_to(format, 1.0 / 6);
  std::mt19937_64 random(6);
  int64_t differ = 0, divided = 0, multiplied = 0;
  Asker asker(mean_of_six);
  for (int i = 0; i < 256; ++i) {
    const double x = format == Format::kFloat32 ? static_cast<double>((random() >> 41) | 1 << 23)
                                                : static_cast<double>((random() >> 12) | uint64_t{1} << 52);
    const double quotient = rounded_to(format, x / 6), product = rounded_to(format, x * sixth);
    if (quotient == product) continue;
    const Question question{.others = 0, .count = 1, .places = {{0, x}}};
    ISOBIT_TRY(const std::vector<double> sums, asker.ask({&question, 1}));
    // The summation gave the mean times six.
    const double mean = rounded_to(format, sums[0] / 6);
    ++differ;
    divided += mean == quotient;
    multiplied += mean == product;
  }
  const std::string finding = divided == differ      ? "division"
                              : multiplied == differ ? "multiplication by the rounded 1/6"
                                                     : "neither everywhere";
  return Probe{"division", finding,
               text_of("of ", differ, " x whose x / 6 and x * (1/6) differ, ", divided, " are divided and ", multiplied,
                       " multiplied")};
}

}  // namespace isobit::lab::reveal
