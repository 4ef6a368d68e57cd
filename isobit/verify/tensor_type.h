// Type and dimensions of a tensor as fields of what is signed or shown: u8 number of the type, u64 rank, i64 for each
// dimension.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/tensor/tensor.h"

namespace isobit::verify {

struct TensorType {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> dims;
  int64_t elements = 0;
};
void write_tensor_type(ByteWriter& w, DType dtype, std::span<const int64_t> dims);
// kUnreadable for a number that is no type's, more than 64 dimensions, and elements whose bytes an int64 does not
// count.
Expected<TensorType> read_tensor_type(ByteReader& r);

}  // namespace isobit::verify
