#include <cstring>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/dispute/shown_node.h"
#include "isobit/verify/tensor_type.h"

namespace isobit::dispute {
namespace {

constexpr std::string_view kShownNodeCodecTag = "isobit.shown-node";
constexpr uint32_t kShownNodeCodecVersion = 1;
constexpr uint64_t kMaxNodePart = 1 << 20, kMaxShownName = 1 << 16, kMaxShownPath = 1 << 16;

}  // namespace

void write(ByteWriter& w, const ShownConstant& c) {
  w.text(c.identity.name);
  verify::write_tensor_type(w, c.identity.dtype, c.identity.dims);
  w.u64(c.tiles.size);
  w.fixed(c.tiles.root);
  w.boolean(c.whole.has_value());
  if (c.whole) w.bytes(c.whole->byte_view());
}

Expected<ShownConstant> read_constant(ByteReader& r) {
  ShownConstant c;
  ISOBIT_TRY(c.identity.name, r.text("name of a constant", kMaxShownName));
  ISOBIT_TRY(verify::TensorType type, verify::read_tensor_type(r));
  c.identity.dtype = type.dtype;
  c.identity.dims = std::move(type.dims);
  c.identity.split = c.identity.dims.size() < 2 ? 0 : 1;
  ISOBIT_TRY(c.tiles.size, r.u64("number of tiles"));
  ISOBIT_TRY(c.tiles.root, commit::read_digest(r, "root of the tiles"));
  ISOBIT_TRY(const bool whole, r.boolean("whole"));
  if (!whole) return c;
  ISOBIT_TRY(const ByteView bytes, r.bytes("elements", ShownConstant::kMaxWhole));
  const uint64_t expected = static_cast<uint64_t>(type.elements) * size_of(c.identity.dtype);
  if (bytes.size() != expected) {
    return r.fail("elements", text_of("found ", bytes.size(), " bytes, expected ", expected));
  }
  c.whole = Tensor(c.identity.dtype, c.identity.shape());
  if (!bytes.empty()) std::memcpy(c.whole->raw(), bytes.data(), bytes.size());
  return c;
}

Bytes encode(const ShownNode& shown) {
  ByteWriter w;
  write_frame(w, kShownNodeCodecTag, kShownNodeCodecVersion);
  w.bytes(verify::encode(shown.node));
  w.u64(shown.producers.size());
  for (const verify::GraphNodeProof& p : shown.producers) w.bytes(verify::encode(p));
  w.boolean(shown.head.has_value());
  if (shown.head) w.bytes(verify::encode(*shown.head));
  w.u64(shown.constants.size());
  for (const auto& [id, constant] : shown.constants) {
    w.i64(id);
    write(w, constant);
  }
  w.u64(shown.frozen.size());
  for (const auto& [id, frozen] : shown.frozen) {
    w.i64(id);
    w.fixed(frozen.tensor_root);
    w.bytes(commit::encode(frozen.inclusion));
  }
  w.u64(shown.tensors.size());
  for (const auto& [name, tensor] : shown.tensors) {
    w.text(name);
    write(w, tensor);
  }
  return w.take();
}

Expected<ShownNode> decode_shown_node(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kShownNodeCodecTag, kShownNodeCodecVersion));
  ShownNode shown;
  ISOBIT_TRY(const ByteView node, r.bytes("node", kMaxNodePart));
  ISOBIT_TRY(shown.node, verify::decode_graph_node_proof(node, what + ", node"));
  ISOBIT_TRY(const uint64_t producers, r.u64("producers"));
  for (uint64_t i = 0; i < producers; ++i) {
    ISOBIT_TRY(const ByteView bytes, r.bytes("producer", kMaxNodePart));
    ISOBIT_TRY(verify::GraphNodeProof producer, verify::decode_graph_node_proof(bytes, what + ", producer"));
    if (i > 0 && shown.producers.back().node.index >= producer.node.index) {
      return r.fail("producer", "the producers are not in the order of the graph");
    }
    shown.producers.push_back(std::move(producer));
  }
  ISOBIT_TRY(const bool has_head, r.boolean("head"));
  if (has_head) {
    ISOBIT_TRY(const ByteView head, r.bytes("head", kMaxNodePart));
    ISOBIT_TRY(shown.head, verify::decode_graph_head(head, what + ", head"));
  }
  ISOBIT_TRY(const uint64_t constants, r.u64("constants"));
  for (uint64_t i = 0; i < constants; ++i) {
    ISOBIT_TRY(const int64_t id, r.i64("value"));
    ISOBIT_TRY(ShownConstant constant, read_constant(r));
    ISOBIT_RETURN_IF_ERROR(insert_next(r, shown.constants, id, std::move(constant)));
  }
  ISOBIT_TRY(const uint64_t frozen, r.u64("frozen"));
  for (uint64_t i = 0; i < frozen; ++i) {
    ISOBIT_TRY(const int64_t id, r.i64("value"));
    ShownFrozen one;
    ISOBIT_TRY(one.tensor_root, commit::read_digest(r, "tensor root"));
    ISOBIT_TRY(const ByteView proof, r.bytes("path", kMaxShownPath));
    ISOBIT_TRY(one.inclusion, commit::decode_inclusion_proof(proof, what + ", path"));
    ISOBIT_RETURN_IF_ERROR(insert_next(r, shown.frozen, id, std::move(one)));
  }
  ISOBIT_TRY(const uint64_t tensors, r.u64("tensors"));
  for (uint64_t i = 0; i < tensors; ++i) {
    ISOBIT_TRY(std::string name, r.text("attribute", kMaxShownName));
    ISOBIT_TRY(ShownConstant tensor, read_constant(r));
    ISOBIT_RETURN_IF_ERROR(insert_next(r, shown.tensors, std::move(name), std::move(tensor)));
  }
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return shown;
}

}  // namespace isobit::dispute
