#include <algorithm>
#include <array>
#include <string_view>

#include "isobit/base/text.h"
#include "isobit/onnx/wire_internal.h"

namespace isobit::onnx {
namespace {

constexpr uint64_t kMostInAName = 4 << 20;  // bytes
// What an object takes besides what it holds, rather more than less.
constexpr uint64_t kMessageCost = 256, kTextCost = 64, kElementCost = 16;

// Field numbers up to 31 are counted, so that errors can say which of several it was.
constexpr size_t kCounted = 32;

// An error found deep inside; the path grows on the way out.
struct Fault {
  std::string path, problem;
};
using Walked = tl::expected<void, Fault>;

tl::unexpected<Fault> fault(std::string problem) { return tl::unexpected<Fault>({"", std::move(problem)}); }

class Walk {
 public:
  explicit Walk(const WireLimits& limits) : limits_(limits) {}

  Walked message(ByteView data, const WireMessage& message, int depth) {
    if (depth > limits_.depth) return fault(text_of("messages lie more than ", limits_.depth, " deep"));
    if (auto paid = pay(kMessageCost); !paid) return paid;
    std::array<uint32_t, kCounted> seen = {};
    size_t at = 0;
    while (at < data.size()) {
      uint64_t tag = 0;
      if (!varint(data, at, tag)) return fault("the bytes end, or hold no number, where a field should begin");
      const uint64_t number = tag >> 3;
      if (number == 0 || number > (uint64_t{1} << 29) - 1) return fault(text_of("there is no field ", number));
      const WireField* field = find(message, static_cast<uint32_t>(number));
      const Walked walked = this->field(data, at, static_cast<uint32_t>(tag & 7), field, depth);
      const uint32_t index = number < kCounted ? seen[static_cast<size_t>(number)]++ : 0;
      if (!walked) return tl::unexpected(placed(walked.error(), field, number, index));
    }
    return {};
  }

  WireSize size() const { return {paid_, raw_data_}; }

 private:
  static const WireField* find(const WireMessage& message, uint32_t number) {
    for (const WireField& field : message.fields) {
      if (field.number == number) return &field;
    }
    return nullptr;
  }

  static Fault placed(Fault inner, const WireField* field, uint64_t number, uint32_t index) {
    std::string name = field == nullptr ? text_of("field ", number) : std::string(field->name);
    if (field != nullptr && field->repeated) name += text_of("[", index, "]");
    inner.path = inner.path.empty() ? name : name + "." + inner.path;
    return inner;
  }

  Walked pay(uint64_t bytes) {
    if (bytes > limits_.memory - paid_) {
      return fault(text_of("what is read takes more than ", human_bytes(limits_.memory),
                           " of memory, which is the limit (--max-memory)"));
    }
    paid_ += bytes;
    return {};
  }

  static bool varint(ByteView data, size_t& at, uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 70 && at < data.size(); shift += 7) {
      const uint8_t byte = data[at++];
      if (shift == 63 && byte > 1) return false;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  // The body of one field, whose tag has been read.
  Walked field(ByteView data, size_t& at, uint32_t wire, const WireField* field, int depth) {
    uint64_t value = 0;
    switch (wire) {
      case 0:
        if (!varint(data, at, value)) return fault("the bytes end inside of a number");
        return scalar(field, WireKind::kVarint);
      case 1:
        return fixed(data, at, 8, field, WireKind::kFixed64);
      case 5:
        return fixed(data, at, 4, field, WireKind::kFixed32);
      case 2:
        break;
      default:
        return fault(text_of("wire type ", wire, ", which no ONNX file has"));
    }
    if (!varint(data, at, value)) return fault("the bytes end inside of a length");
    if (value > data.size() - at) {
      return fault(
          text_of(value, " bytes are announced, ", data.size() - at, " are left: the file is cut short or damaged"));
    }
    const ByteView body = data.subspan(at, static_cast<size_t>(value));
    at += static_cast<size_t>(value);
    if (field == nullptr) return pay(kTextCost + value);
    if (field->kind == WireKind::kMessage) return message(body, *field->message(), depth + 1);
    if (field->kind == WireKind::kName && value > kMostInAName) {
      return fault(text_of("a name of ", human_bytes(value), ", expected at most ", human_bytes(kMostInAName)));
    }
    if (field->kind == WireKind::kName) return pay(kTextCost + value);
    if (field->kind == WireKind::kBytes) {
      if (field->name == std::string_view("raw_data")) raw_data_ += value;
      return pay(kTextCost + value);
    }
    return packed(body, *field);
  }

  Walked fixed(ByteView data, size_t& at, size_t size, const WireField* field, WireKind kind) {
    if (data.size() - at < size) return fault("the bytes end inside of a number");
    at += size;
    return scalar(field, kind);
  }

  Walked scalar(const WireField* field, WireKind kind) {
    if (field != nullptr && field->kind != kind) return fault("has the wire type of another kind of field");
    return pay(kElementCost);
  }

  Walked packed(ByteView body, const WireField& field) {
    if (!field.repeated) return fault("has the wire type of another kind of field");
    if (field.kind == WireKind::kVarint) {
      const auto last = std::count_if(body.begin(), body.end(), [](uint8_t b) { return b < 0x80; });
      if (!body.empty() && body.back() >= 0x80) return fault("the bytes end inside of a number");
      return pay(static_cast<uint64_t>(last) * kElementCost);
    }
    const size_t size = field.kind == WireKind::kFixed32 ? 4 : 8;
    if (body.size() % size != 0) return fault(text_of(body.size(), " bytes are no whole number of elements"));
    return pay(body.size());
  }

  const WireLimits& limits_;
  uint64_t paid_ = 0, raw_data_ = 0;
};

}  // namespace

Expected<WireSize> check_wire(ByteView data, const WireMessage& message, const WireLimits& limits,
                              const std::string& file) {
  Walk walk(limits);
  const Walked walked = walk.message(data, message, 1);
  if (walked) return walk.size();
  const Fault& f = walked.error();
  return unreadable(text_of(file, ": ", f.path.empty() ? "" : f.path + ": ", f.problem));
}

}  // namespace isobit::onnx
