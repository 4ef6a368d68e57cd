// The float32 loops of batch and layer norm, one version per instruction set. Names as in batch_norm.h.
#pragma once

#include <cstdint>

#include "isobit/kernels/dispatch/by_isa.h"

namespace isobit::kernels::norm {

// What the float64 bounds left open and must be computed exactly.
enum Open : uint8_t { kDecided = 0, kFirst = 1, kSecond = 2 };

// Channels interleaved in memory: row i, channel g, place f is at x[i * row_stride + g * fold + f].
// REQUIRES groups * fold <= kColumns.
struct Interleaved {
  int64_t rows, row_stride, groups, fold;
};
constexpr int64_t kColumns = 256;

// What the gradient of the input takes from a channel, and from several.
struct Channel {
  float mean, r, a, b, k;
};
struct Channels {
  const float *mean, *r, *a, *b, *k;
};

struct Table {
  // Mean (first) and variance (second) of `spans` spans of n floats that begin `stride` apart.
  uint8_t (*stats)(const float* x, int64_t spans, int64_t stride, int64_t n, float* mean, float* var);
  void (*stats_interleaved)(const float* x, Interleaved, float* mean, float* var, uint8_t* undecided);

  // One span of a channel; a row with scale and bias per element (bias may be null); interleaved channels.
  void (*apply)(int64_t n, const float* x, float mean, float r, float scale, float bias, float* dst);
  void (*apply_row)(int64_t n, const float* x, float mean, float r, const float* scale, const float* bias, float* dst);
  void (*apply_interleaved)(const float* x, Interleaved, const float* mean, const float* r, const float* scale,
                            const float* bias, float* dst);

  // diff_scale (first) and diff_bias (second).
  uint8_t (*grad_sums)(const float* x, const float* dy, int64_t spans, int64_t stride, int64_t n, float mean, float r,
                       float* diff_scale, float* diff_bias);
  void (*grad_sums_interleaved)(const float* x, const float* dy, Interleaved, const float* mean, const float* r,
                                float* diff_scale, float* diff_bias, uint8_t* undecided);
  // The same of each of `cols` columns, with mean and r per row.
  void (*grad_params)(const float* x, const float* dy, int64_t rows, int64_t row_stride, int64_t cols,
                      const float* mean, const float* r, float* diff_scale, float* diff_bias, uint8_t* undecided);

  // ((dy - a) - h * b) * k
  void (*grad_data)(int64_t n, const float* x, const float* dy, Channel, float* diff_src);
  void (*grad_data_interleaved)(const float* x, const float* dy, Interleaved, const Channels&, float* diff_src);

  // Layer norm: Sum of dy * scale (first) and of (dy * scale) * h (second) of one row; then its diff_src.
  uint8_t (*row_sums)(int64_t n, const float* x, const float* dy, const float* scale, float mean, float r, float* sum_g,
                      float* sum_gh);
  void (*row_data)(int64_t n, const float* x, const float* dy, const float* scale, float mean, float r, float a,
                   float b, float* diff_src);
};

// One for every instruction set.
template <Isa kIsa>
const Table& table();

// REQUIRES isa is available and not kReference.
const Table& table_of(Isa isa);

}  // namespace isobit::kernels::norm
