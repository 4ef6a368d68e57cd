// safetensors files (github.com/huggingface/safetensors, "Format"): u64 header length, JSON header, tensor data.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/base/status.h"
#include "isobit/tensor/tensor.h"

namespace isobit::formats {

struct Safetensors {
  std::vector<NamedTensor> tensors;             // sorted by name (as bytes) when decoded
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

inline constexpr uint64_t kSafetensorsMaxBytes = uint64_t{64} << 30;
// What is read has no more, so nothing else is written.
inline constexpr int kSafetensorsMaxRank = 32;
inline constexpr uint64_t kSafetensorsMaxHeader = uint64_t{8} << 20;
// The most that a tensor takes of the header.
uint64_t safetensors_header_bytes(const std::string& name, int rank);

// kUnreadable unless: the header is strict JSON of the known fields in valid UTF-8, no name or field twice; every dtype
// is F32, F64, I64, I32, U8 or BOOL; every tensor's offsets match its size; the tensors cover the data without hole,
// overlap or rest; booleans are 0 or 1; the whole is at most max_bytes. `name` (of the file) starts every message.
Expected<Safetensors> decode_safetensors(ByteView data, const std::string& name,
                                         uint64_t max_bytes = kSafetensorsMaxBytes);

// Who takes tensors one by one.
struct TensorTaker {
  // Asked of all tensors before the first is read or has memory: who knows what it expects says no to what it does not.
  std::function<Status(const std::string& name, DType dtype, const Shape& shape)> wants;
  std::function<Status(NamedTensor tensor)> take;  // called for each, in the order of the data
};

// The same of `size` bytes that are read once, from the first to the last, and of which one tensor at a time is in
// memory. Returns the metadata. An error of `read`, or of the taker, ends it.
using ReadAt = std::function<Status(uint64_t offset, std::span<uint8_t> to)>;
Expected<std::map<std::string, std::string>> stream_safetensors(uint64_t size, const ReadAt& read,
                                                                const TensorTaker& taker, const std::string& name,
                                                                uint64_t max_bytes = kSafetensorsMaxBytes);

// One file per content: names sorted, data of wider element types first and then by name, so that every tensor is
// aligned to its element size without holes; the header padded with spaces to 8 bytes. kUsage when a name occurs twice,
// is "__metadata__" or is not UTF-8, when a tensor has more axes than kSafetensorsMaxRank or the header is too long.
Expected<Bytes> encode_safetensors(const Safetensors& file);

// The same bytes without a copy of the data: the header, then the data piece by piece, as views into the tensors.
struct SafetensorsPieces {
  Bytes header;
  std::vector<ByteView> data;
};
Expected<SafetensorsPieces> safetensors_pieces(const Safetensors& file);

Expected<Safetensors> read_safetensors(const fs::path& path, uint64_t max_bytes = kSafetensorsMaxBytes);
// Durable, never half a file. Errors: as encode_safetensors and write_file_durably.
Status write_safetensors(const fs::path& path, const Safetensors& file, const WriteOptions& options = {});

}  // namespace isobit::formats
