#include "isobit/verify/tensor_type.h"

#include "isobit/base/text.h"

namespace isobit::verify {
namespace {

constexpr uint64_t kMaxRank = 64;

}  // namespace

void write_tensor_type(ByteWriter& w, DType dtype, std::span<const int64_t> dims) {
  w.u8(static_cast<uint8_t>(dtype));
  w.u64(dims.size());
  for (const int64_t d : dims) w.i64(d);
}

Expected<TensorType> read_tensor_type(ByteReader& r) {
  TensorType type;
  ISOBIT_TRY(const uint8_t number, r.u8("dtype"));
  const std::optional<DType> known = dtype_of_number(number);
  if (!known) return r.fail("dtype", text_of("found ", int{number}, ", expected the number of a type (1 to 13)"));
  type.dtype = *known;
  ISOBIT_TRY(const uint64_t rank, r.u64("rank"));
  if (rank > kMaxRank) return r.fail("rank", text_of("found ", rank, ", expected at most ", kMaxRank));
  for (uint64_t i = 0; i < rank; ++i) {
    ISOBIT_TRY(const int64_t dim, r.i64("dimension"));
    type.dims.push_back(dim);
  }
  const auto elements = checked_elements(type.dims, type.dtype, INT64_MAX);
  if (!elements) return r.fail("dimension", elements.error().message);
  type.elements = *elements;
  return type;
}

}  // namespace isobit::verify
