#include "isobit/formats/npy.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "isobit/base/text.h"

namespace isobit::formats {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr uint32_t kMaxNpyHeader = 1 << 16;

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// The literal of a Python dictionary as NumPy writes it: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class LiteralCursor {
 public:
  LiteralCursor(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Expected<NpyHeader> header() {
    NpyHeader out;
    bool has_descr = false, has_order = false, has_shape = false;
    ISOBIT_RETURN_IF_ERROR(expect('{'));
    while (!take('}')) {
      ISOBIT_TRY(const std::string key, string());
      ISOBIT_RETURN_IF_ERROR(expect(':'));
      if (key == "descr" && !has_descr) {
        has_descr = true;
        if (peek('[')) return fail("structured element types are not supported");
        ISOBIT_TRY(out.descr, string());
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        ISOBIT_TRY(out.fortran_order, boolean());
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        ISOBIT_RETURN_IF_ERROR(tuple(out.shape));
      } else {
        return fail("a key twice or unknown; expected descr, fortran_order and shape once each");
      }
      if (!take(',') && !peek('}')) return fail("',' or '}' expected");
    }
    if (!has_descr || !has_order || !has_shape) return fail("descr, fortran_order or shape is missing");
    skip_space();
    if (at_ != text_.size()) return fail("unexpected text after the dictionary");
    return out;
  }

 private:
  tl::unexpected<Error> fail(std::string_view problem) const {
    return unreadable(text_of(name_, ": .npy header at byte ", at_, ": ", problem));
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool peek(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  Status expect(char c) {
    if (!take(c)) return fail(text_of("'", c, "' expected"));
    return {};
  }
  Expected<std::string> string() {
    if (!peek('\'') && !peek('"')) return fail("a quoted text expected");
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == text_.npos) return fail("a text does not end");
    const std::string_view inside = text_.substr(at_, end - at_);
    if (inside.find('\\') != inside.npos) return fail("an escape in a text is not supported");
    at_ = end + 1;
    return std::string(inside);
  }
  Expected<bool> boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    return fail("True or False expected");
  }
  Expected<int64_t> integer() {
    skip_space();
    int64_t value = 0;
    const size_t start = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value)) {
        return fail("a dimension is over 2^63 - 1");
      }
    }
    if (at_ == start) return fail("a non-negative whole number expected");
    return value;
  }
  Status tuple(std::vector<int64_t>& out) {
    ISOBIT_RETURN_IF_ERROR(expect('('));
    while (!take(')')) {
      if (std::cmp_equal(out.size(), kNpyMaxRank)) return fail(text_of("more than ", kNpyMaxRank, " dimensions"));
      ISOBIT_TRY(const int64_t dim, integer());
      out.push_back(dim);
      // "(3)" is a number in Python; a tuple of one has its comma.
      if (!take(',') && (out.size() == 1 || !peek(')'))) return fail("',' expected in the shape");
    }
    return {};
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
};

struct Descr {
  const char* text;
  DType dtype;
};
// NumPy writes |u1; "<" for one byte is the same type.
constexpr Descr kDescrs[] = {{"<f4", DType::kFloat32}, {"<f8", DType::kFloat64}, {"<i8", DType::kInt64},
                             {"<i4", DType::kInt32},   {"|u1", DType::kUint8},   {"|b1", DType::kBool},
                             {"|i1", DType::kInt8},    {"<i2", DType::kInt16},   {"<u2", DType::kUint16},
                             {"<u4", DType::kUint32},  {"<u8", DType::kUint64},  {"<f2", DType::kFloat16},
                             {"<u1", DType::kUint8},   {"<b1", DType::kBool},    {"<i1", DType::kInt8}};

Expected<DType> dtype_of_descr(const std::string& descr, const std::string& name) {
  for (const Descr& d : kDescrs) {
    if (descr == d.text) return d.dtype;
  }
  if (descr.starts_with('>')) {
    return unreadable(text_of(name, ": element type '", descr, "' is big-endian; save it with .astype('<",
                              descr.substr(1), "') first"));
  }
  return unreadable(
      text_of(name, ": element type '", descr,
              "' is not supported, expected f2, f4, f8, an integer type or b1, little-endian; convert it with ",
              ".astype first"));
}

// dst[i0][i1]... = src[...][i1][i0]: the first index varies fastest in the file.
Tensor from_fortran(const Tensor& src) {
  Tensor dst(src.dtype(), src.shape());
  const size_t size = size_of(src.dtype());
  const int rank = src.shape().rank();
  std::vector<int64_t> index(static_cast<size_t>(rank), 0), stride(static_cast<size_t>(rank), 1);
  for (int d = 1; d < rank; ++d) {
    stride[static_cast<size_t>(d)] = stride[static_cast<size_t>(d - 1)] * src.shape()[d - 1];
  }
  const auto* in = static_cast<const uint8_t*>(src.raw());
  auto* out = static_cast<uint8_t*>(dst.raw());
  int64_t from = 0;
  for (int64_t i = 0; i < src.elements(); ++i) {
    std::memcpy(out + static_cast<size_t>(i) * size, in + static_cast<size_t>(from) * size, size);
    for (int d = rank - 1; d >= 0; --d) {
      const auto k = static_cast<size_t>(d);
      from += stride[k];
      if (++index[k] < src.shape()[d]) break;
      from -= stride[k] * index[k];
      index[k] = 0;
    }
  }
  return dst;
}

Expected<NpyHeader> read_header(ByteReader& in, const std::string& name) {
  ISOBIT_TRY(const ByteView magic, in.fixed("magic", kMagic.size()));
  if (!std::equal(magic.begin(), magic.end(), as_bytes(kMagic).begin())) {
    return unreadable(text_of(name, ": is no .npy file: found the first bytes ", to_hex(magic), ", expected ",
                              to_hex(as_bytes(kMagic))));
  }
  ISOBIT_TRY(const uint8_t major, in.u8("major version"));
  ISOBIT_TRY(const uint8_t minor, in.u8("minor version"));
  if (major < 1 || major > 3 || minor != 0) {
    return unreadable(
        text_of(name, ": found .npy version ", int{major}, ".", int{minor}, ", expected 1.0, 2.0 or 3.0"));
  }
  uint32_t size = 0;
  if (major == 1) {
    ISOBIT_TRY(size, in.u16("header length"));
  } else {
    ISOBIT_TRY(size, in.u32("header length"));
  }
  if (size > kMaxNpyHeader)
    return in.fail("header length", text_of("found ", size, ", expected at most ", kMaxNpyHeader));
  ISOBIT_TRY(const ByteView header, in.fixed("header", size));
  const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
  return LiteralCursor(text, name).header();
}

const char* descr_of(DType dtype) {
  for (const Descr& d : kDescrs) {
    if (d.dtype == dtype) return d.text;
  }
  ISOBIT_CHECK(!"dtype");
  return "";
}

using ReadAt = std::function<Status(uint64_t, std::span<uint8_t>)>;

// The header, which the size of the file is compared with.
Expected<NpyLayout> decode_layout(uint64_t file_size, const ReadAt& read_at, const std::string& name,
                                  uint64_t max_bytes) {
  Bytes front(static_cast<size_t>(std::min<uint64_t>(file_size, kMagic.size() + 6 + kMaxNpyHeader)));
  ISOBIT_RETURN_IF_ERROR(read_at(0, front));
  ByteReader in(front, name);
  ISOBIT_TRY(const NpyHeader header, read_header(in, name));
  ISOBIT_TRY(const DType dtype, dtype_of_descr(header.descr, name));
  const auto elements = checked_elements(header.shape, dtype, max_bytes);
  if (!elements) return unreadable(text_of(name, ": shape: ", elements.error().message));
  const uint64_t size = static_cast<uint64_t>(*elements) * size_of(dtype), rest = file_size - in.offset();
  if (rest != size) {
    return unreadable(text_of(name, ": found ", rest, " bytes of data, expected ", size, " for shape ",
                              Shape(header.shape).text(), " of ", name_of(dtype)));
  }
  return NpyLayout{dtype, Shape(header.shape), header.fortran_order, in.offset()};
}

// Nothing is allocated for data before the header and the size have been found to fit one another.
Expected<Tensor> decode_with(uint64_t file_size, const ReadAt& read_at, const std::string& name, uint64_t max_bytes,
                             const std::function<Status(const NpyLayout&)>& wants = {}) {
  ISOBIT_TRY(const NpyLayout layout, decode_layout(file_size, read_at, name, max_bytes));
  if (wants) ISOBIT_RETURN_IF_ERROR(wants(layout));
  Tensor out(layout.dtype, layout.shape);
  const std::span<uint8_t> bytes(static_cast<uint8_t*>(out.raw()), static_cast<size_t>(layout.bytes()));
  ISOBIT_RETURN_IF_ERROR(read_at(layout.offset, bytes));
  if (layout.dtype == DType::kBool && std::any_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b > 1; })) {
    return unreadable(text_of(name, ": a boolean is neither 0 nor 1"));
  }
  if (layout.fortran_order && out.shape().rank() > 1) return from_fortran(out);
  return out;
}

}  // namespace

Expected<Tensor> decode_npy(ByteView data, const std::string& name, uint64_t max_bytes) {
  const auto read_at = [&](uint64_t offset, std::span<uint8_t> to) -> Status {
    if (!to.empty()) std::memcpy(to.data(), data.data() + offset, to.size());
    return {};
  };
  return decode_with(data.size(), read_at, name, max_bytes);
}

Bytes encode_npy(const Tensor& tensor) {
  ISOBIT_CHECK(tensor.defined() && tensor.shape().rank() <= kNpyMaxRank);
  std::string header = text_of("{'descr': '", descr_of(tensor.dtype()), "', 'fortran_order': False, 'shape': (");
  const int rank = tensor.shape().rank();
  for (int d = 0; d < rank; ++d) header += text_of(d ? ", " : "", tensor.shape()[d]);
  header += rank == 1 ? ",), }" : "), }";
  const size_t before = kMagic.size() + 4;
  header.resize((before + header.size() + 1 + 63) / 64 * 64 - before - 1, ' ');
  header.push_back('\n');
  ByteWriter out;
  out.fixed(as_bytes(kMagic));
  out.u8(1);
  out.u8(0);
  out.u16(static_cast<uint16_t>(header.size()));
  out.fixed(as_bytes(header));
  out.fixed(tensor.byte_view());
  return out.take();
}

Expected<Tensor> read_npy(const fs::path& path, uint64_t max_bytes) {
  ISOBIT_TRY(const PlainFile file, PlainFile::open(path, Links::kFollow));
  const auto read_at = [&](uint64_t offset, std::span<uint8_t> to) { return file.read_exactly(offset, to); };
  return decode_with(file.size(), read_at, path.string(), max_bytes);
}

Expected<Tensor> stream_npy(const NpyStream& stream, const std::string& name, uint64_t max_bytes) {
  // The header is read with what follows it, which is given once more as the first of the data.
  Bytes front;
  const auto read_at = [&](uint64_t offset, std::span<uint8_t> to) -> Status {
    const size_t held = std::min<size_t>(to.size(), front.size() - static_cast<size_t>(offset));
    std::copy_n(front.begin() + static_cast<ptrdiff_t>(offset), held, to.begin());
    ISOBIT_RETURN_IF_ERROR(stream.next(to.subspan(held)));
    if (front.empty()) front.assign(to.begin(), to.end());
    return {};
  };
  return decode_with(stream.size, read_at, name, max_bytes, stream.wants);
}

Expected<NpyLayout> read_npy_layout(const PlainFile& file, const std::string& name) {
  const auto read_at = [&](uint64_t offset, std::span<uint8_t> to) { return file.read_exactly(offset, to); };
  // Sizes in bytes stay far from the ends of their types.
  constexpr uint64_t kAnySize = uint64_t{1} << 62;
  return decode_layout(file.size(), read_at, name, kAnySize);
}

Status write_npy(const fs::path& path, const Tensor& tensor, const WriteOptions& options) {
  return write_file_durably(path, encode_npy(tensor), options);
}

}  // namespace isobit::formats
