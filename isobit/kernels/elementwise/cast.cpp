// Conversion. Compiled once, for the baseline machine: nothing here may depend on what an instruction does with a
// number out of range, so every such number is replaced before it is converted.
#include <cstring>
#include <limits>
#include <type_traits>

#include "isobit/base/status.h"
#include "isobit/kernels/elementwise/unary.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

constexpr int64_t kGrain = 16384;

// A bool in memory: any byte is allowed and only 0 is false. (A C++ bool must not hold another value than 0 and 1.)
enum class Truth : uint8_t {};

template <class To, class From>
To truncated(From x) {
  // 2^bits and -2^bits of the range are exact in From; the largest integer need not be.
  constexpr From kAbove = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  constexpr From kLowest = static_cast<From>(std::numeric_limits<To>::lowest());
  const bool below = x < kLowest, above = x >= kAbove, inside = x >= kLowest && x < kAbove;
  const To y = static_cast<To>(inside ? x : From(0));
  return below ? std::numeric_limits<To>::lowest() : above ? std::numeric_limits<To>::max() : y;
}

template <class From, class To>
To one(From x) {
  if constexpr (std::is_same_v<From, Truth>) {
    return x == Truth{0} ? To(0) : To(1);
  } else if constexpr (std::is_same_v<To, Truth>) {
    return x == From(0) ? Truth{0} : Truth{1};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return truncated<To>(x);
  } else if constexpr (std::is_floating_point_v<From>) {
    return numerics::canonical(static_cast<To>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void cast_range(int64_t n, const From* src, To* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = one<From, To>(src[i]);
}

template <class From, class F>
void with_destination(DType to, F f) {
  switch (to) {
    case DType::kFloat32:
      return f(From{}, float{});
    case DType::kFloat64:
      return f(From{}, double{});
    case DType::kInt64:
      return f(From{}, int64_t{});
    case DType::kInt32:
      return f(From{}, int32_t{});
    case DType::kUint8:
      return f(From{}, uint8_t{});
    case DType::kBool:
      return f(From{}, Truth{});
  }
}

template <class F>
void with_types(DType from, DType to, F f) {
  switch (from) {
    case DType::kFloat32:
      return with_destination<float>(to, f);
    case DType::kFloat64:
      return with_destination<double>(to, f);
    case DType::kInt64:
      return with_destination<int64_t>(to, f);
    case DType::kInt32:
      return with_destination<int32_t>(to, f);
    case DType::kUint8:
      return with_destination<uint8_t>(to, f);
    case DType::kBool:
      return with_destination<Truth>(to, f);
  }
}

}  // namespace

void cast(const KernelContext& ctx, DType from, DType to, int64_t n, const void* src, void* dst) {
  with_types(from, to, [&]<class From, class To>(From, To) {
    const auto* in = static_cast<const From*>(src);
    auto* out = static_cast<To*>(dst);
    ctx.pool->parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
      if constexpr (std::is_same_v<From, To>) {
        std::memmove(out + begin, in + begin, static_cast<size_t>(end - begin) * sizeof(To));
      } else {
        cast_range(end - begin, in + begin, out + begin);
      }
    });
  });
}

}  // namespace isobit::kernels
