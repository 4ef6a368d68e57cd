#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/onnx/schema.pb.h"
#include "isobit/onnx/tensor_internal.h"

namespace isobit::onnx {
namespace {

constexpr int kExternal = 1;  // TensorProto.data_location

struct External {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Expected<uint64_t> number_of(const std::string& key, const std::string& text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) {
    return unreadable(text_of("external data: ", key, " is '", text, "', expected a whole number"));
  }
  return value;
}

Expected<External> external_of(const schema::TensorProto& proto) {
  External e;
  for (const schema::StringStringEntryProto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      e.location = entry.value();
    } else if (entry.key() == "offset") {
      ISOBIT_TRY(e.offset, number_of("offset", entry.value()));
    } else if (entry.key() == "length") {
      ISOBIT_TRY(e.length, number_of("length", entry.value()));
    }
  }
  return e;
}

int typed_fields(const schema::TensorProto& p) {
  return (p.float_data_size() > 0) + (p.int32_data_size() > 0) + (p.string_data_size() > 0) +
         (p.int64_data_size() > 0) + (p.double_data_size() > 0) + (p.uint64_data_size() > 0);
}

// Elements of one of the typed fields, each of which must be a T as it is.
template <class T, class Field>
Status take(const Field& field, const char* name, Tensor& to) {
  if (field.size() != to.elements()) {
    return unreadable(text_of(name, " has ", field.size(), " elements, the shape asks for ", to.elements()));
  }
  T* out = reinterpret_cast<T*>(to.raw());
  for (int i = 0; i < field.size(); ++i) {
    const auto value = field.Get(i);
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(value)) {
        return unreadable(text_of(name, "[", i, "] is ", value, ", which is no ", name_of(to.dtype())));
      }
    }
    out[i] = static_cast<T>(value);
  }
  return {};
}

Status take_typed(const schema::TensorProto& p, Tensor& to) {
  switch (to.dtype()) {
    case DType::kFloat32:
      return take<float>(p.float_data(), "float_data", to);
    case DType::kFloat64:
      return take<double>(p.double_data(), "double_data", to);
    case DType::kInt64:
      return take<int64_t>(p.int64_data(), "int64_data", to);
    case DType::kUint64:
      return take<uint64_t>(p.uint64_data(), "uint64_data", to);
    case DType::kUint32:
      return take<uint32_t>(p.uint64_data(), "uint64_data", to);
    case DType::kInt32:
      return take<int32_t>(p.int32_data(), "int32_data", to);
    case DType::kInt16:
      return take<int16_t>(p.int32_data(), "int32_data", to);
    case DType::kInt8:
      return take<int8_t>(p.int32_data(), "int32_data", to);
    case DType::kUint8:
    case DType::kBool:
      return take<uint8_t>(p.int32_data(), "int32_data", to);
    case DType::kUint16:
    case DType::kFloat16:
    case DType::kBfloat16:
      return take<uint16_t>(p.int32_data(), "int32_data", to);
  }
  ISOBIT_CHECK(!"dtype");
}

// Any byte but 0 is true.
void tidy_booleans(Tensor& t) {
  if (t.dtype() != DType::kBool) return;
  auto* bytes = static_cast<uint8_t*>(t.raw());
  for (size_t i = 0; i < t.bytes(); ++i) bytes[i] = bytes[i] != 0;
}

tl::unexpected<Error> wrong_length(uint64_t found, uint64_t wanted) {
  return unreadable(text_of("raw_data has ", found, " bytes, the shape asks for ", wanted));
}

// Where `bytes` bytes lie, looked at before there is memory for them.
Expected<External> check_external(const schema::TensorProto& p, ExternalFiles& files, uint64_t bytes) {
  if (typed_fields(p) > 0 || !p.raw_data().empty()) return unreadable("has data in the file and outside of it");
  ISOBIT_TRY(External e, external_of(p));
  if (e.length && *e.length != bytes) {
    return unreadable(text_of("external data: length is ", *e.length, ", the shape asks for ", bytes, " bytes"));
  }
  ISOBIT_RETURN_IF_ERROR(files.check(e.location, e.offset, bytes));
  return e;
}

Status check_own(const schema::TensorProto& p, uint64_t elements, uint64_t bytes) {
  if (p.data_location() != 0) return unreadable(text_of("data_location is ", p.data_location(), ", expected 0 or 1"));
  const int typed = typed_fields(p);
  if (typed + (p.raw_data().empty() ? 0 : 1) > 1) return unreadable("has data in several fields");
  if (typed == 0 && p.raw_data().size() != bytes) return wrong_length(p.raw_data().size(), bytes);
  // An element takes a byte at least; which field it must be, and how many there are, is seen when they are taken.
  if (typed > 0 && p.ByteSizeLong() < elements) {
    return unreadable(text_of("has fewer elements than the ", elements, " that the shape asks for"));
  }
  return {};
}

Status read_into(const schema::TensorProto& p, ExternalFiles& files, TensorBudget& budget, TensorDef& def) {
  const auto dtype = dtype_of_element(def.element);
  if (!dtype) return {};
  ISOBIT_RETURN_IF_ERROR(graph::check_axes(static_cast<int64_t>(def.dims.size())));
  ISOBIT_TRY(const int64_t extents, checked_extents(def.dims, *dtype, std::numeric_limits<int64_t>::max()));
  // A dimension of 0 counts as 1 in what a tensor may be asked to be.
  if (const uint64_t most = static_cast<uint64_t>(extents) * size_of(*dtype); most > budget.bytes_left) {
    return unreadable(text_of("asks for ", most, " bytes; of the limit on all tensors (--max-memory) ",
                              budget.bytes_left, " are left"));
  }
  ISOBIT_TRY(const int64_t elements, checked_elements(def.dims, *dtype, std::numeric_limits<int64_t>::max()));
  const uint64_t bytes = static_cast<uint64_t>(elements) * size_of(*dtype);
  const bool external = p.data_location() == kExternal;
  External place;
  if (external) {
    ISOBIT_TRY(place, check_external(p, files, bytes));
  } else {
    ISOBIT_RETURN_IF_ERROR(check_own(p, static_cast<uint64_t>(elements), bytes));
  }
  budget.bytes_left -= bytes;
  Tensor tensor(*dtype, Shape(def.dims));
  if (external) {
    ISOBIT_RETURN_IF_ERROR(files.read(place.location, place.offset, {static_cast<uint8_t*>(tensor.raw()), bytes}));
  } else if (typed_fields(p) > 0) {
    ISOBIT_RETURN_IF_ERROR(take_typed(p, tensor));
  } else if (bytes > 0) {
    std::memcpy(tensor.raw(), p.raw_data().data(), bytes);
  }
  tidy_booleans(tensor);
  def.tensor = std::move(tensor);
  return {};
}

}  // namespace

Expected<TensorDef> tensor_of(schema::TensorProto& proto, const std::string& where, ExternalFiles& files,
                              TensorBudget& budget) {
  TensorDef def{proto.name(), proto.data_type(), {proto.dims().begin(), proto.dims().end()}, {}};
  const Status read = read_into(proto, files, budget, def);
  if (!read) return tl::unexpected<Error>({read.error().code, text_of(where, ": ", read.error().message)});
  schema::TensorProto().Swap(&proto);  // and with it its memory
  return def;
}

}  // namespace isobit::onnx
