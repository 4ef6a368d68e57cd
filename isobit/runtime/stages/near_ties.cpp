#include "isobit/runtime/stages/near_ties.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/kernels/rounding/steps.h"

namespace isobit::runtime {
namespace {

using kernels::rounding::NearTieRow;
using kernels::rounding::round_to_bits;
using kernels::rounding::Steps;

constexpr int64_t kRun = 256;  // columns looked at together

struct Scan {
  const Steps& steps;
  ProductBlock& block;
  uint32_t index;
  double width;
  int bits;

  void row(int64_t i, std::vector<NearTie>& found) const {
    uint64_t flags[kRun];
    NearTieRow r{block.row_norms[static_cast<size_t>(i)], nullptr, 0, nullptr, width, bits};
    if (block.row_bias != nullptr) r.row_bias = block.row_bias[i];
    for (int64_t j = 0; j < block.n;) {
      const int64_t count = std::min({block.n - j, block.columns - j % block.columns, kRun});
      r.column_norms = block.column_norms.data() + j;
      r.column_bias = block.column_bias != nullptr ? block.column_bias + j : nullptr;
      double* x = block.out + block.at(i, j);
      if (steps.near_ties(count, r, x, flags)) {
        for (int64_t q = 0; q < count; ++q) {
          if (flags[q] == 0) continue;
          found.push_back({static_cast<uint64_t>(block.offset + block.at(i, j + q)), index, i, j + q, x[q]});
        }
      }
      j += count;
    }
  }
};

// Which elements of a line are not zero, one bit each; kept, since the zeros of a sparse operand come in whole lines.
class Masks {
 public:
  explicit Masks(int64_t k) : k_(k), line_(static_cast<size_t>(k)) {}
  const std::vector<uint64_t>& of(int64_t index, const std::function<void(int64_t, double*)>& line) {
    auto [at, is_new] = masks_.try_emplace(index);
    if (is_new) {
      line(index, line_.data());
      at->second.assign(static_cast<size_t>(k_ + 63) / 64, 0);
      for (int64_t l = 0; l < k_; ++l) {
        at->second[static_cast<size_t>(l) / 64] |= uint64_t{line_[static_cast<size_t>(l)] != 0} << (l % 64);
      }
    }
    return at->second;
  }

 private:
  int64_t k_;
  std::vector<double> line_;
  std::map<int64_t, std::vector<uint64_t>> masks_;
};

// Sets the outputs of exact zeros without a term to +0 and takes them off the list.
void drop_empty_sums(std::vector<ProductBlock>& blocks, std::vector<NearTie>& ties) {
  std::map<uint32_t, std::pair<Masks, Masks>> masks;
  auto is_empty = [&](const NearTie& t) {
    const ProductBlock& b = blocks[t.block];
    if (t.value != 0 || b.bias(t.i, t.j) != 0) return false;
    auto& [left, right] = masks.try_emplace(t.block, Masks(b.k), Masks(b.k)).first->second;
    const auto &x = left.of(t.i, b.left), &y = right.of(t.j, b.right);
    for (size_t w = 0; w < x.size(); ++w) {
      if ((x[w] & y[w]) != 0) return false;
    }
    b.out[b.at(t.i, t.j)] = 0.0;
    return true;
  };
  std::erase_if(ties, is_empty);
}

}  // namespace

std::vector<NearTie> round_decided(const kernels::KernelContext& ctx, std::vector<ProductBlock>& blocks, double width,
                                   int bits) {
  const Steps& steps = kernels::rounding::steps_of(ctx.isa);
  std::vector<NearTie> all;
  std::mutex merging;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const Scan scan{steps, blocks[b], static_cast<uint32_t>(b), width, bits};
    ctx.pool->parallel_for(blocks[b].m, 16384 / (blocks[b].n + 1) + 1, [&](int64_t begin, int64_t end) {
      std::vector<NearTie> own;
      for (int64_t i = begin; i < end; ++i) scan.row(i, own);
      const std::lock_guard<std::mutex> lock(merging);
      all.insert(all.end(), own.begin(), own.end());
    });
  }
  drop_empty_sums(blocks, all);
  std::sort(all.begin(), all.end(), [](const NearTie& a, const NearTie& b) { return a.position < b.position; });
  return all;
}

NearTie locate(const std::vector<ProductBlock>& blocks, uint64_t position) {
  const auto p = static_cast<int64_t>(position);
  for (size_t b = 0; b < blocks.size(); ++b) {
    const ProductBlock& block = blocks[b];
    const int64_t within = p - block.offset;
    if (within < 0 || block.m == 0 || block.n == 0) continue;
    // Images of a convolution lie column_stride apart, rows of a matrix row_stride.
    const int64_t image = block.column_stride > 0 ? within / block.column_stride : 0;
    const int64_t rest = block.column_stride > 0 ? within % block.column_stride : within;
    const int64_t i = rest / block.row_stride, j = image * block.columns + rest % block.row_stride;
    if (i < block.m && rest % block.row_stride < block.columns && j < block.n) {
      return {position, static_cast<uint32_t>(b), i, j, block.out[block.at(i, j)]};
    }
  }
  ISOBIT_CHECK(false);
  return {};
}

// Sum2 of T. Ogita, S. M. Rump and S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26, 2005; products of
// float32 values are exact.
ExactValue evaluate_exactly(const ProductBlock& block, int64_t i, int64_t j) {
  std::vector<double> a(static_cast<size_t>(block.k)), b(a.size());
  block.left(i, a.data());
  block.right(j, b.data());
  double high = block.bias(i, j), low = 0;
  for (size_t l = 0; l < a.size(); ++l) {
    const double p = a[l] * b[l], sum = high + p, z = sum - high;
    low += (high - (sum - z)) + (p - z);
    high = sum;
  }
  const double sum = high + low;
  return {sum, low - (sum - high)};
}

Candidates candidates(double x, double width, double scale, int bits) {
  const double w = width * scale;
  return {round_to_bits(x - w, bits) + 0.0, round_to_bits(x + w, bits) + 0.0};
}

// The low part is far below the width, whose surplus covers it.
Candidates candidates(const ExactValue& z, double width, double scale, int bits) {
  return candidates(z.high, width, scale, bits);
}

}  // namespace isobit::runtime
