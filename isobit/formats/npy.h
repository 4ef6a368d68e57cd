// NumPy's .npy files (numpy.lib.format), versions 1.0, 2.0 and 3.0.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/tensor/tensor.h"

namespace isobit::formats {

inline constexpr uint64_t kNpyMaxBytes = uint64_t{64} << 30;
inline constexpr int kNpyMaxRank = 32;  // NumPy's own limit until 2.0

// Element types <f2 <f4 <f8 |i1 <i2 <i4 <i8 |u1 <u2 <u4 <u8 |b1; Fortran order is rearranged to row-major. kUnreadable
// for anything else: other types, big-endian, structured, rank over kNpyMaxRank, data of another length than the shape
// asks for, booleans not 0 or 1. read_npy is this of a file; alone only tests and fuzz targets call it.
Expected<Tensor> decode_npy(ByteView data, const std::string& name, uint64_t max_bytes = kNpyMaxBytes);

// Version 1.0, C order, the header as NumPy writes it (padded to 64 bytes). REQUIRES another type than bfloat16, which
// NumPy does not have, and of at most kNpyMaxRank axes.
Bytes encode_npy(const Tensor& tensor);

Expected<Tensor> read_npy(const fs::path& path, uint64_t max_bytes = kNpyMaxBytes);
Status write_npy(const fs::path& path, const Tensor& tensor, const WriteOptions& options = {});

// Where the elements of a file lie, for who reads them piece by piece: rows of C order lie one after another.
struct NpyLayout {
  DType dtype = DType::kFloat32;
  Shape shape = {};
  bool fortran_order = false;
  uint64_t offset = 0;  // of the first element; the elements are the rest of the file

  uint64_t bytes() const { return static_cast<uint64_t>(shape.elements()) * size_of(dtype); }
};
// Reads the header alone, and of whatever size the data are, compares theirs with it. Errors as read_npy, but for
// booleans, which nobody has looked at. `name` names the file in messages.
Expected<NpyLayout> read_npy_layout(const PlainFile& file, const std::string& name);

// Who reads a file of `size` bytes once, from the first to the last, as out of an archive.
struct NpyStream {
  uint64_t size = 0;
  std::function<Status(std::span<uint8_t> to)> next;  // the bytes that follow those before
  std::function<Status(const NpyLayout& layout)> wants =
      {};  // asked before the tensor has memory; empty: whatever it is
};
// As decode_npy, of which the tensor is the only copy (in Fortran order there are two). Errors of the stream end it.
Expected<Tensor> stream_npy(const NpyStream& stream, const std::string& name, uint64_t max_bytes = kNpyMaxBytes);

}  // namespace isobit::formats
