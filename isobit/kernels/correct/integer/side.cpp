#include "isobit/kernels/correct/integer/side.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace isobit::kernels::correct::integer {
namespace {

// Norms are rounded sums of fewer than 2^32 squares: off by less than 2^-20 of themselves. Those of rounded lines are
// at most 2^-23 of the bound more (side.h). All these, and the roundings of what is computed with them.
constexpr double kNormSlack = 1 + 0x1p-19;

// The largest s with norm * 2^s <= most.
int exponent_of(double norm, double most) {
  int exponent = 0;
  std::frexp(most / norm, &exponent);
  return exponent - 1;
}

// Lines that are laid out together: enough for whole runs of neighbours, few enough to be still in cache.
constexpr int64_t kLaidPanels = 8;

}  // namespace

void IntegerSide::start(const Source& source, int64_t k) {
  laid_ = {};
  laid_.source = &source;
  k_ = k;
  most_rests_ = std::min<int64_t>(64 + k / 32, 256);
}

void IntegerSide::take(const CorrectContext& ctx, int64_t first, int64_t last) {
  if (laid_.first == first && laid_.last == last) return;
  converted_for_ = 0;
  measure(ctx, laid_, first, last, k_);
  norms_.resize(laid_.norms.size());
  for (size_t i = 0; i < norms_.size(); ++i) norms_[i] = laid_.norms[i] * kNormSlack;
}

std::vector<IntegerSide::Sampled> IntegerSide::sampled(const correct::Table& rows) const {
  constexpr int64_t kLines = 5, kMostTerms = 1 << 14;
  const int64_t terms = std::min(k_, kMostTerms);
  std::vector<Sampled> lines;
  for (int64_t q = 0; q < kLines; ++q) {
    const int64_t i = q * (count() - 1) / (kLines - 1), first = laid_.first + i;
    const double norm = norms_[static_cast<size_t>(i)];
    if (!(norm > 0) || !std::isfinite(norm)) continue;
    std::vector<double> line(static_cast<size_t>(terms));
    laid_.source->fill(rows, first, first + 1, 0, terms, line.data(), laid_.source->k_contiguous() ? terms : 1);
    lines.push_back({std::move(line), norm});
  }
  return lines;
}

Estimate estimate_of(const IntegerSide::Sampled& sampled, int64_t k, const Moduli& moduli) {
  constexpr size_t kSeen = 400;
  const size_t there = sampled.line.size();
  const int exponent = exponent_of(sampled.norm, moduli.largest_norm);
  const double scale = std::ldexp(1.0, exponent), unit = std::ldexp(1.0, -exponent);
  double squares = 0, magnitudes = 0, largest = 0, seen = 0;
  for (size_t l = 0; l < there; l += there / kSeen + 1, ++seen) {
    const double y = sampled.line[l] * scale, rest = y - std::nearbyint(y);
    squares += rest * rest;
    magnitudes += std::fabs(rest);
    largest = std::max(largest, std::fabs(y));
  }
  const double share = static_cast<double>(k) / seen;
  return {unit, {sampled.norm, unit * largest, unit * std::sqrt(squares * share), unit * magnitudes * share}};
}

void IntegerSide::scale(const Moduli& moduli) {
  if (converted_for_ == moduli.count) return;
  const auto lines = static_cast<size_t>(blocks() * kBlock);  // zeros beyond those that there are
  exponents_.assign(lines, 0);
  scales_.assign(lines, 0.0);
  units_.assign(lines, 0.0);
  largest_.assign(lines, 0.0);
  rest_norms_.assign(lines, 0.0);
  rest_sums_.assign(lines, 0.0);
  for (size_t i = 0; i < norms_.size(); ++i) {
    if (!std::isfinite(norms_[i])) {
      largest_[i] = rest_norms_[i] = rest_sums_[i] = INFINITY;
    } else if (norms_[i] > 0) {
      exponents_[i] = exponent_of(norms_[i], moduli.largest_norm);
      scales_[i] = std::ldexp(1.0, exponents_[i]);
      units_[i] = std::ldexp(1.0, -exponents_[i]);
    }
  }
}

// What rounding took of a panel's step, whose terms begin with l.
void IntegerSide::note_rests(int64_t panel, int64_t l, const double* rests, const uint8_t* some) {
  std::vector<Rest>& kept = rests_[static_cast<size_t>(panel)];
  for (int64_t q = 0; q < kTile; ++q) {
    if (q % 8 == 0 && some[q / 8] == 0) {
      q += 7;
      continue;
    }
    if (rests[q] == 0) continue;
    const int64_t i = right_ ? q / 4 % kPanel : q / kStep, term = right_ ? q / kStep * 4 + q % 4 : q % kStep;
    const auto line = static_cast<size_t>(panel * kPanel + i);
    rest_norms_[line] += rests[q] * rests[q];
    rest_sums_[line] += std::fabs(rests[q]);
    if (++rest_counts_[line] > most_rests_) continue;
    kept.push_back(
        {static_cast<int32_t>(i), static_cast<int32_t>(l + term), static_cast<float>(rests[q] * units_[line])});
  }
}

// Panels [begin, end) of one step of terms.
void IntegerSide::convert_step(const CorrectContext& ctx, const Table& loops, const Moduli& moduli, int64_t begin,
                               int64_t end, int64_t t, int64_t l, double* laid) {
  const int64_t first = begin * kPanel, last = std::min(end * kPanel, count()), terms = std::min(kStep, k_ - l);
  const bool lines_first = laid_.source->k_contiguous();
  const int64_t ld = lines_first ? kStep : (end - begin) * kPanel;
  if (first < last) {
    laid_.source->fill(correct::table_of(ctx.kernel.isa), laid_.first + first, laid_.first + last, l, l + terms, laid,
                       ld);
  }
  alignas(64) double tile[kTile], integers[kTile], rests[kTile];
  uint8_t some[kTile / 8];
  const int64_t panels = 2 * blocks();
  for (int64_t g = begin; g < end; ++g) {
    loops.arrange({.from = laid + (g - begin) * kPanel * (lines_first ? ld : 1),
                   .ld = ld,
                   .lines_first = lines_first,
                   .lines = std::clamp<int64_t>(count() - g * kPanel, 0, kPanel),
                   .terms = terms,
                   .scales = scales_.data() + g * kPanel},
                  right_, tile);
    if (loops.round(tile, integers, rests, some)) note_rests(g, l, rests, some);
    loops.enlarge(integers, right_, largest_.data() + g * kPanel);
    loops.residues(integers, moduli, memory_[0].bytes + g * panel() + t * kTile, panels * panel());
  }
}

void IntegerSide::convert(const CorrectContext& ctx, const Table& loops, const Moduli& moduli, int64_t l0, int64_t l1) {
  if (converted_for_ == moduli.count && l0 == 0 && l1 == k_) return;
  steps_ = (l1 - l0 + kStep - 1) / kStep;
  const int64_t panels = 2 * blocks();
  const auto chunks = static_cast<size_t>(moduli.count * panels * panel() / 64);
  if (memory_.size() < chunks) {
    memory_.clear();  // nothing of it is wanted
    memory_.resize(chunks);
  }
  if (l0 == 0) {
    rests_.resize(static_cast<size_t>(panels));
    for (std::vector<Rest>& some : rests_) some.clear();
    rest_counts_.assign(static_cast<size_t>(panels * kPanel), 0);
  }
  const int64_t together = std::clamp<int64_t>(panels / (2 * ctx.kernel.pool->threads()), 1, kLaidPanels);
  ctx.kernel.pool->parallel_for((panels + together - 1) / together, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> laid(static_cast<size_t>(together * kTile));
    for (int64_t q = begin; q < end; ++q) {
      for (int64_t t = 0; t < steps_; ++t) {
        convert_step(ctx, loops, moduli, q * together, std::min((q + 1) * together, panels), t, l0 + t * kStep,
                     laid.data());
      }
    }
  });
  converted_for_ = l0 == 0 && l1 == k_ ? moduli.count : 0;
  finished_ = false;
}

void IntegerSide::finish(ThreadPool& pool) {
  if (finished_) return;
  finished_ = true;
  starts_.assign(rest_counts_.size(), 0);
  pool.parallel_for(static_cast<int64_t>(rests_.size()), 8, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      std::vector<Rest>& some = rests_[static_cast<size_t>(g)];
      // Terms were met in ascending order.
      std::stable_sort(some.begin(), some.end(), [](const Rest& a, const Rest& b) { return a.line < b.line; });
      int64_t at = 0;
      for (int64_t i = g * kPanel; i < (g + 1) * kPanel; ++i) {
        starts_[static_cast<size_t>(i)] = at;
        at += std::min(rest_counts_[static_cast<size_t>(i)], most_rests_);
      }
    }
  });
  for (int64_t i = 0; i < count(); ++i) {
    if (!is_finite(i)) continue;
    const auto at = static_cast<size_t>(i);
    rest_norms_[at] = std::sqrt(rest_norms_[at]) * kNormSlack * units_[at];
    rest_sums_[at] *= kNormSlack * units_[at];
    largest_[at] = (largest_[at] + 0.5) * units_[at];
  }
}

}  // namespace isobit::kernels::correct::integer
