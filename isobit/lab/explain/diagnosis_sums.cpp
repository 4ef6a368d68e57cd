// Sums: their order, their products, their width, their division, and tiles in place of windows.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/lab/explain/diagnosis_internal.h"
#include "isobit/lab/reveal/words.h"
#include "isobit/numerics/bits.h"

namespace isobit::lab::explain {
namespace {

constexpr size_t kMostPlaces = 64;

// A thing in which two kernels differ, and how the one is given that of the other.
struct Difference {
  Kind kind;
  std::string words;
  void (*apply)(SumModel& to, const SumModel& from);
};

class Sums {
 public:
  explicit Sums(const Evidence& e) : e_(e), a_(*e.a.sum), b_(*e.b.sum) {}

  Diagnosis diagnosis() {
    if (!a_.problem.empty() || !b_.problem.empty()) {
      return {.words = text_of("Its sum was not asked: ", a_.problem.empty() ? b_.problem : a_.problem, ".")};
    }
    if (a_.reach != b_.reach || a_.mixes != b_.mixes) return tiles();
    find_differences();
    if (differences_.empty()) return {.words = "Asked for its own sum, the operator answers alike on both."};
    Diagnosis d = settled();
    for (const Difference& difference : differences_) d.words += (d.words.empty() ? "" : " ") + difference.words;
    if (d.confirmed) {
      d.words += text_of(" That alone, changed in the sums of ", from_a_ ? e_.names.a : e_.names.b, ", makes those of ",
                         from_a_ ? e_.names.b : e_.names.a, ": all ", d.compared,
                         " elements that were compared agree in every bit.");
    }
    return d;
  }

 private:
  // What computes a convolution from tiles that were transformed, as Winograd's algorithm and Fourier transforms do.
  Diagnosis tiles() const {
    return {.kind = Kind::kConvolutionAlgorithm,
            .words = text_of("Asked with huge numbers where they should not matter: ", tiles_of(e_.names.a, a_), "; ",
                             tiles_of(e_.names.b, b_), ".")};
  }

  static std::string tiles_of(const std::string& name, const SumAnswer& s) {
    std::string places, window;
    bool beyond = false;
    for (size_t axis = 2; axis < s.reach.size(); ++axis) {
      places += text_of(axis == 2 ? "" : " x ", s.reach[axis].places());
      window += text_of(axis == 2 ? "" : " x ", s.reach[axis].last - s.reach[axis].first + 1);
      beyond = beyond || s.reach[axis].beyond();
    }
    std::string text = text_of("on ", name, " an element follows from ");
    text += beyond ? text_of(places, " places of the image, of which ", window, " are its window")
                   : text_of("the ", window, " places of its window alone");
    text += s.mixes ? ", and a weight that meets a zero changes it: tiles are transformed before they are multiplied"
                    : ", and a weight that meets a zero does not change it";
    return text;
  }

  std::string order_of(const SumAnswer& s) const {
    if (s.model.tree) return text_of("adds ", reveal::words_of(*s.model.tree));
    return s.verdict == reveal::Verdict::kNoUnitLost ? std::string("rounds the sum once, at its end")
                                                     : text_of("adds in no order that was found (", s.reason, ")");
  }

  void both(const std::string& a, const std::string& b, Kind kind, void (*apply)(SumModel&, const SumModel&)) {
    differences_.push_back({kind, text_of(e_.names.a, " ", a, ", ", e_.names.b, " ", b, "."), apply});
  }

  void find_differences() {
    const SumModel &a = a_.model, &b = b_.model;
    if (a.tree != b.tree || a_.verdict != b_.verdict) {
      both(order_of(a_), order_of(b_), Kind::kSummationOrder,
           [](SumModel& to, const SumModel& from) { to.tree = from.tree; });
    }
    const auto products = [](bool fused) {
      return fused ? "adds products that were not rounded (fused multiply-add)" : "rounds each product, then adds it";
    };
    if (a_.rounding.empty() || b_.rounding.empty()) {
      divisions();
      return;
    }
    // Products that lie in float64 are not rounded either.
    if (a.fused != b.fused && !a.wide && !b.wide) {
      both(products(a.fused), products(b.fused), Kind::kFusedMultiplyAdd,
           [](SumModel& to, const SumModel& from) { to.fused = from.fused; });
    }
    if (a.wide != b.wide || a_.accumulator != b_.accumulator) {
      both(text_of("keeps partial sums of ", a_.accumulator), text_of("keeps partial sums of ", b_.accumulator),
           Kind::kAccumulatorWidth, [](SumModel& to, const SumModel& from) { to.wide = from.wide; });
    }
    if (a_.rounding != b_.rounding) {
      both(text_of("rounds ", a_.rounding), text_of("rounds ", b_.rounding), Kind::kRounding,
           [](SumModel& to, const SumModel& from) { to.toward_zero = from.toward_zero; });
    }
    if (a.flushes != b.flushes) {
      both(a.flushes ? "takes subnormal numbers as 0" : "keeps subnormal numbers",
           b.flushes ? "takes them as 0" : "keeps them", Kind::kFlushToZero,
           [](SumModel& to, const SumModel& from) { to.flushes = from.flushes; });
    }
    divisions();
  }

  void divisions() {
    const SumModel &a = a_.model, &b = b_.model;
    if (a.by_reciprocal != b.by_reciprocal) {
      const auto division = [&](const SumModel& m) {
        return m.by_reciprocal ? text_of("multiplies by the rounded 1/", m.divisor) : text_of("divides by ", m.divisor);
      };
      both(division(a), division(b), Kind::kReciprocalDivision,
           [](SumModel& to, const SumModel& from) { to.by_reciprocal = from.by_reciprocal; });
    }
  }

  static bool can_be_modelled(const SumAnswer& s) {
    return s.model.tree.has_value() || s.verdict == reveal::Verdict::kNoUnitLost;
  }

  bool makes(const SumModel& model, std::span<const float> results, const std::vector<SumPlace>& places) const {
    return std::ranges::all_of(places, [&](const SumPlace& place) {
      return numerics::bits_of(modelled(model, e_.call, place)) ==
             numerics::bits_of(results[static_cast<size_t>(place.element)]);
    });
  }

  // The single changes that make one platform's bits of the other's.
  std::vector<size_t> enough(SumModel from, const SumModel& like, std::span<const float> own,
                             std::span<const float> others, const std::vector<SumPlace>& places) const {
    for (const Added added : {Added::kLast, Added::kInside, Added::kFirst}) {
      from.added = added;
      if (!makes(from, own, places)) continue;
      std::vector<size_t> found;
      for (size_t d = 0; d < differences_.size(); ++d) {
        SumModel changed = from;
        differences_[d].apply(changed, like);
        if (makes(changed, others, places)) found.push_back(d);
      }
      if (!found.empty()) return found;
    }
    return {};
  }

  Diagnosis settled() {
    const std::vector<SumPlace> places = sum_places(e_.call, kMostPlaces);
    std::vector<size_t> found;
    if (can_be_modelled(a_) && can_be_modelled(b_)) {
      found = enough(a_.model, b_.model, e_.out_a(), e_.out_b(), places);
      if (found.empty()) {
        from_a_ = false;
        found = enough(b_.model, a_.model, e_.out_b(), e_.out_a(), places);
      }
    }
    Diagnosis d;
    d.confirmed = found.size() == 1;
    d.compared = static_cast<int64_t>(places.size());
    d.kind = differences_[found.empty() ? 0 : found.front()].kind;
    if (d.confirmed) {
      const Difference one = differences_[found.front()];
      differences_ = {one};
    }
    for (const Difference& difference : differences_) {
      if (difference.kind != d.kind) d.also.push_back(difference.kind);
    }
    return d;
  }

  const Evidence& e_;
  const SumAnswer &a_, &b_;
  std::vector<Difference> differences_;
  bool from_a_ = true;
};

}  // namespace

std::optional<Diagnosis> summed(const Evidence& e) {
  if (!e.a.sum || !e.b.sum) return std::nullopt;
  return Sums(e).diagnosis();
}

}  // namespace isobit::lab::explain
