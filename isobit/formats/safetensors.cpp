#include "isobit/formats/safetensors.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <tuple>

#include "isobit/base/text.h"
#include "isobit/formats/json_header.h"
#include "isobit/formats/safetensors_types.h"

namespace isobit::formats {
namespace {

// A few hundred bytes of memory for each tensor of the shortest description: this bounds it at some 100 MB. The
// reference implementation allows 100 MB of header.
constexpr uint64_t kMaxHeader = kSafetensorsMaxHeader;
constexpr int kMaxRank = kSafetensorsMaxRank;

struct Entry {
  std::string name, dtype;
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0;
};

std::optional<DType> dtype_of_name(std::string_view name) {
  for (const SafetensorsType& type : kSafetensorsTypes) {
    if (name == type.name) return type.dtype;
  }
  return std::nullopt;
}

Status read_integers(JsonCursor& in, size_t most, std::vector<int64_t>& out) {
  return in.list('[', ']', [&]() -> Status {
    if (out.size() == most) return in.fail(text_of("a list has more than ", most, " numbers"));
    ISOBIT_TRY(const int64_t value, in.integer());
    out.push_back(value);
    return {};
  });
}

// {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, in any order.
Status read_entry(JsonCursor& in, Entry& entry) {
  bool has_dtype = false, has_shape = false;
  std::vector<int64_t> offsets;
  auto read_field = [&]() -> Status {
    ISOBIT_TRY(const std::string field, in.string());
    ISOBIT_RETURN_IF_ERROR(in.expect(':'));
    if (field == "dtype" && !has_dtype) {
      has_dtype = true;
      ISOBIT_TRY(entry.dtype, in.string());
      return {};
    }
    if (field == "shape" && !has_shape) {
      has_shape = true;
      return read_integers(in, kMaxRank, entry.shape);
    }
    if (field == "data_offsets" && offsets.empty()) {
      ISOBIT_RETURN_IF_ERROR(read_integers(in, 2, offsets));
      if (offsets.size() != 2) return in.fail("data_offsets needs two numbers");
      return {};
    }
    return in.fail(text_of("tensor '", entry.name, "' has the field '", field,
                           "' twice or it is unknown; expected dtype, shape and data_offsets once each"));
  };
  ISOBIT_RETURN_IF_ERROR(in.list('{', '}', read_field));
  if (!has_dtype || !has_shape || offsets.empty()) {
    return in.fail(text_of("tensor '", entry.name, "' lacks dtype, shape or data_offsets"));
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return {};
}

Status read_metadata(JsonCursor& in, std::map<std::string, std::string>& out) {
  return in.list('{', '}', [&]() -> Status {
    ISOBIT_TRY(std::string key, in.string());
    ISOBIT_RETURN_IF_ERROR(in.expect(':'));
    ISOBIT_TRY(std::string value, in.string());
    if (!out.emplace(std::move(key), std::move(value)).second) return in.fail("__metadata__ has a key twice");
    return {};
  });
}

struct Header {
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
};

Expected<Header> read_header(std::string_view text, const std::string& name) {
  Header out;
  std::set<std::string> seen;
  JsonCursor in(text, name + ": header");
  if (!text.starts_with('{')) return in.fail("found no '{', which must be the first byte of the header");
  auto read_one = [&]() -> Status {
    ISOBIT_TRY(std::string key, in.string());
    ISOBIT_RETURN_IF_ERROR(in.expect(':'));
    if (!seen.insert(key).second) return in.fail(text_of("the name '", key, "' occurs twice"));
    if (key == "__metadata__") return read_metadata(in, out.metadata);
    out.entries.emplace_back().name = std::move(key);
    return read_entry(in, out.entries.back());
  };
  ISOBIT_RETURN_IF_ERROR(in.list('{', '}', read_one));
  ISOBIT_RETURN_IF_ERROR(in.finish());
  return out;
}

// The type of a tensor whose size is that of its offsets.
Expected<DType> type_of(const Entry& entry, uint64_t data_size, const std::string& name) {
  const std::string where = text_of(name, ": tensor '", entry.name, "'");
  const auto dtype = dtype_of_name(entry.dtype);
  if (!dtype) {
    return unreadable(text_of(
        where, ": dtype '", entry.dtype,
        "' is not supported, expected F16, BF16, F32, F64, I8 to I64, U8 to U64 or BOOL; convert the file first"));
  }
  const auto size = static_cast<uint64_t>(entry.end - entry.begin);
  const auto elements = checked_elements(entry.shape, *dtype, data_size);
  if (!elements) return unreadable(text_of(where, ": ", elements.error().message));
  if (static_cast<uint64_t>(*elements) * size_of(*dtype) != size) {
    return unreadable(text_of(where, ": data_offsets hold ", size, " bytes, but ", Shape(entry.shape).text(), " of ",
                              entry.dtype, " needs ", static_cast<uint64_t>(*elements) * size_of(*dtype)));
  }
  return *dtype;
}

Expected<Tensor> read_tensor(const Entry& entry, DType dtype, uint64_t data_begin, const ReadAt& read_at,
                             const std::string& name) {
  Tensor out(dtype, Shape(entry.shape));
  const std::span<uint8_t> bytes(static_cast<uint8_t*>(out.raw()), static_cast<size_t>(entry.end - entry.begin));
  ISOBIT_RETURN_IF_ERROR(read_at(data_begin + static_cast<uint64_t>(entry.begin), bytes));
  if (dtype == DType::kBool && std::any_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b > 1; })) {
    return unreadable(text_of(name, ": tensor '", entry.name, "': a boolean is neither 0 nor 1"));
  }
  return out;
}

// The offsets of all tensors, in order, must cover the data exactly: whatever a file says twice or hides is refused.
Status check_cover(std::vector<Entry>& entries, uint64_t size, const std::string& name) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  int64_t at = 0;
  for (const Entry& e : entries) {
    if (e.end < e.begin || static_cast<uint64_t>(e.end) > size) {
      return unreadable(text_of(name, ": tensor '", e.name, "': data_offsets [", e.begin, ", ", e.end,
                                "] do not lie in the ", size, " bytes of data; the file may be cut short"));
    }
    if (e.begin != at) {
      return unreadable(text_of(name, ": tensor '", e.name, "': starts at byte ", e.begin, " of the data, expected ",
                                at, " (no overlap and no hole)"));
    }
    at = e.end;
  }
  if (static_cast<uint64_t>(at) != size) {
    return unreadable(text_of(name, ": the tensors end at byte ", at, " of the data, which has ", size));
  }
  return {};
}

// All tensors, sorted by name.
Expected<Safetensors> decode(uint64_t size, const ReadAt& read_at, const std::string& name, uint64_t max_bytes) {
  Safetensors out;
  const auto keep = [&](NamedTensor tensor) -> Status {
    out.tensors.push_back(std::move(tensor));
    return {};
  };
  const auto any = [](const std::string&, DType, const Shape&) { return Status(); };
  ISOBIT_TRY(out.metadata, stream_safetensors(size, read_at, {any, keep}, name, max_bytes));
  std::ranges::sort(out.tensors, {}, &NamedTensor::name);
  return out;
}

}  // namespace

// Nothing is allocated for data before the header and the size have been found to fit one another and what is wanted.
Expected<std::map<std::string, std::string>> stream_safetensors(uint64_t size, const ReadAt& read_at,
                                                                const TensorTaker& taker, const std::string& name,
                                                                uint64_t max_bytes) {
  if (size > max_bytes) {
    return unreadable(text_of(name, ": is ", human_bytes(size), ", over the limit of ", human_bytes(max_bytes)));
  }
  Bytes length(static_cast<size_t>(std::min<uint64_t>(size, sizeof(uint64_t))));
  ISOBIT_RETURN_IF_ERROR(read_at(0, length));
  ISOBIT_TRY(const uint64_t header_size, ByteReader(length, name).u64("header length"));
  if (header_size > kMaxHeader || header_size > size - length.size()) {
    return unreadable(text_of(name, ": header length: found ", header_size, ", expected at most ",
                              std::min<uint64_t>(kMaxHeader, size - length.size())));
  }
  std::string text(static_cast<size_t>(header_size), '\0');
  ISOBIT_RETURN_IF_ERROR(read_at(length.size(), {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  ISOBIT_TRY(Header header, read_header(text, name));
  const uint64_t begin = length.size() + header_size, rest = size - begin;
  ISOBIT_RETURN_IF_ERROR(check_cover(header.entries, rest, name));
  std::vector<DType> types;
  for (const Entry& entry : header.entries) {
    ISOBIT_TRY(types.emplace_back(), type_of(entry, rest, name));
    ISOBIT_RETURN_IF_ERROR(taker.wants(entry.name, types.back(), Shape(entry.shape)));
  }
  for (size_t i = 0; i < types.size(); ++i) {  // in the order of their data, without a hole
    const Entry& entry = header.entries[i];
    ISOBIT_TRY(Tensor tensor, read_tensor(entry, types[i], begin, read_at, name));
    ISOBIT_RETURN_IF_ERROR(taker.take({entry.name, std::move(tensor)}));
  }
  return std::move(header.metadata);
}

Expected<Safetensors> decode_safetensors(ByteView data, const std::string& name, uint64_t max_bytes) {
  const auto read_at = [&](uint64_t offset, std::span<uint8_t> to) -> Status {
    if (!to.empty()) std::memcpy(to.data(), data.data() + offset, to.size());
    return {};
  };
  return decode(data.size(), read_at, name, max_bytes);
}

Expected<Safetensors> read_safetensors(const fs::path& path, uint64_t max_bytes) {
  ISOBIT_TRY(const PlainFile file, PlainFile::open(path, Links::kFollow));
  const auto read_at = [&](uint64_t offset, std::span<uint8_t> to) { return file.read_exactly(offset, to); };
  return decode(file.size(), read_at, path.string(), max_bytes);
}

}  // namespace isobit::formats
