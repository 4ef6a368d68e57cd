// IDX files as MNIST uses them (yann.lecun.com/exdb/mnist): 0, 0, type, rank, big-endian u32 dimensions, data. Unsigned
// bytes only.
#pragma once

#include <cstdint>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/tensor/tensor.h"

namespace isobit::formats {

inline constexpr uint64_t kIdxMaxBytes = uint64_t{4} << 30;

// uint8 tensor of rank 1 to 8. kUnreadable for another magic, type or rank, dimensions that overflow or exceed
// max_bytes, and data of another length than they ask for.
Expected<Tensor> decode_idx(ByteView data, const std::string& name, uint64_t max_bytes = kIdxMaxBytes);

// How many bytes the file has whose first bytes these are, as its header says; kIdxMaxHeader bytes are enough of it.
// Errors: as decode_idx, but for the length of the data.
inline constexpr uint64_t kIdxMaxHeader = 4 + 4 * 8;
Expected<uint64_t> idx_size(ByteView front, const std::string& name, uint64_t max_bytes = kIdxMaxBytes);

// [n, rows, cols], each at least 1.
Expected<Tensor> decode_idx_images(ByteView data, const std::string& name, uint64_t max_bytes = kIdxMaxBytes);
// [n], n at least 1, every label below `classes`: kUnreadable names the sample of another.
Expected<Tensor> decode_idx_labels(ByteView data, const std::string& name, int classes,
                                   uint64_t max_bytes = kIdxMaxBytes);

// The inverse of decode_idx, for tests and fuzz targets. REQUIRES uint8, rank 1 to 8, dimensions below 2^32.
Bytes encode_idx(const Tensor& tensor);

}  // namespace isobit::formats
