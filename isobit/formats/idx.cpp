#include "isobit/formats/idx.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::formats {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;
constexpr uint8_t kMaxIdxRank = 8;

Status check_magic(ByteView magic, const std::string& name) {
  if (magic[0] == 0x1f && magic[1] == 0x8b) {
    return unreadable(text_of(name, ": is compressed with gzip, expected a plain IDX file here"));
  }
  if (magic[0] != 0 || magic[1] != 0) {
    return unreadable(text_of(name, ": is no IDX file: found the first bytes ", to_hex(magic), ", expected 000008.."));
  }
  if (magic[2] != kUnsignedByte) {
    return unreadable(text_of(name, ": found element type 0x", to_hex(magic.subspan(2, 1)),
                              ", expected 0x08 (unsigned bytes); no other is supported"));
  }
  if (magic[3] < 1 || magic[3] > kMaxIdxRank) {
    return unreadable(text_of(name, ": found ", int{magic[3]}, " dimensions, expected 1 to ", int{kMaxIdxRank}));
  }
  return {};
}

struct IdxHeader {
  std::vector<int64_t> dims;
  uint64_t elements = 0;
};

Expected<IdxHeader> read_header(ByteReader& in, const std::string& name, uint64_t max_bytes) {
  ISOBIT_TRY(const ByteView magic, in.fixed("magic", 4));
  ISOBIT_RETURN_IF_ERROR(check_magic(magic, name));
  IdxHeader header;
  for (int i = 0; i < magic[3]; ++i) {
    ISOBIT_TRY(const ByteView b, in.fixed("dimension", 4));
    header.dims.push_back(int64_t{b[0]} << 24 | int64_t{b[1]} << 16 | int64_t{b[2]} << 8 | int64_t{b[3]});
  }
  const auto elements = checked_elements(header.dims, DType::kUint8, max_bytes);
  if (!elements) return unreadable(text_of(name, ": ", elements.error().message));
  header.elements = static_cast<uint64_t>(*elements);
  return header;
}

}  // namespace

Expected<uint64_t> idx_size(ByteView front, const std::string& name, uint64_t max_bytes) {
  ByteReader in(front, name);
  ISOBIT_TRY(const IdxHeader header, read_header(in, name, max_bytes));
  return in.offset() + header.elements;
}

Expected<Tensor> decode_idx(ByteView data, const std::string& name, uint64_t max_bytes) {
  ByteReader in(data, name);
  ISOBIT_TRY(const IdxHeader header, read_header(in, name, max_bytes));
  if (in.remaining() != header.elements) {
    return unreadable(text_of(name, ": found ", in.remaining(), " bytes of data, expected ", header.elements, " for ",
                              Shape(header.dims).text(), "; the file is ",
                              in.remaining() < header.elements ? "cut short" : "too long"));
  }
  ISOBIT_TRY(const ByteView bytes, in.fixed("data", static_cast<size_t>(header.elements)));
  return Tensor::of<uint8_t>(Shape(header.dims), bytes);
}

Expected<Tensor> decode_idx_images(ByteView data, const std::string& name, uint64_t max_bytes) {
  ISOBIT_TRY(Tensor images, decode_idx(data, name, max_bytes));
  if (images.shape().rank() != 3 || images.elements() == 0) {
    return unreadable(text_of(name, ": found an array ", images.shape().text(),
                              ", expected images [count, rows, columns], at least one"));
  }
  return images;
}

Expected<Tensor> decode_idx_labels(ByteView data, const std::string& name, int classes, uint64_t max_bytes) {
  ISOBIT_TRY(Tensor labels, decode_idx(data, name, max_bytes));
  if (labels.shape().rank() != 1 || labels.elements() == 0) {
    return unreadable(text_of(name, ": found labels of shape ", labels.shape().text(),
                              ", expected a vector [n] of at least one; save one number per sample"));
  }
  const auto values = std::as_const(labels).span<uint8_t>();
  const auto bad = std::find_if(values.begin(), values.end(), [classes](uint8_t v) { return v >= classes; });
  if (bad != values.end()) {
    return unreadable(text_of(name, ": label of sample ", bad - values.begin(), ": found ", int{*bad},
                              ", expected 0 to ", classes - 1,
                              "; correct the labels or choose the dataset they belong to"));
  }
  return labels;
}

Bytes encode_idx(const Tensor& tensor) {
  const int rank = tensor.shape().rank();
  ISOBIT_CHECK(tensor.dtype() == DType::kUint8 && rank >= 1 && rank <= kMaxIdxRank);
  ByteWriter out;
  out.u16(0);
  out.u8(kUnsignedByte);
  out.u8(static_cast<uint8_t>(rank));
  for (const int64_t dim : tensor.shape().dims()) {
    ISOBIT_CHECK(dim <= UINT32_MAX);
    out.u32(__builtin_bswap32(static_cast<uint32_t>(dim)));
  }
  out.fixed(tensor.byte_view());
  return out.take();
}

}  // namespace isobit::formats
