// OVT's log: every decision of every output, five to a byte.
#include <algorithm>

#include "isobit/verify/log_payload_internal.h"

namespace isobit::verify::internal {
namespace {

constexpr uint64_t kPerByte = 5;
constexpr unsigned kStates = 3 * 3 * 3 * 3 * 3;

std::string label(uint32_t node, uint32_t output) { return text_of("output ", output, " of node ", node); }

Expected<runtime::OvtOutput> read_output(ByteReader& reader, const runtime::LoggedOutput& expected,
                                         const std::string& what) {
  ISOBIT_TRY(const uint32_t node, reader.u32("node"));
  ISOBIT_TRY(const uint32_t output, reader.u32("output"));
  if (node != expected.node || output != expected.output) {
    return contradiction(what, "node",
                         text_of("found ", label(node, output), ", expected ", label(expected.node, expected.output),
                                 ": the outputs of the step graph come in order, each once"));
  }
  ISOBIT_TRY(const uint64_t elements, reader.u64("elements"));
  if (elements != expected.elements) {
    return contradiction(what, "elements",
                         text_of("found ", elements, " decisions for ", label(node, output), ", expected ",
                                 expected.elements, ": the log of another job"));
  }
  ISOBIT_TRY(const ByteView packed, reader.fixed("decisions", static_cast<size_t>(packed_size(elements))));
  runtime::OvtOutput out{node, output, std::vector<uint8_t>(static_cast<size_t>(elements))};
  switch (unpack(packed, out.decisions)) {
    case PackedFault::kNone:
      break;
    case PackedFault::kByte:
      return reader.fail("decisions",
                         text_of("found byte ", *std::ranges::find_if(packed, [](unsigned b) { return b >= kStates; }),
                                 " for five decisions of ", label(node, output), ", expected at most ", kStates - 1));
    case PackedFault::kPadding:
      return reader.fail("decisions",
                         text_of("the digits after the last decision of ", label(node, output), " are not zero"));
  }
  return out;
}

}  // namespace

uint64_t packed_size(uint64_t decisions) { return decisions / kPerByte + (decisions % kPerByte != 0 ? 1 : 0); }

void write_packed(ByteWriter& writer, std::span<const uint8_t> decisions) {
  for (size_t at = 0; at < decisions.size(); at += kPerByte) {
    unsigned byte = 0;
    for (size_t i = std::min<size_t>(decisions.size(), at + kPerByte); i-- > at;) {
      ISOBIT_CHECK(decisions[i] <= 2);
      byte = byte * 3 + decisions[i];
    }
    writer.u8(static_cast<uint8_t>(byte));
  }
}

PackedFault unpack(ByteView packed, std::span<uint8_t> decisions) {
  for (size_t i = 0; i < packed.size(); ++i) {
    unsigned byte = packed[i];
    if (byte >= kStates) return PackedFault::kByte;
    const size_t end = std::min<size_t>(decisions.size(), (i + 1) * kPerByte);
    for (size_t at = i * kPerByte; at < end; ++at, byte /= 3) decisions[at] = static_cast<uint8_t>(byte % 3);
    if (byte != 0) return PackedFault::kPadding;
  }
  return PackedFault::kNone;
}

Bytes ovt_payload(const runtime::OvtLog& log) {
  ByteWriter writer;
  const runtime::OvtOutput* previous = nullptr;
  for (const auto& output : log.outputs) {
    ISOBIT_CHECK(previous == nullptr || previous->node < output.node ||
                 (previous->node == output.node && previous->output < output.output));
    previous = &output;
    writer.u32(output.node);
    writer.u32(output.output);
    writer.u64(output.decisions.size());
    write_packed(writer, output.decisions);
  }
  return writer.take();
}

uint64_t ovt_payload_size(Schema schema) {
  uint64_t size = 0;
  for (const auto& output : schema) size += 16 + packed_size(output.elements);
  return size;
}

Expected<runtime::OvtLog> decode_ovt_payload(ByteView payload, Schema schema, const std::string& what) {
  ByteReader reader(payload, what);
  runtime::OvtLog log;
  for (const auto& expected : schema) {
    ISOBIT_TRY(auto output, read_output(reader, expected, what));
    log.outputs.push_back(std::move(output));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return log;
}

}  // namespace isobit::verify::internal
