#include "isobit/kernels/rounding/near_ties.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/status.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/kernels/rounding/sieves.h"
#include "isobit/kernels/rounding/table.h"

namespace isobit::kernels::rounding {

double line_bound(int64_t k, const Extent& extent) {
  // Of k elements, or of all.
  return std::min(std::sqrt(static_cast<double>(k)) * extent.peak, std::sqrt(extent.squares));
}

Decided round_decided(const KernelContext& ctx, const std::vector<ProductBlock>& blocks, const LineBounds& bounds,
                      double width, int bits, bool with_extent) {
  Decided decided = first_sieves(ctx, blocks, bounds, width, bits, with_extent);
  last_sieve(ctx, blocks, bounds.magnitude(), width, bits, decided.rest);
  std::sort(decided.rest.begin(), decided.rest.end(),
            [](const NearTie& a, const NearTie& b) { return a.position < b.position; });
  return decided;
}

double magnitude_of(const ProductBlock& block, int64_t i, int64_t j, Isa isa) {
  const Table& loops = table_of(isa);
  std::vector<double> left(static_cast<size_t>(block.k)), right(left.size());
  block.left.read(i, left.data());
  block.right.read(j, right.data());
  return loops.magnitudes(block.k, left.data(), right.data()) + std::fabs(block.bias(i, j));
}

NearTie locate(const std::vector<ProductBlock>& blocks, uint64_t position) {
  const ProductBlock& first = blocks.front();
  const auto p = static_cast<int64_t>(position);
  // Images of a convolution lie image_stride apart, and in each the groups one after the other; as do matrices.
  const product::Placement& place = first.place;
  const int64_t image = place.image_stride > 0 ? p / place.image_stride : 0;
  const int64_t rest = p - image * place.image_stride, size = first.m * place.columns;
  const auto index = static_cast<size_t>(rest / size);
  ISOBIT_CHECK(index < blocks.size());
  const ProductBlock& block = blocks[index];
  const int64_t within = rest % size, i = within / place.columns, j = image * place.columns + within % place.columns;
  ISOBIT_CHECK(j < block.n && block.offset + block.at(i, j) == p);
  return {position, static_cast<uint32_t>(index), i, j, block.out[block.at(i, j)]};
}

Candidates candidates(double x, double width, double magnitude, int bits) {
  const double w = width * magnitude;
  return {round_to_bits(x - w, bits) + 0.0, round_to_bits(x + w, bits) + 0.0};
}

}  // namespace isobit::kernels::rounding
