#include "isobit/runtime/stages/legality.h"

#include <cmath>

#include "isobit/kernels/rounding/places.h"

namespace isobit::runtime {

using kernels::rounding::adds_exactly;
using kernels::rounding::Candidates;
using kernels::rounding::candidates;
using kernels::rounding::exact_width;
using kernels::rounding::ExactOutput;
using kernels::rounding::neighbour;
using kernels::rounding::parity;
using kernels::rounding::ProductBlock;
using kernels::rounding::spacing;
using kernels::rounding::superfluous_width;
using kernels::rounding::trainer_width;

namespace {

// The value on the other side of the boundary that lies towards z.
double neighbour_towards(const ExactOutput& o, int bits) {
  return neighbour(o.rounded, (o.z.high - o.rounded) + o.z.low >= 0, bits);
}

// Of the values that are legal the one nearest to z that has the entry's parity; if there is none, one that is not.
double published(const log::SparseEntry& entry, const ExactOutput& o, const Candidates& legal, int bits) {
  if (entry.kind == log::SparseEntry::Kind::kValue) return static_cast<double>(entry.value) + 0.0;
  if (parity(o.rounded, bits) == (entry.kind == log::SparseEntry::Kind::kOdd ? 1 : 0)) return o.rounded;
  const double nearer = neighbour_towards(o, bits);
  if (legal.has(nearer) || !std::isfinite(o.rounded)) return nearer;
  const double farther = neighbour(o.rounded, nearer < o.rounded, bits);
  return legal.has(farther) ? farther : nearer;
}

bool is_tie_or_zero(const ExactOutput& o, int bits) {
  if (o.z.low != 0) return false;
  return o.z.high == 0 || std::fabs(o.z.high - o.rounded) == spacing(o.z.high, bits) / 2;
}

// The smaller one of the distances to the values next to r.
double least_spacing(double r, int bits) {
  if (r == 0) return spacing(r, bits);
  const double inner = neighbour(r, r < 0, bits);
  return std::isfinite(r) ? std::fabs(r - inner) : spacing(inner, bits);
}

// A decision for `said` that an honest trainer may have made, or not. exact: whether no addition can round.
template <class Exact>
Ruling rule_on_value(Exact exact, const ExactOutput& o, double said, const ErrorBounds& bounds, int bits) {
  const auto within = [&](double width) { return candidates(o.z, width, o.at.magnitude, bits); };
  if (said == o.rounded) {
    const bool honest = !within(superfluous_width(bounds.divergence)).one() && !(is_tie_or_zero(o, bits) && exact());
    return {honest ? Standing::kFollowed : Standing::kSuperfluous, said};
  }
  if (!within(exact_width(bounds.sound)).has(said) || exact()) return {Standing::kIllegal, said};
  return {within(exact_width(bounds.divergence)).has(said) ? Standing::kFollowed : Standing::kBeyond, said};
}

template <class Exact>
Ruling rule_on(Exact exact, const ExactOutput& o, const log::SparseEntry* entry, const ErrorBounds& bounds, int bits) {
  const bool finite = std::isfinite(o.z.high), evaluated = finite && cancels(o, bounds, bits);
  if (entry == nullptr) return {evaluated ? Standing::kCancels : Standing::kMissing, o.rounded};
  const Candidates legal =
      finite ? candidates(o.z, exact_width(bounds.sound), o.at.magnitude, bits) : Candidates{o.rounded, o.rounded};
  const double said = published(*entry, o, legal, bits);
  // Infinities and NaN come from the operands, the same everywhere.
  if (!finite) return {said == o.rounded ? Standing::kSuperfluous : Standing::kIllegal, said};
  if (evaluated) return {said == o.rounded ? Standing::kSuperfluous : Standing::kForbidden, said};
  return rule_on_value(exact, o, said, bounds, bits);
}

auto exactness(const ProductBlock& block, const ExactOutput& o) {
  return [&block, &o] { return adds_exactly(block, o.at.i, o.at.j, o.at.magnitude); };
}

}  // namespace

bool cancels(const ExactOutput& o, const ErrorBounds& bounds, int bits) {
  return 2 * exact_width(bounds.divergence) * o.at.magnitude > spacing(o.z.high, bits) / 2;
}

Ruling rule_on_entry(const ProductBlock& block, const ExactOutput& o, const log::SparseEntry* entry,
                     const ErrorBounds& bounds, int bits) {
  return rule_on(exactness(block, o), o, entry, bounds, bits);
}

Ruling rule_on_entry(bool adds_exactly, const ExactOutput& o, const log::SparseEntry* entry, const ErrorBounds& bounds,
                     int bits) {
  return rule_on([adds_exactly] { return adds_exactly; }, o, entry, bounds, bits);
}

bool cancels_for_decisions(const ExactOutput& o, const ErrorBounds& bounds, int bits) {
  return trainer_width(bounds.divergence) * o.at.magnitude > least_spacing(o.rounded, bits) / 4;
}

Ruling rule_on_decision(const ProductBlock& block, const ExactOutput& o, uint8_t decision, const ErrorBounds& bounds,
                        int bits) {
  if (!std::isfinite(o.z.high)) return {Standing::kDecided, o.rounded};
  const bool evaluated = cancels_for_decisions(o, bounds, bits);
  if (decision == 1) return {evaluated ? Standing::kCancels : Standing::kMissing, o.rounded};
  const double off = (o.z.high - o.rounded) + o.z.low;  // how far z lies above r
  const bool against = decision == 2 ? off > 0 : off < 0;
  // So near to r platforms may lie on either side of it.
  const bool either = std::fabs(off) <= exact_width(bounds.divergence) * o.at.magnitude;
  if (!against || either) return {evaluated ? Standing::kCancels : Standing::kDecided, o.rounded};
  const double said = neighbour_towards(o, bits);
  return evaluated ? Ruling{Standing::kForbidden, said} : rule_on_value(exactness(block, o), o, said, bounds, bits);
}

}  // namespace isobit::runtime
