#include "isobit/kernels/correct/integer/side.h"

#include <algorithm>
#include <cmath>

namespace isobit::kernels::correct::integer {
namespace {

// Norms are rounded sums of fewer than 2^31 squares: off by less than 2^-21 of themselves. Those of rounded lines are
// less than 2^-21 more. Both, and the roundings of what is computed with them.
constexpr double kNormSlack = 1 + 0x1p-19;

// The largest s with norm * 2^s <= most.
int exponent_of(double norm, double most) {
  int exponent = 0;
  std::frexp(most / norm, &exponent);
  return exponent - 1;
}

int64_t place(bool right, int64_t line, int64_t l) {
  return right ? l / 4 * kStep + 4 * line + l % 4 : kStep * line + l;
}

}  // namespace

void IntegerSide::start(const Source& source, int64_t k, double* block, int64_t block_terms) {
  laid_ = {};
  laid_.source = &source;
  laid_.block = block;
  k_ = k;
  block_terms_ = block_terms;
  most_rests_ = std::min<int64_t>(64 + k / 32, 256);
}

void IntegerSide::take(const CorrectContext& ctx, int64_t first, int64_t last) {
  if (laid_.first == first && laid_.last == last && !norms_.empty()) return;
  converted_for_ = 0;
  for (int64_t l = 0; l < k_; l += block_terms_) {
    load(ctx, laid_, first, last, l, std::min(l + block_terms_, k_), l + block_terms_ >= k_);
  }
  norms_.resize(laid_.norms.size());
  for (size_t i = 0; i < norms_.size(); ++i) norms_[i] = laid_.norms[i] * kNormSlack;
}

std::vector<IntegerSide::Sampled> IntegerSide::sampled(const Moduli& moduli) const {
  constexpr int64_t kLines = 5, kTerms = 400;
  std::vector<Sampled> lines;
  const int64_t terms = laid_.l1 - laid_.l0;
  for (int64_t q = 0; q < kLines; ++q) {
    const int64_t line = q * (count() - 1) / (kLines - 1);
    const double norm = norms_[static_cast<size_t>(line)];
    if (!(norm > 0) || !std::isfinite(norm)) continue;
    const int exponent = exponent_of(norm, moduli.largest_norm);
    const double scale = std::ldexp(1.0, exponent), unit = std::ldexp(1.0, -exponent);
    double squares = 0;
    int64_t seen = 0;
    for (int64_t l = 0; l < terms; l += terms / kTerms + 1, ++seen) {
      const double y = element(line, laid_.l0 + l) * scale, rest = y - std::nearbyint(y);
      squares += rest * rest;
    }
    lines.push_back(
        {line, norm, unit * std::sqrt(squares * static_cast<double>(k_) / static_cast<double>(seen)), unit});
  }
  return lines;
}

void IntegerSide::scale(const Moduli& moduli) {
  if (converted_for_ == moduli.count) return;
  const auto lines = static_cast<size_t>(count());
  exponents_.assign(lines, 0);
  scales_.assign(lines, 0.0);
  units_.assign(lines, 0.0);
  rest_norms_.assign(lines, 0.0);
  for (size_t i = 0; i < lines; ++i) {
    if (!std::isfinite(norms_[i])) {
      rest_norms_[i] = INFINITY;
    } else if (norms_[i] > 0) {
      exponents_[i] = exponent_of(norms_[i], moduli.largest_norm);
      scales_[i] = std::ldexp(1.0, exponents_[i]);
      units_[i] = std::ldexp(1.0, -exponents_[i]);
    }
  }
}

// Elements [l, l + 64) of a panel's lines, scaled, at their places; zeros where there are none.
void IntegerSide::gather(int64_t panel, int64_t l, double* tile) const {
  std::fill(tile, tile + kTile, 0.0);
  const int64_t lines = std::min(kPanel, count() - panel * kPanel), terms = std::min(kStep, laid_.l1 - l);
  const bool contiguous = laid_.source->k_contiguous();
  const int64_t line_step = contiguous ? laid_.ld() : 1, term_step = contiguous ? 1 : laid_.ld();
  const double* block = laid_.block + panel * kPanel * line_step + (l - laid_.l0) * term_step;
  const double* scales = scales_.data() + panel * kPanel;
  for (int64_t i = 0; i < lines; ++i, block += line_step) {
    if (scales[i] == 0) continue;  // not 0 * infinity
    if (right_) {
      for (int64_t q = 0; q < terms; ++q) tile[place(true, i, q)] = block[q * term_step] * scales[i];
    } else {
      for (int64_t q = 0; q < terms; ++q) tile[place(false, i, q)] = block[q * term_step] * scales[i];
    }
  }
}

void IntegerSide::note_rests(int64_t panel, int64_t l, const double* rests) {
  const int64_t lines = std::min(kPanel, count() - panel * kPanel);
  for (int64_t i = 0; i < lines; ++i) {
    const auto line = static_cast<size_t>(panel * kPanel + i);
    for (int64_t q = 0; q < kStep; ++q) {
      const double rest = rests[place(right_, i, q)];
      if (rest == 0) continue;
      rest_norms_[line] += rest * rest;
      if (++rest_counts_[line] > most_rests_) continue;
      rests_[static_cast<size_t>(panel)].push_back(
          {static_cast<int32_t>(i), static_cast<int32_t>(l + q), static_cast<float>(rest * units_[line])});
    }
  }
}

void IntegerSide::convert(const CorrectContext& ctx, const Table& loops, const Moduli& moduli, int64_t l0, int64_t l1) {
  if (converted_for_ == moduli.count && l0 == 0 && l1 == k_) return;
  load(ctx, laid_, laid_.first, laid_.last, l0, l1, l1 == k_);
  steps_ = (l1 - l0 + kStep - 1) / kStep;
  const int64_t panels = 2 * blocks();
  memory_.resize(std::max(memory_.size(), static_cast<size_t>(moduli.count * panels * panel() / 64)));
  if (l0 == 0) {
    rests_.resize(static_cast<size_t>(panels));
    for (std::vector<Rest>& some : rests_) some.clear();
    rest_counts_.assign(static_cast<size_t>(panels * kPanel), 0);
  }
  int8_t* to = memory_[0].bytes;
  ctx.kernel.pool->parallel_for(panels, 1, [&](int64_t begin, int64_t end) {
    alignas(64) double tile[kTile], integers[kTile], rests[kTile];
    for (int64_t g = begin; g < end; ++g) {
      for (int64_t t = 0; t < steps_; ++t) {
        gather(g, l0 + t * kStep, tile);
        if (loops.round(tile, integers, rests)) note_rests(g, l0 + t * kStep, rests);
        for (int s = 0; s < moduli.count; ++s) {
          loops.residues(integers, moduli.p[static_cast<size_t>(s)], to + (s * panels + g) * panel() + t * kTile);
        }
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
    double& norm = rest_norms_[static_cast<size_t>(i)];
    if (std::isfinite(norm)) norm = std::sqrt(norm) * kNormSlack * units_[static_cast<size_t>(i)];
  }
}

}  // namespace isobit::kernels::correct::integer
