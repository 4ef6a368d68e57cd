#include "isobit/verify/step_trace.h"

#include <algorithm>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"

namespace isobit::verify {
namespace {

constexpr std::string_view kTraceTag = "isobit.step-trace", kLeafTag = "isobit.trace-value";
constexpr uint32_t kStepTraceVersion = 1;
constexpr uint64_t kMaxTraceProof = 1 << 13, kMaxTiles = 4096;

std::vector<commit::Digest> leaves_of(const std::vector<train::TraceEntry>& schema) {
  std::vector<commit::Digest> leaves;
  for (size_t i = 0; i < schema.size(); ++i) leaves.push_back(schema_leaf(schema[i], i));
  return leaves;
}

// What is called what in the error of a proof.
Expected<commit::Digest> root_by(const commit::InclusionProof& proof, const commit::Digest& leaf, const char* what) {
  const auto root = commit::inclusion_root(proof, leaf);
  if (root) return *root;
  return rejected(text_of("value ", proof.index, ", ", what, ": ", root.error().message));
}

}  // namespace

commit::Digest TraceRoot::digest() const {
  ByteWriter w;
  w.fixed(job_root);
  w.u64(step);
  w.u64(values.size);
  w.fixed(values.root);
  return commit::tagged_hash(kTraceTag, kStepTraceVersion, w.view());
}

commit::Digest trace_leaf(uint64_t index, const commit::Digest& tensor_root) {
  ByteWriter w;
  write_frame(w, kLeafTag, kStepTraceVersion);
  w.u64(index);
  w.fixed(tensor_root);
  return commit::leaf_hash(w.view());
}

StepTrace::StepTrace(const commit::Digest& job_root, uint64_t step, std::vector<train::TraceEntry> schema,
                     std::vector<commit::TensorRoot> roots)
    : job_root_(job_root),
      step_(step),
      schema_(std::move(schema)),
      roots_(std::move(roots)),
      schema_leaves_(leaves_of(schema_)) {
  ISOBIT_CHECK(roots_.size() == schema_.size());
  for (size_t i = 0; i < roots_.size(); ++i) leaves_.push_back(trace_leaf(i, roots_[i].digest()));
}

TraceRoot TraceList::root() const {
  std::vector<commit::Digest> leaves;
  for (size_t i = 0; i < tensor_roots.size(); ++i) leaves.push_back(trace_leaf(i, tensor_roots[i]));
  return {job_root, step, {leaves.size(), commit::merkle_root(leaves)}};
}

std::optional<uint64_t> TraceList::first_difference(const TraceList& other) const {
  ISOBIT_CHECK(job_root == other.job_root && step == other.step);
  const auto [here, there] = std::ranges::mismatch(tensor_roots, other.tensor_roots);
  if (here == tensor_roots.end() && there == other.tensor_roots.end()) return std::nullopt;
  return static_cast<uint64_t>(here - tensor_roots.begin());
}

namespace {

Bytes message_of(const TraceList& list, const TraceSignature& by) {
  return commit::signed_payload(kTraceListTag, list.job_root, by.run_id, by.key, list.tensor_roots.size(),
                                list.root().digest());
}

}  // namespace

void TraceList::sign(const commit::RunId& run_id, const commit::SecretKey& key) {
  signed_by = TraceSignature{run_id, key.public_key(), {}};
  signed_by->signature = key.sign(message_of(*this, *signed_by));
}

Status verify_trace_list(const TraceList& list, const Engagement& engagement) {
  if (!list.signed_by) return rejected("the list is not signed: nobody stands by it");
  const TraceSignature& by = *list.signed_by;
  if (by.run_id != engagement.terms.run_id || list.job_root != engagement.terms.job_root) {
    return rejected(text_of("the list is signed for the run ", to_hex(by.run_id), " of the job ",
                            commit::hex_of(list.job_root), ", expected ", to_hex(engagement.terms.run_id), " of ",
                            commit::hex_of(engagement.terms.job_root)));
  }
  if (!engagement.engages(by.key)) {
    return rejected(
        text_of("the list is signed by ", commit::hex_of(by.key), ", which is not among the engaged ", "trainer keys"));
  }
  if (!commit::verify(by.key, message_of(list, by), by.signature)) return rejected("the list's signature is not valid");
  return {};
}

TraceList StepTrace::list() const {
  TraceList list{job_root_, step_, {}};
  for (const commit::TensorRoot& root : roots_) list.tensor_roots.push_back(root.digest());
  return list;
}

TraceRoot StepTrace::root() const { return {job_root_, step_, {leaves_.size(), commit::merkle_root(leaves_)}}; }

ValueOpening ValueOpening::of(const StepTrace& trace, uint64_t index) {
  return {trace.job_root_,
          trace.step_,
          trace.schema_[index],
          commit::prove_inclusion(trace.schema_leaves_, index),
          commit::prove_inclusion(trace.leaves_, index),
          trace.roots_[index].tiles,
          {}};
}

commit::TensorRoot ValueOpening::tensor_root() const {
  return {commit::tensor_header(entry.name, entry.dtype, shape_of(entry), layout_of(entry)), tiles};
}

Expected<ValueOpening::Roots> ValueOpening::roots() const {
  if (in_schema.index != in_trace.index || in_schema.size != in_trace.size) {
    return rejected(text_of("value ", in_trace.index, " of ", in_trace.size, ": its entry is ", in_schema.index, " of ",
                            in_schema.size));
  }
  ISOBIT_TRY(const commit::Digest schema, root_by(in_schema, schema_leaf(entry, index()), "its entry"));
  const commit::TensorRoot tensor = tensor_root();
  ISOBIT_TRY(const commit::Digest values, root_by(in_trace, trace_leaf(index(), tensor.digest()), "its root"));
  for (const OpenedTile& tile : opened) {
    ISOBIT_RETURN_IF_ERROR(commit::verify_tile(tensor, entry.name, entry.dtype, shape_of(entry), layout_of(entry),
                                               tile.bytes, tile.inclusion));
  }
  return Roots{schema_digest({in_schema.size, schema}), TraceRoot{job_root, step, {in_trace.size, values}}.digest()};
}

ByteView elements_of(const OpenedTile& tile) { return ByteView(tile.bytes).subspan(commit::kTileHead); }

Bytes encode(const ValueOpening& o) {
  ByteWriter w;
  write_frame(w, kValueOpeningTag, kStepTraceVersion);
  w.fixed(o.job_root);
  w.u64(o.step);
  w.bytes(train::trace_entry_bytes(o.entry, o.index()));
  w.bytes(commit::encode(o.in_schema));
  w.bytes(commit::encode(o.in_trace));
  w.u64(o.tiles.size);
  w.fixed(o.tiles.root);
  w.u64(o.opened.size());
  for (const OpenedTile& tile : o.opened) {
    w.bytes(tile.bytes);
    w.bytes(commit::encode(tile.inclusion));
  }
  return w.take();
}

namespace {

Expected<commit::InclusionProof> read_proof(ByteReader& reader, const char* field, const std::string& what) {
  ISOBIT_TRY(const ByteView bytes, reader.bytes(field, kMaxTraceProof));
  return commit::decode_inclusion_proof(bytes, text_of(what, ", ", field));
}

}  // namespace

Bytes encode(const TraceList& list) {
  ByteWriter w;
  write_frame(w, kTraceListTag, kStepTraceVersion);
  w.fixed(list.job_root);
  w.u64(list.step);
  w.u64(list.tensor_roots.size());
  for (const commit::Digest& root : list.tensor_roots) w.fixed(root);
  w.boolean(list.signed_by.has_value());
  if (list.signed_by) {
    w.fixed(list.signed_by->run_id);
    w.fixed(list.signed_by->key.bytes);
    w.fixed(list.signed_by->signature.bytes);
  }
  return w.take();
}

Expected<TraceList> decode_trace_list(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  if (data.size() > kMaxTraceListBytes) return r.fail("size", text_of("is over ", kMaxTraceListBytes, " bytes"));
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kTraceListTag, kStepTraceVersion));
  TraceList list;
  ISOBIT_TRY(list.job_root, commit::read_digest(r, "job root"));
  ISOBIT_TRY(list.step, r.u64("step"));
  ISOBIT_TRY(const uint64_t count, r.u64("values"));
  if (count > r.remaining() / 32) {
    return r.fail("values", text_of("found ", r.remaining(), " bytes, expected ", count, " roots of 32"));
  }
  for (uint64_t i = 0; i < count; ++i) {
    ISOBIT_TRY(const commit::Digest root, commit::read_digest(r, "root"));
    list.tensor_roots.push_back(root);
  }
  ISOBIT_TRY(const bool is_signed, r.boolean("signed"));
  if (is_signed) {
    TraceSignature& by = list.signed_by.emplace();
    ISOBIT_TRY(by.run_id, commit::read_run_id(r, "run id"));
    ISOBIT_TRY(by.key, commit::read_key(r, "key"));
    ISOBIT_TRY(by.signature, commit::read_signature(r, "signature"));
  }
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return list;
}

Expected<ValueOpening> decode_value_opening(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  if (data.size() > kMaxOpeningBytes) return r.fail("size", text_of("is over ", kMaxOpeningBytes, " bytes"));
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kValueOpeningTag, kStepTraceVersion));
  ValueOpening o;
  ISOBIT_TRY(o.job_root, commit::read_digest(r, "job root"));
  ISOBIT_TRY(o.step, r.u64("step"));
  ISOBIT_TRY(const ByteView entry, r.bytes("entry", kMaxOpeningBytes));
  ISOBIT_TRY(o.in_schema, read_proof(r, "path of the entry", what));
  ISOBIT_TRY(o.in_trace, read_proof(r, "path of the value", what));
  ISOBIT_TRY(o.entry, decode_trace_entry(entry, o.index(), what + ", entry"));
  ISOBIT_TRY(o.tiles.size, r.u64("number of tiles"));
  ISOBIT_TRY(o.tiles.root, commit::read_digest(r, "root of the tiles"));
  ISOBIT_TRY(const uint64_t count, r.u64("number of opened tiles"));
  if (count > kMaxTiles)
    return r.fail("number of opened tiles", text_of("found ", count, ", expected at most ", kMaxTiles));
  for (uint64_t i = 0; i < count; ++i) {
    OpenedTile tile;
    ISOBIT_TRY(const ByteView bytes, r.bytes("tile", kMaxOpeningBytes));
    tile.bytes.assign(bytes.begin(), bytes.end());
    ISOBIT_TRY(tile.inclusion, read_proof(r, "path of a tile", what));
    o.opened.push_back(std::move(tile));
  }
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return o;
}

}  // namespace isobit::verify
