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
    const bool both_asked = a_.reach.size() == b_.reach.size();
    if (both_asked && (a_.reach != b_.reach || a_.mixes != b_.mixes)) return tiles();
    if (!a_.problem.empty() || !b_.problem.empty()) {
      return {.words = text_of("In its place, with its own shapes and operands, the order of its sums was not asked: ",
                               a_.problem.empty() ? b_.problem : a_.problem, ".")};
    }
    find_differences();
    if (differences_.empty())
      return {.words = "Asked for a sum in which they differ, the operator answers alike on both."};
    return settled();
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
      // Whose answers are those of no order adds otherwise in a way that is not known.
      both(order_of(a_), order_of(b_),
           can_be_modelled(a_) && can_be_modelled(b_) ? Kind::kSummationOrder : Kind::kUnknown,
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

  // How many of these elements the model gives.
  size_t made(const SumModel& model, std::span<const float> results, const std::vector<SumPlace>& places) const {
    return static_cast<size_t>(std::ranges::count_if(places, [&](const SumPlace& place) {
      return numerics::bits_of(modelled(model, e_.call, place)) ==
             numerics::bits_of(results[static_cast<size_t>(place.element)]);
    }));
  }

  // The same of the best way to take up what is added on top.
  size_t made_anyhow(SumModel model, std::span<const float> results, const std::vector<SumPlace>& places) const {
    size_t most = 0;
    for (const Added added : {Added::kLast, Added::kInside, Added::kFirst}) {
      model.added = added;
      most = std::max(most, made(model, results, places));
    }
    return most;
  }

  // A single change of one platform's sums, and how many of the other's elements it makes.
  struct Change {
    size_t difference = 0, makes = 0;
    bool of_a = true;
  };

  // Those that make the most elements, of all ways to take up what is added on top that fit the platform's own.
  void try_changes(SumModel from, const SumModel& like, bool of_a, const std::vector<SumPlace>& places,
                   std::vector<Change>& best) const {
    const auto own = of_a ? e_.out_a() : e_.out_b(), others = of_a ? e_.out_b() : e_.out_a();
    for (const Added added : {Added::kLast, Added::kInside, Added::kFirst}) {
      from.added = added;
      if (made(from, own, places) < places.size()) continue;
      for (size_t d = 0; d < differences_.size(); ++d) {
        SumModel changed = from;
        differences_[d].apply(changed, like);
        // To round a sum once, at its end, or no longer, moves what is added on top, too.
        const bool moves = from.tree.has_value() != changed.tree.has_value();
        const Change change{d, moves ? made_anyhow(changed, others, places) : made(changed, others, places), of_a};
        if (!best.empty() && best.front().makes > change.makes) continue;
        if (!best.empty() && best.front().makes < change.makes) best.clear();
        const bool known = std::ranges::any_of(best, [&](const Change& c) { return c.difference == d; });
        if (!known) best.push_back(change);
      }
    }
  }

  Diagnosis settled() {
    std::vector<SumPlace> places = sum_places(e_.call, a_.place.terms.size(), kMostPlaces);
    if (std::ranges::count(places, a_.place) == 0) places.push_back(a_.place);
    std::vector<Change> best;
    if (can_be_modelled(a_) && can_be_modelled(b_)) {
      try_changes(a_.model, b_.model, true, places, best);
      try_changes(b_.model, a_.model, false, places, best);
    }
    Diagnosis d;
    d.compared = static_cast<int64_t>(places.size());
    const bool one = best.size() == 1;
    d.confirmed = one && best.front().makes == places.size();
    const Difference chosen = differences_[d.confirmed ? best.front().difference : 0];
    d.kind = chosen.kind;
    if (d.confirmed) differences_ = {chosen};
    for (const Difference& difference : differences_) {
      d.words += (d.words.empty() ? "" : " ") + difference.words;
      if (difference.kind != d.kind) d.also.push_back(difference.kind);
    }
    if (one && differences_.size() == 1) {
      const Change& change = best.front();
      d.words += text_of(" That alone, changed in the sums of ", change.of_a ? e_.names.a : e_.names.b, ", makes ",
                         d.confirmed ? "all" : text_of(change.makes), " of the ", places.size(), " elements of ",
                         change.of_a ? e_.names.b : e_.names.a, " that were compared",
                         d.confirmed ? "." : ": the others are not made by that alone.");
    }
    if (!d.confirmed && differences_.size() > 1 && can_be_modelled(a_) && can_be_modelled(b_)) change_all(places, d);
    return d;
  }

  void change_all(const std::vector<SumPlace>& places, Diagnosis& d) const {
    SumModel changed = a_.model;
    for (const Difference& difference : differences_) difference.apply(changed, b_.model);
    const size_t makes = made_anyhow(changed, e_.out_b(), places);
    d.together = makes == places.size();
    d.words += text_of(" All of it, changed in the sums of ", e_.names.a, ", makes ", makes, " of the ", places.size(),
                       " elements of ", e_.names.b, " that were compared.");
  }

  const Evidence& e_;
  const SumAnswer &a_, &b_;
  std::vector<Difference> differences_;
};

}  // namespace

std::optional<Diagnosis> summed(const Evidence& e) {
  if (!e.a.sum || !e.b.sum) return std::nullopt;
  return Sums(e).diagnosis();
}

}  // namespace isobit::lab::explain
