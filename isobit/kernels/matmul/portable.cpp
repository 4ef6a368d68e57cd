// For the baseline of any architecture. Where that has no fma instruction it is emulated, exactly and about fifty times
// slower; the lane loops are written so that the compiler can at least do that in vectors.
#include <utility>

#include "isobit/kernels/matmul/gemm.h"
#include "isobit/numerics/fma.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::gemm {
namespace {

#include "isobit/kernels/matmul/lanes.inc"

ISOBIT_INLINE float fused(float a, float b, float c) { return numerics::fma_f32(a, b, c); }
ISOBIT_INLINE double fused(double a, double b, double c) { return numerics::fma_f64(a, b, c); }

template <class T>
struct Lanes4 {
  T lane[4];
  ISOBIT_INLINE_MEMBER T& operator[](int l) { return lane[l]; }
  ISOBIT_INLINE_MEMBER T operator[](int l) const { return lane[l]; }
};

template <class T>
struct Scalar4 : LaneByLane<Scalar4<T>, T, Lanes4<T>, 4> {
  using Reg = Lanes4<T>;
  static constexpr int kPrefetchTerms = 0;
  ISOBIT_INLINE_MEMBER static Reg broadcast(T x) { return {{x, x, x, x}}; }
  ISOBIT_INLINE_MEMBER static Reg load(const T* p) { return {{p[0], p[1], p[2], p[3]}}; }
  ISOBIT_INLINE_MEMBER static void store(T* p, Reg v) {
    for (int l = 0; l < 4; ++l) p[l] = v[l];
  }
  ISOBIT_INLINE_MEMBER static Reg add(Reg a, Reg b) { return {{a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]}}; }
  ISOBIT_INLINE_MEMBER static Reg fma(Reg a, Reg b, Reg c) {
    Reg v;
    for (int l = 0; l < 4; ++l) v[l] = fused(a[l], b[l], c[l]);
    return v;
  }
  ISOBIT_INLINE_MEMBER static void prefetch(const T*) {}
};

#include "isobit/kernels/matmul/pack_lines.inc"
#include "isobit/kernels/matmul/pack_panels.inc"
#include "isobit/kernels/matmul/tile_kernels.inc"

}  // namespace

template <>
const Table<float>& table<Isa::ISOBIT_ISA, float>() {
  static const Table<float> kTable = make_table<Scalar4<float>, 4, 0, 0>();
  return kTable;
}
template <>
const Table<double>& table<Isa::ISOBIT_ISA, double>() {
  static const Table<double> kTable = make_table<Scalar4<double>, 4, 0, 0>();
  return kTable;
}

}  // namespace isobit::kernels::gemm
