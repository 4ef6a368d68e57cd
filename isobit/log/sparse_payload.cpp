// isobit's own log: the few decisions that two platforms could make differently.
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "isobit/log/payload_internal.h"
#include "isobit/log/sorted_set_internal.h"

namespace isobit::log::internal {
namespace {

using EntryKind = SparseEntry::Kind;

// LEB128: seven bits a byte, lowest first, the top bit set where another byte follows.
void write_varint(ByteWriter& writer, uint64_t value) {
  for (; value >= 0x80; value >>= 7) writer.u8(static_cast<uint8_t>(value | 0x80));
  writer.u8(static_cast<uint8_t>(value));
}

Expected<uint64_t> read_varint(ByteReader& reader, const char* field) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    ISOBIT_TRY(const uint8_t byte, reader.u8(field));
    const uint64_t digit = byte & 0x7f;
    if (shift == 63 && (digit > 1 || byte >= 0x80)) return reader.fail(field, "the number is over 64 bits");
    value |= digit << shift;
    if (byte >= 0x80) continue;
    if (byte == 0 && shift > 0) return reader.fail(field, "the number has more bytes than it needs");
    return value;
  }
}

void write_node(ByteWriter& writer, const SparseNode& node) {
  std::vector<uint64_t> positions, value_indices;
  for (const auto& entry : node.entries) {
    ISOBIT_CHECK(positions.empty() || positions.back() < entry.position);
    ISOBIT_CHECK(entry.position < kMaxLimit && entry.kind <= EntryKind::kValue);
    ISOBIT_CHECK(entry.kind == EntryKind::kValue || std::bit_cast<uint32_t>(entry.value) == 0);
    if (entry.kind == EntryKind::kValue) value_indices.push_back(positions.size());
    positions.push_back(entry.position);
  }
  const unsigned rice = best_rice(positions);
  write_varint(writer, positions.size() - 1);
  writer.u8(static_cast<uint8_t>(rice));
  write_varint(writer, value_indices.size());
  BitWriter bits;
  write_sorted(bits, positions, rice);
  if (!value_indices.empty()) {
    const unsigned value_rice = best_rice(value_indices);
    writer.u8(static_cast<uint8_t>(value_rice));
    write_sorted(bits, value_indices, value_rice);
  }
  for (const auto& entry : node.entries) {
    if (entry.kind != EntryKind::kValue) bits.bits(static_cast<uint64_t>(entry.kind), 1);
  }
  writer.fixed(bits.take());
  for (const auto& entry : node.entries) {
    if (entry.kind == EntryKind::kValue) writer.f32(entry.value);
  }
}

// Reads the nodes of one payload, one after another.
class Decoder {
 public:
  Decoder(ByteView payload, Schema schema, const std::string& what)
      : payload_(payload), schema_(schema), what_(what), reader_(payload, what) {}

  Expected<SparseLog> log();

 private:
  struct NodeCounts {
    uint64_t entries = 0;
    uint64_t values = 0;
    unsigned rice = 0;
    unsigned value_rice = 0;
  };

  Expected<LoggedOutput> output();
  Expected<NodeCounts> counts(const LoggedOutput& output);
  Expected<unsigned> rice();
  Expected<std::vector<uint64_t>> set(BitReader& bits, const char* field, uint64_t count, uint64_t limit,
                                      unsigned rice);
  Expected<SparseNode> node();

  ByteView payload_;
  Schema schema_;
  const std::string& what_;
  ByteReader reader_;
  uint64_t next_node_ = 0;
};

Expected<LoggedOutput> Decoder::output() {
  ISOBIT_TRY(const uint64_t skipped, read_varint(reader_, "node"));
  const uint64_t most = std::numeric_limits<uint32_t>::max();
  if (next_node_ > most || skipped > most - next_node_) {
    return contradiction(what_, "node", text_of("found a node over ", most, ", expected one of the step graph"));
  }
  const uint64_t node = next_node_ + skipped;
  next_node_ = node + 1;
  const auto output = std::ranges::lower_bound(schema_, node, {}, &LoggedOutput::node);
  if (output == schema_.end() || output->node != node || output->output != 0) {
    return contradiction(what_, "node",
                         text_of("found entries of node ", node,
                                 ", expected a node whose output 0 the step graph logs: the log of another job"));
  }
  return *output;
}

Expected<unsigned> Decoder::rice() {
  ISOBIT_TRY(const uint8_t rice, reader_.u8("parameter"));
  if (rice > kMaxRice) return reader_.fail("parameter", text_of("found ", rice, ", expected at most ", kMaxRice));
  return rice;
}

Expected<Decoder::NodeCounts> Decoder::counts(const LoggedOutput& output) {
  NodeCounts c;
  ISOBIT_TRY(const uint64_t more, read_varint(reader_, "entries"));
  if (more >= output.elements) {
    return contradiction(what_, "entries",
                         text_of("found 1 + ", more, " entries of node ", output.node, ", expected at most ",
                                 output.elements, ", one for each element of its output"));
  }
  c.entries = more + 1;
  ISOBIT_TRY(c.rice, rice());
  ISOBIT_TRY(c.values, read_varint(reader_, "values"));
  if (c.values > c.entries) {
    return reader_.fail(
        "values", text_of("found ", c.values, ", expected at most the ", c.entries, " entries of node ", output.node));
  }
  if (c.values > 0) {
    ISOBIT_TRY(c.value_rice, rice());
  }
  return c;
}

Expected<std::vector<uint64_t>> Decoder::set(BitReader& bits, const char* field, uint64_t count, uint64_t limit,
                                             unsigned rice) {
  ReadSet set = read_sorted(bits, count, limit, rice);
  switch (set.fault) {
    case SetFault::kNone:
      break;
    case SetFault::kCut:
      return reader_.fail(field, text_of(count, " codes of at least ", rice + 1,
                                         " bits do not fit into the bytes left; the file is cut short"));
    case SetFault::kOutOfRange:
      return contradiction(what_, field,
                           text_of("found ", limit, " or more in entry ", set.numbers.size(), " of node ",
                                   next_node_ - 1, ", expected less than ", limit));
    case SetFault::kNotBest:
      return reader_.fail(field, text_of("found parameter ", rice, ", expected ", best_rice(set.numbers),
                                         ", which needs the fewest bits"));
  }
  return std::move(set.numbers);
}

Expected<SparseNode> Decoder::node() {
  ISOBIT_TRY(const auto output, this->output());
  ISOBIT_TRY(const NodeCounts c, counts(output));
  BitReader bits(payload_.subspan(reader_.offset()));
  ISOBIT_TRY(const auto positions, set(bits, "position", c.entries, output.elements, c.rice));
  ISOBIT_TRY(const auto values, set(bits, "index of a value", c.values, c.entries, c.value_rice));
  if (bits.remaining() / 8 < 4 * c.values || bits.remaining() < c.entries - c.values) {
    return reader_.fail("parity", text_of("the parities and values of node ", output.node,
                                          " do not fit into the bytes left; the file is cut short"));
  }
  SparseNode node{output.node, {}};
  node.entries.reserve(positions.size());
  for (const uint64_t position : positions) node.entries.push_back({position, EntryKind::kEven, 0});
  for (const uint64_t index : values) node.entries[static_cast<size_t>(index)].kind = EntryKind::kValue;
  for (auto& entry : node.entries) {
    if (entry.kind == EntryKind::kEven && bits.bits(1).value() == 1) entry.kind = EntryKind::kOdd;
  }
  if (!bits.zero_padding()) return reader_.fail("padding", "the bits after the last parity are not zero");
  ISOBIT_RETURN_IF_ERROR(reader_.fixed("position", bits.bytes_begun()));
  for (const uint64_t index : values) {
    ISOBIT_TRY(node.entries[static_cast<size_t>(index)].value, reader_.f32("value"));
  }
  return node;
}

Expected<SparseLog> Decoder::log() {
  ISOBIT_TRY(const uint64_t nodes, read_varint(reader_, "nodes"));
  if (nodes > schema_.size()) {
    return contradiction(
        what_, "nodes",
        text_of("found ", nodes, " nodes, expected at most the ", schema_.size(), " outputs that the step graph logs"));
  }
  SparseLog log;
  for (uint64_t i = 0; i < nodes; ++i) {
    ISOBIT_TRY(auto next, node());
    log.nodes.push_back(std::move(next));
  }
  ISOBIT_RETURN_IF_ERROR(reader_.finish());
  return log;
}

}  // namespace

Bytes sparse_payload(const SparseLog& log) {
  ByteWriter writer;
  write_varint(writer, log.nodes.size());
  uint64_t next_node = 0;
  for (const auto& node : log.nodes) {
    ISOBIT_CHECK(node.node >= next_node && !node.entries.empty());
    write_varint(writer, node.node - next_node);
    write_node(writer, node);
    next_node = uint64_t{node.node} + 1;
  }
  return writer.take();
}

uint64_t max_sparse_payload(Schema schema) {
  // Of a node: at most 10 + 10 + 1 + 10 + 1 bytes of numbers, and for each element of its output at most one bit of
  // gaps (parameter 0 never needs more), one of value indices and 32 of value.
  uint64_t size = 10;
  for (const auto& output : schema) size += 32 + 4 * output.elements + output.elements / 4 + 1;
  return size;
}

Expected<SparseLog> decode_sparse_payload(ByteView payload, Schema schema, const std::string& what) {
  return Decoder(payload, schema, what).log();
}

}  // namespace isobit::log::internal
