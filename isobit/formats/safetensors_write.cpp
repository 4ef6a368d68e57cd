#include <algorithm>
#include <numeric>

#include "isobit/base/durable_file.h"
#include "isobit/base/text.h"
#include "isobit/formats/json_header.h"
#include "isobit/formats/safetensors.h"
#include "isobit/formats/safetensors_types.h"

namespace isobit::formats {
namespace {

const char* safetensors_name(DType dtype) {
  for (const SafetensorsType& type : kSafetensorsTypes) {
    if (type.dtype == dtype) return type.name;
  }
  ISOBIT_CHECK(!"dtype");
}

Status check_names(const std::vector<const NamedTensor*>& sorted, const std::map<std::string, std::string>& metadata) {
  for (size_t i = 0; i < sorted.size(); ++i) {
    const std::string& name = sorted[i]->name;
    if (name == "__metadata__") return usage_error("safetensors: a tensor cannot be named __metadata__");
    if (!is_utf8(name)) return usage_error("safetensors: the name of a tensor is not UTF-8");
    if (sorted[i]->tensor.shape().rank() > kSafetensorsMaxRank) {
      return usage_error(text_of("safetensors: tensor '", name, "' has ", sorted[i]->tensor.shape().rank(),
                                 " axes, expected at most ", kSafetensorsMaxRank));
    }
    if (i > 0 && name == sorted[i - 1]->name) {
      return usage_error(text_of("safetensors: two tensors are named '", name, "'"));
    }
  }
  for (const auto& [key, value] : metadata) {
    if (!is_utf8(key) || !is_utf8(value)) return usage_error("safetensors: metadata is not UTF-8");
  }
  return {};
}

// Where the data of sorted[i] starts. Wider elements first: every tensor is then aligned to its element size, and the
// format allows no holes that could align it otherwise.
std::vector<uint64_t> place(const std::vector<const NamedTensor*>& sorted, std::vector<size_t>& order) {
  order.resize(sorted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return size_of(sorted[a]->tensor.dtype()) > size_of(sorted[b]->tensor.dtype());
  });
  std::vector<uint64_t> begin(sorted.size());
  uint64_t at = 0;
  for (size_t i : order) {
    begin[i] = at;
    at += sorted[i]->tensor.bytes();
  }
  return begin;
}

std::string header_text(const Safetensors& file, const std::vector<const NamedTensor*>& sorted,
                        const std::vector<uint64_t>& begin) {
  std::string out = "{";
  if (!file.metadata.empty()) {
    out += "\"__metadata__\":{";
    for (const auto& [key, value] : file.metadata) {
      if (out.back() != '{') out += ',';
      out += json_quoted(key) + ':' + json_quoted(value);
    }
    out += '}';
  }
  for (size_t i = 0; i < sorted.size(); ++i) {
    const Tensor& tensor = sorted[i]->tensor;
    if (out.size() > 1) out += ',';
    out += text_of(json_quoted(sorted[i]->name), ":{\"dtype\":\"", safetensors_name(tensor.dtype()), "\",\"shape\":[");
    for (int d = 0; d < tensor.shape().rank(); ++d) out += text_of(d ? "," : "", tensor.shape()[d]);
    out += text_of("],\"data_offsets\":[", begin[i], ',', begin[i] + tensor.bytes(), "]}");
  }
  out += '}';
  out.resize((out.size() + 7) / 8 * 8, ' ');
  return out;
}

}  // namespace

uint64_t safetensors_header_bytes(const std::string& name, int rank) {
  constexpr uint64_t kOfANumber = 20, kOfAnEntry = 128;  // with two offsets
  return json_quoted(name).size() + kOfAnEntry + static_cast<uint64_t>(rank) * kOfANumber;
}

Expected<SafetensorsPieces> safetensors_pieces(const Safetensors& file) {
  std::vector<const NamedTensor*> sorted;
  for (const NamedTensor& t : file.tensors) {
    ISOBIT_CHECK(t.tensor.defined());
    sorted.push_back(&t);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  ISOBIT_RETURN_IF_ERROR(check_names(sorted, file.metadata));
  std::vector<size_t> order;
  const std::vector<uint64_t> begin = place(sorted, order);
  const std::string header = header_text(file, sorted, begin);
  if (header.size() > kSafetensorsMaxHeader) {
    return usage_error(text_of("safetensors: the names and shapes of the tensors take ", header.size(),
                               " bytes, expected at most ", kSafetensorsMaxHeader));
  }
  ByteWriter front;
  front.u64(header.size());
  front.fixed(as_bytes(header));
  SafetensorsPieces out{front.take(), {}};
  for (size_t i : order) out.data.push_back(sorted[i]->tensor.byte_view());
  return out;
}

Expected<Bytes> encode_safetensors(const Safetensors& file) {
  ISOBIT_TRY(SafetensorsPieces pieces, safetensors_pieces(file));
  size_t size = pieces.header.size();
  for (const ByteView piece : pieces.data) size += piece.size();
  Bytes out = std::move(pieces.header);
  out.reserve(size);
  for (const ByteView piece : pieces.data) out.insert(out.end(), piece.begin(), piece.end());
  return out;
}

Status write_safetensors(const fs::path& path, const Safetensors& file, const WriteOptions& options) {
  ISOBIT_TRY(const SafetensorsPieces pieces, safetensors_pieces(file));
  ISOBIT_TRY(DurableFile out, DurableFile::create(path, options));
  ISOBIT_RETURN_IF_ERROR(out.append(pieces.header));
  for (const ByteView piece : pieces.data) ISOBIT_RETURN_IF_ERROR(out.append(piece));
  return out.commit();
}

}  // namespace isobit::formats
