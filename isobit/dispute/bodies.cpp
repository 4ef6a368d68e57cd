#include "isobit/dispute/bodies.h"

#include <array>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/verify/schema.h"

namespace isobit::dispute {
namespace {

constexpr uint32_t kBodiesVersion = 1;
constexpr auto kTags = std::to_array<std::string_view>(
    {"isobit.dispute.challenge", "isobit.dispute.steps", "isobit.dispute.values", "isobit.dispute.tiles",
     "isobit.dispute.parts", "isobit.dispute.leaf", "isobit.dispute.node", "isobit.dispute.states",
     "isobit.dispute.grounds", "isobit.dispute.loss", "isobit.dispute.batch", "isobit.dispute.sample",
     "isobit.dispute.log", "isobit.dispute.entry", "isobit.dispute.outputs", "isobit.dispute.sums",
     "isobit.dispute.graph", "isobit.dispute.score"});
static_assert(kTags.size() == std::variant_size_v<Body>);
constexpr std::string_view kStateTag = "isobit.dispute.state";
constexpr uint64_t kMaxProof = 1 << 13, kMaxMultiProof = 1 << 26, kMaxLeaf = 1 << 16, kMaxPart = 1 << 20,
                   kMaxWords = 1 << 12, kMaxChunkProof = 1 << 18;

void write(ByteWriter& w, const commit::SizedRoot& root) {
  w.u64(root.size);
  w.fixed(root.root);
}

Expected<commit::SizedRoot> read_sized_root(ByteReader& r, const char* field) {
  commit::SizedRoot root;
  ISOBIT_TRY(root.size, r.u64(field));
  ISOBIT_TRY(root.root, commit::read_digest(r, field));
  return root;
}

Expected<commit::InclusionProof> read_inclusion(ByteReader& r, const std::string& what) {
  ISOBIT_TRY(const ByteView bytes, r.bytes("path", kMaxProof));
  return commit::decode_inclusion_proof(bytes, what + ", path");
}

void write(ByteWriter& w, const std::vector<commit::Digest>& roots) {
  w.u64(roots.size());
  for (const commit::Digest& root : roots) w.fixed(root);
}

Expected<std::vector<commit::Digest>> read_roots(ByteReader& r) {
  ISOBIT_TRY(const uint64_t count, r.u64("roots"));
  if (count > r.remaining() / 32) {
    return r.fail("roots", text_of("found ", r.remaining(), " bytes, expected ", count, " roots of 32"));
  }
  std::vector<commit::Digest> roots(static_cast<size_t>(count));
  for (commit::Digest& root : roots) {
    ISOBIT_TRY(root, commit::read_digest(r, "root"));
  }
  return roots;
}

void write_state(ByteWriter& w, const judge::State& state) {
  w.u64(state.size());
  for (const uint64_t word : state) w.u64(word);
}

Expected<judge::State> read_state(ByteReader& r) {
  ISOBIT_TRY(const uint64_t count, r.u64("words"));
  if (count > kMaxWords || count > r.remaining() / 8) {
    return r.fail("words", text_of("found ", count, ", expected at most ", std::min(kMaxWords, r.remaining() / 8)));
  }
  judge::State state(static_cast<size_t>(count));
  for (uint64_t& word : state) {
    ISOBIT_TRY(word, r.u64("word"));
  }
  return state;
}

void write(ByteWriter& w, const ShownLeaf& shown) {
  w.bytes(verify::encode(shown.leaf));
  w.bytes(commit::encode(shown.inclusion));
}

Expected<ShownLeaf> read_leaf(ByteReader& r, const verify::TranscriptRules& rules, const std::string& what) {
  ISOBIT_TRY(const ByteView bytes, r.bytes("leaf", verify::kMaxLeafBytes));
  ISOBIT_TRY(verify::Leaf leaf, verify::decode_leaf(bytes, rules, what + ", leaf"));
  ISOBIT_TRY(commit::InclusionProof inclusion, read_inclusion(r, what));
  return ShownLeaf{std::move(leaf), std::move(inclusion)};
}

void write_body(ByteWriter& w, const Challenge& c) {
  w.bytes(verify::encode(c.parts));
  w.bytes(verify::encode(c.head));
  write(w, c.before);
  write(w, c.behind);
  if (!c.evaluation) return;
  verify::write_evaluation(w, c.evaluation->evaluation);
  w.u64(c.evaluation->graphs.size());
  for (const verify::ScoredGraph& g : c.evaluation->graphs) {
    w.i64(g.batch);
    w.fixed(g.root);
  }
}

void write_body(ByteWriter& w, const StepList& list) {
  w.u64(list.points.size());
  for (const StepPoint& p : list.points) {
    w.fixed(p.batch);
    w.u8(static_cast<uint8_t>(p.loss.dtype));
    w.u64(p.loss.bits);
    w.boolean(p.log_segment.has_value());
    if (p.log_segment) w.fixed(*p.log_segment);
    w.fixed(p.state_root);
  }
  w.boolean(list.in_transcript.has_value());
  if (list.in_transcript) w.bytes(commit::encode(*list.in_transcript));
}

void write_body(ByteWriter& w, const ValueList& list) {
  write(w, list.roots);
  w.boolean(list.schema.has_value());
  if (list.schema) w.bytes(verify::encode_schema(*list.schema));
}

void write_body(ByteWriter& w, const TileTree& tree) { write(w, tree.tiles); }
void write_body(ByteWriter& w, const PartRoots& parts) { write(w, parts.roots); }
void write_body(ByteWriter& w, const OutputClaims& b) { write(w, b.roots); }
void write_body(ByteWriter& w, const LeafShowing& leaf) { w.bytes(leaf.leaf); }

void write_body(ByteWriter& w, const NodeShowing& showing) {
  w.bytes(encode(showing.node));
  write(w, showing.guides);
}

void write_body(ByteWriter& w, const StateTree& tree) {
  write(w, tree.states);
  write_state(w, tree.last);
  w.bytes(commit::encode(tree.inclusion));
}

void write_body(ByteWriter& w, const Grounds& grounds) {
  write(w, grounds.shown);
  w.boolean(grounds.before.has_value());
  if (!grounds.before) return;
  write_state(w, *grounds.before);
  w.bytes(commit::encode(grounds.inclusion));
}

void write_body(ByteWriter& w, const LossShowing& showing) {
  w.bytes(verify::encode(showing.producer));
  w.bytes(verify::encode(showing.head));
  write(w, showing.loss);
}

void write_body(ByteWriter& w, const BatchShowing& showing) { w.bytes(verify::encode(showing.leaves)); }
void write_body(ByteWriter& w, const SampleShowing& showing) { w.bytes(verify::encode(showing.sample)); }

void write_body(ByteWriter& w, const SumsShowing& showing) { write(w, showing); }
void write_body(ByteWriter& w, const GraphShowing& showing) { write(w, showing); }
void write_body(ByteWriter& w, const ScoreShowing& showing) { write(w, showing.shown); }

void write_body(ByteWriter& w, const LogShowing& showing) { w.bytes(verify::encode(showing.entry)); }

void write_body(ByteWriter& w, const Accusation& accusation) {
  w.bytes(verify::encode(accusation.chunk));
  w.u32(accusation.place);
}

Expected<Body> read_challenge(ByteReader& r, const verify::TranscriptRules& rules, const std::string& what) {
  Challenge c;
  ISOBIT_TRY(const ByteView parts, r.bytes("parts of the job root", kMaxProof));
  ISOBIT_TRY(c.parts, verify::decode_job_root_parts(parts, what + ", parts of the job root"));
  ISOBIT_TRY(const ByteView head, r.bytes("head", kMaxProof));
  ISOBIT_TRY(c.head, verify::decode_head(head, what + ", head"));
  ISOBIT_TRY(c.before, read_leaf(r, rules, what));
  ISOBIT_TRY(c.behind, read_leaf(r, rules, what));
  if (r.remaining() == 0) return c;
  c.evaluation.emplace();
  ISOBIT_TRY(c.evaluation->evaluation, verify::read_evaluation(r));
  ISOBIT_TRY(const uint64_t graphs, r.u64("graphs"));
  if (graphs > r.remaining() / 40) {
    return r.fail("graphs", text_of("found ", r.remaining(), " bytes, expected ", graphs, " graphs of 40"));
  }
  for (uint64_t i = 0; i < graphs; ++i) {
    verify::ScoredGraph g;
    ISOBIT_TRY(g.batch, r.i64("batch"));
    ISOBIT_TRY(g.root, commit::read_digest(r, "graph"));
    c.evaluation->graphs.push_back(g);
  }
  return c;
}

Expected<Body> read_steps(ByteReader& r, const verify::TranscriptRules& rules, const std::string& what) {
  StepList list;
  ISOBIT_TRY(const uint64_t count, r.u64("steps"));
  constexpr uint64_t kLeast = 32 + 9 + 1 + 32;
  if (count > r.remaining() / kLeast) {
    return r.fail("steps", text_of("found ", r.remaining(), " bytes, expected ", count, " steps"));
  }
  for (uint64_t i = 0; i < count; ++i) {
    StepPoint p;
    ISOBIT_TRY(p.batch, commit::read_digest(r, "batch"));
    ISOBIT_TRY(const uint8_t dtype, r.u8("loss dtype"));
    if (dtype != static_cast<uint8_t>(rules.loss_dtype)) return r.fail("loss dtype", "is another one than the job's");
    ISOBIT_TRY(const uint64_t bits, r.u64("loss bits"));
    p.loss = {rules.loss_dtype, bits};
    ISOBIT_TRY(const bool logged, r.boolean("log_segment"));
    if (logged != rules.logged) return r.fail("log_segment", "is there where the job has none, or is missing");
    if (logged) {
      ISOBIT_TRY(p.log_segment, commit::read_digest(r, "log_segment"));
    }
    ISOBIT_TRY(p.state_root, commit::read_digest(r, "state_root"));
    list.points.push_back(p);
  }
  ISOBIT_TRY(const bool shown, r.boolean("in the transcript"));
  if (shown) {
    ISOBIT_TRY(const ByteView proof, r.bytes("in the transcript", kMaxMultiProof));
    ISOBIT_TRY(list.in_transcript, commit::decode_multi_proof(proof, what + ", in the transcript"));
  }
  return list;
}

Expected<Body> read_values(ByteReader& r, const std::string& what) {
  ValueList list;
  ISOBIT_TRY(list.roots, read_roots(r));
  ISOBIT_TRY(const bool schema, r.boolean("schema"));
  if (schema) {
    ISOBIT_TRY(const ByteView bytes, r.bytes("schema", verify::kMaxSchemaBytes));
    ISOBIT_TRY(list.schema, verify::decode_schema(bytes, what + ", schema"));
  }
  return list;
}

Expected<Body> read_node(ByteReader& r, const std::string& what) {
  NodeShowing showing;
  ISOBIT_TRY(const ByteView node, r.bytes("node", kMaxPart));
  ISOBIT_TRY(showing.node, decode_shown_node(node, what + ", node"));
  ISOBIT_TRY(showing.guides, read_parts(r, what));
  return showing;
}

Expected<Body> read_states(ByteReader& r, const std::string& what) {
  StateTree tree;
  ISOBIT_TRY(tree.states, read_sized_root(r, "states"));
  ISOBIT_TRY(tree.last, read_state(r));
  ISOBIT_TRY(tree.inclusion, read_inclusion(r, what));
  return tree;
}

Expected<Body> read_grounds(ByteReader& r, const std::string& what) {
  Grounds grounds;
  ISOBIT_TRY(grounds.shown, read_parts(r, what));
  ISOBIT_TRY(const bool before, r.boolean("state before"));
  if (!before) return grounds;
  ISOBIT_TRY(grounds.before, read_state(r));
  ISOBIT_TRY(grounds.inclusion, read_inclusion(r, what));
  return grounds;
}

Expected<Body> read_loss(ByteReader& r, const std::string& what) {
  LossShowing showing;
  ISOBIT_TRY(const ByteView producer, r.bytes("node", kMaxPart));
  ISOBIT_TRY(showing.producer, verify::decode_graph_node_proof(producer, what + ", node"));
  ISOBIT_TRY(const ByteView head, r.bytes("head", kMaxPart));
  ISOBIT_TRY(showing.head, verify::decode_graph_head(head, what + ", head"));
  ISOBIT_TRY(showing.loss, read_shown_tiles(r, what));
  return showing;
}

Expected<Body> read_body(ByteReader& r, size_t expected, const verify::TranscriptRules& rules,
                         const std::string& what) {
  switch (expected) {
    case 0:
      return read_challenge(r, rules, what);
    case 1:
      return read_steps(r, rules, what);
    case 2:
      return read_values(r, what);
    case 3:
      return read_sized_root(r, "tiles").map([](commit::SizedRoot root) { return Body(TileTree{root}); });
    case 4:
      return read_roots(r).map([](std::vector<commit::Digest> roots) { return Body(PartRoots{std::move(roots)}); });
    case 5:
      return r.bytes("leaf", kMaxLeaf).map([](ByteView leaf) {
        return Body(LeafShowing{Bytes(leaf.begin(), leaf.end())});
      });
    case 6:
      return read_node(r, what);
    case 7:
      return read_states(r, what);
    case 8:
      return read_grounds(r, what);
    case 9:
      return read_loss(r, what);
    case 10: {
      ISOBIT_TRY(const ByteView leaves, r.bytes("leaves", verify::kMaxShownLeavesBytes));
      return verify::decode_shown_leaves(leaves, what).map([](auto shown) {
        return Body(BatchShowing{std::move(shown)});
      });
    }
    case 11: {
      ISOBIT_TRY(const ByteView sample, r.bytes("sample", verify::kMaxShownSampleBytes));
      return verify::decode_shown_sample(sample, what).map([](auto shown) {
        return Body(SampleShowing{std::move(shown)});
      });
    }
    case 12: {
      ISOBIT_TRY(const ByteView entry, r.bytes("entry", kMaxChunkProof));
      return verify::decode_log_absence_proof(entry, what).map([](auto shown) {
        return Body(LogShowing{std::move(shown)});
      });
    }
    case 13: {
      Accusation accusation;
      ISOBIT_TRY(const ByteView chunk, r.bytes("chunk", kMaxChunkProof));
      ISOBIT_TRY(accusation.chunk, verify::decode_log_chunk_proof(chunk, what));
      ISOBIT_TRY(accusation.place, r.u32("place"));
      return accusation;
    }
    case 15:
      return read_sums_showing(r, what).map([](SumsShowing shown) { return Body(std::move(shown)); });
    case 16:
      return read_graph_showing(r, what).map([](GraphShowing shown) { return Body(std::move(shown)); });
    case 17:
      return read_parts(r, what).map([](auto shown) { return Body(ScoreShowing{std::move(shown)}); });
    default:
      return read_roots(r).map([](std::vector<commit::Digest> roots) { return Body(OutputClaims{std::move(roots)}); });
  }
}

}  // namespace

std::string_view name_of_body(size_t alternative) {
  const std::string_view tag = kTags[alternative];
  return tag.substr(tag.rfind('.') + 1);
}

Bytes encode(const Body& body) {
  ByteWriter w;
  write_frame(w, kTags[body.index()], kBodiesVersion);
  std::visit([&w](const auto& b) { write_body(w, b); }, body);
  return w.take();
}

Expected<Body> decode_body(ByteView data, size_t expected, const verify::TranscriptRules& rules,
                           const std::string& what) {
  ISOBIT_CHECK(expected < kTags.size());
  ByteReader r(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kTags[expected], kBodiesVersion));
  ISOBIT_TRY(Body body, read_body(r, expected, rules, what));
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return body;
}

Bytes state_leaf(uint64_t chunk, const judge::State& state) {
  ByteWriter w;
  write_frame(w, kStateTag, kBodiesVersion);
  w.u64(chunk);
  write_state(w, state);
  return w.take();
}

Expected<judge::State> read_state_leaf(ByteView leaf, uint64_t chunk, const std::string& what) {
  ByteReader r(leaf, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kStateTag, kBodiesVersion));
  ISOBIT_TRY(const uint64_t found, r.u64("chunk"));
  if (found != chunk) return r.fail("chunk", text_of("found ", found, ", expected ", chunk));
  ISOBIT_TRY(judge::State state, read_state(r));
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return state;
}

}  // namespace isobit::dispute
