// OVT's log: every decision of every output, five to a byte.
#include <algorithm>

#include "isobit/log/packed.h"
#include "isobit/log/payload_internal.h"

namespace isobit::log::internal {
namespace {

std::string label(uint32_t node, uint32_t output) { return text_of("output ", output, " of node ", node); }

Expected<OvtOutput> read_output(ByteReader& reader, const LoggedOutput& expected, const std::string& what) {
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
  OvtOutput out{node, output, std::vector<uint8_t>(static_cast<size_t>(elements))};
  switch (unpack(packed, out.decisions)) {
    case PackedFault::kNone:
      break;
    case PackedFault::kByte:
      return reader.fail(
          "decisions",
          text_of("found byte ", *std::ranges::find_if(packed, [](unsigned b) { return b > kLargestPacked; }),
                  " for five decisions of ", label(node, output), ", expected at most ", kLargestPacked));
    case PackedFault::kPadding:
      return reader.fail("decisions",
                         text_of("the digits after the last decision of ", label(node, output), " are not zero"));
  }
  return out;
}

}  // namespace

Bytes ovt_payload(const OvtLog& log) {
  ByteWriter writer;
  const OvtOutput* previous = nullptr;
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

Expected<OvtLog> decode_ovt_payload(ByteView payload, Schema schema, const std::string& what) {
  ByteReader reader(payload, what);
  OvtLog log;
  for (const auto& expected : schema) {
    ISOBIT_TRY(auto output, read_output(reader, expected, what));
    log.outputs.push_back(std::move(output));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return log;
}

}  // namespace isobit::log::internal
