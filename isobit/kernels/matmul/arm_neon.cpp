#include <arm_neon.h>

#include <utility>

#include "isobit/kernels/matmul/gemm.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::gemm {
namespace {

#include "isobit/kernels/matmul/lanes.inc"
#include "isobit/kernels/matmul/transpose.inc"

struct F32 : LaneByLane<F32, float, float32x4_t, 4> {
  static constexpr int kPrefetchTerms = 16;
  ISOBIT_INLINE_MEMBER static Reg broadcast(float x) { return vdupq_n_f32(x); }
  ISOBIT_INLINE_MEMBER static Reg load(const float* p) { return vld1q_f32(p); }
  ISOBIT_INLINE_MEMBER static void store(float* p, Reg v) { vst1q_f32(p, v); }
  ISOBIT_INLINE_MEMBER static Reg add(Reg a, Reg b) { return vaddq_f32(a, b); }
  ISOBIT_INLINE_MEMBER static Reg fma(Reg a, Reg b, Reg c) { return vfmaq_f32(c, a, b); }
  ISOBIT_INLINE_MEMBER static void transpose(Reg (&rows)[4]) { transpose_vectors(rows); }
  ISOBIT_INLINE_MEMBER static void prefetch(const float* p) { __builtin_prefetch(p); }
};

struct F64 : LaneByLane<F64, double, float64x2_t, 2> {
  static constexpr int kPrefetchTerms = 16;
  ISOBIT_INLINE_MEMBER static Reg broadcast(double x) { return vdupq_n_f64(x); }
  ISOBIT_INLINE_MEMBER static Reg load(const double* p) { return vld1q_f64(p); }
  ISOBIT_INLINE_MEMBER static void store(double* p, Reg v) { vst1q_f64(p, v); }
  ISOBIT_INLINE_MEMBER static Reg add(Reg a, Reg b) { return vaddq_f64(a, b); }
  ISOBIT_INLINE_MEMBER static Reg fma(Reg a, Reg b, Reg c) { return vfmaq_f64(c, a, b); }
  ISOBIT_INLINE_MEMBER static void transpose(Reg (&rows)[2]) { transpose_vectors(rows); }
  ISOBIT_INLINE_MEMBER static void prefetch(const double* p) { __builtin_prefetch(p); }
};

#include "isobit/kernels/matmul/pack_lines.inc"
#include "isobit/kernels/matmul/pack_panels.inc"
#include "isobit/kernels/matmul/tile_kernels.inc"

}  // namespace

template <>
const Table<float>& table<Isa::ISOBIT_ISA, float>() {
  static const Table<float> kTable = make_table<F32, 16, 10, 8>();
  return kTable;
}
template <>
const Table<double>& table<Isa::ISOBIT_ISA, double>() {
  static const Table<double> kTable = make_table<F64, 16, 10, 8>();
  return kTable;
}

}  // namespace isobit::kernels::gemm
