#include "isobit/dispute/spot_message.h"

#include <array>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/dispute/question.h"
#include "isobit/verify/schema.h"

namespace isobit::dispute {
namespace {

constexpr std::string_view kQuestionTag = "isobit.spot.question", kHistoryTag = "isobit.spot.history";
constexpr std::array<std::string_view, std::variant_size_v<SpotAnswer>> kTags = {
    "isobit.spot.steps", "isobit.spot.values", "isobit.spot.element", "isobit.spot.chunk", "isobit.spot.inference"};
constexpr uint32_t kSpotMessageVersion = 1, kQuestionVersion = 2;
constexpr uint64_t kMaxLeaf = 1 << 16, kMaxProof = 1 << 13;

void write_part(ByteWriter& w, const Body& body) { w.bytes(encode(body)); }

template <class Part>
void write_if_there(ByteWriter& w, const std::optional<Part>& part) {
  w.boolean(part.has_value());
  if (part) write_part(w, *part);
}

// A part that is encoded as a body of a dispute.
class PartReader {
 public:
  PartReader(ByteReader& r, const verify::TranscriptRules& rules, const std::string& what)
      : r_(r), rules_(rules), what_(what) {}

  template <class Part>
  Expected<Part> read(Kind kind, const char* field) {
    ISOBIT_TRY(const ByteView bytes, r_.bytes(field, r_.remaining()));
    ISOBIT_TRY(Body body, decode_body(bytes, static_cast<size_t>(kind), rules_, what_ + ", " + field));
    return std::get<Part>(std::move(body));
  }
  template <class Part>
  Status read_if_there(Kind kind, const char* field, std::optional<Part>& part) {
    ISOBIT_TRY(const bool there, r_.boolean(field));
    if (!there) return {};
    ISOBIT_TRY(part, read<Part>(kind, field));
    return {};
  }

 private:
  ByteReader& r_;
  const verify::TranscriptRules& rules_;
  const std::string& what_;
};

void write_answer(ByteWriter& w, const SpotSteps& a) {
  write_part(w, a.leaves);
  write_part(w, a.steps);
}

void write_answer(ByteWriter& w, const SpotValues& a) {
  w.bytes(verify::encode(a.list));
  w.bytes(verify::encode_schema(a.schema));
  write_part(w, a.loss);
  write_part(w, a.batch);
}

void write_answer(ByteWriter& w, const SpotElement& a) {
  write(w, a.claimed);
  write_if_there(w, a.sample);
  write_if_there(w, a.node);
  write_if_there(w, a.grounds);
  write_if_there(w, a.states);
}

void write_answer(ByteWriter& w, const SpotChunk& a) {
  write_part(w, a.grounds);
  w.bytes(a.behind);
  w.bytes(commit::encode(a.inclusion));
}

void write_answer(ByteWriter& w, const SpotInference& a) {
  w.bytes(verify::encode(a.list));
  w.bytes(verify::encode_schema(a.schema));
}

// A list that is signed, and the schema that it is of.
template <class Answer>
Status read_list(ByteReader& r, const std::string& what, Answer& a) {
  ISOBIT_TRY(const ByteView list, r.bytes("list", verify::kMaxTraceListBytes));
  ISOBIT_TRY(a.list, verify::decode_trace_list(list, what + ", list"));
  if (!a.list.signed_by) return r.fail("list", "is not signed");
  ISOBIT_TRY(const ByteView schema, r.bytes("schema", verify::kMaxSchemaBytes));
  ISOBIT_TRY(a.schema, verify::decode_schema(schema, what + ", schema"));
  return {};
}

Expected<SpotAnswer> read_steps(PartReader& parts) {
  SpotSteps a;
  ISOBIT_TRY(a.leaves, parts.read<Challenge>(Kind::kChallenge, "leaves"));
  ISOBIT_TRY(a.steps, parts.read<StepList>(Kind::kSteps, "steps"));
  return a;
}

Expected<SpotAnswer> read_values(ByteReader& r, PartReader& parts, const std::string& what) {
  SpotValues a;
  ISOBIT_RETURN_IF_ERROR(read_list(r, what, a));
  ISOBIT_TRY(a.loss, parts.read<LossShowing>(Kind::kLoss, "loss"));
  ISOBIT_TRY(a.batch, parts.read<BatchShowing>(Kind::kBatch, "batch"));
  return a;
}

Expected<SpotAnswer> read_element(ByteReader& r, PartReader& parts, const std::string& what) {
  SpotElement a;
  ISOBIT_TRY(a.claimed, read_shown_tiles(r, what));
  ISOBIT_RETURN_IF_ERROR(parts.read_if_there(Kind::kSample, "sample", a.sample));
  ISOBIT_RETURN_IF_ERROR(parts.read_if_there(Kind::kNode, "node", a.node));
  ISOBIT_RETURN_IF_ERROR(parts.read_if_there(Kind::kGrounds, "grounds", a.grounds));
  ISOBIT_RETURN_IF_ERROR(parts.read_if_there(Kind::kStates, "states", a.states));
  return a;
}

Expected<SpotAnswer> read_chunk(ByteReader& r, PartReader& parts, const std::string& what) {
  SpotChunk a;
  ISOBIT_TRY(a.grounds, parts.read<Grounds>(Kind::kGrounds, "grounds"));
  ISOBIT_TRY(const ByteView behind, r.bytes("state behind", kMaxLeaf));
  a.behind.assign(behind.begin(), behind.end());
  ISOBIT_TRY(const ByteView path, r.bytes("path", kMaxProof));
  ISOBIT_TRY(a.inclusion, commit::decode_inclusion_proof(path, what + ", path"));
  return a;
}

Expected<SpotAnswer> read_answer(ByteReader& r, SpotStage stage, const verify::TranscriptRules& rules,
                                 const std::string& what) {
  PartReader parts(r, rules, what);
  switch (stage) {
    case SpotStage::kSteps:
      return read_steps(parts);
    case SpotStage::kValues:
      return read_values(r, parts, what);
    case SpotStage::kElement:
      return read_element(r, parts, what);
    case SpotStage::kInference: {
      SpotInference a;
      ISOBIT_RETURN_IF_ERROR(read_list(r, what, a));
      return a;
    }
    case SpotStage::kChunk:
      break;
  }
  return read_chunk(r, parts, what);
}

bool asks_of_a_place(SpotStage stage) { return stage == SpotStage::kElement || stage == SpotStage::kChunk; }
// Once: each later question has all before it in its history.
bool lists_places(const SpotQuestion& q) { return q.stage == SpotStage::kElement && q.at == 0; }

Status read_places(ByteReader& r, SpotQuestion& q) {
  ISOBIT_TRY(const uint64_t places, r.u64("places"));
  if (places < 1 || places > kMaxSpotDraws || places > r.remaining() / 16) {
    return r.fail("places", text_of("found ", places, ", expected 1 to ", kMaxSpotDraws, " of 16 bytes"));
  }
  for (uint64_t i = 0; i < places; ++i) {
    SpotPlace p;
    ISOBIT_TRY(p.entry, r.u64("entry"));
    ISOBIT_TRY(p.element, r.i64("element"));
    q.places.push_back(p);
  }
  return {};
}

}  // namespace

Bytes encode(const SpotQuestion& q) {
  ByteWriter w;
  write_frame(w, kQuestionTag, kQuestionVersion);
  w.u64(q.turn);
  w.fixed(q.history);
  w.u8(static_cast<uint8_t>(q.stage));
  w.u64(q.step);
  if (!asks_of_a_place(q.stage)) return w.take();
  w.u64(q.at);
  if (lists_places(q)) {
    w.u64(q.places.size());
    for (const SpotPlace& p : q.places) {
      w.u64(p.entry);
      w.i64(p.element);
    }
  }
  if (q.stage == SpotStage::kChunk) w.u64(q.chunk);
  return w.take();
}

Expected<SpotQuestion> decode_spot_question(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kQuestionTag, kQuestionVersion));
  SpotQuestion q;
  ISOBIT_TRY(q.turn, r.u64("turn"));
  ISOBIT_TRY(q.history, commit::read_digest(r, "history"));
  ISOBIT_TRY(const uint8_t stage, r.u8("stage"));
  if (stage > static_cast<uint8_t>(SpotStage::kInference))
    return r.fail("stage", text_of("found ", int{stage}, ", expected 0 to 4"));
  q.stage = static_cast<SpotStage>(stage);
  ISOBIT_TRY(q.step, r.u64("step"));
  if (asks_of_a_place(q.stage)) {
    ISOBIT_TRY(q.at, r.u64("at"));
    if (q.at >= kMaxSpotDraws) return r.fail("at", text_of("found ", q.at, ", expected less than ", kMaxSpotDraws));
    if (lists_places(q)) ISOBIT_RETURN_IF_ERROR(read_places(r, q));
  }
  if (q.stage == SpotStage::kChunk) {
    ISOBIT_TRY(q.chunk, r.u64("chunk"));
  }
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return q;
}

commit::Digest first_spot_history(const verify::EngagementTerms& terms) {
  ByteWriter w;
  w.fixed(terms.job_root);
  w.fixed(terms.run_id);
  return commit::tagged_hash(kHistoryTag, kSpotMessageVersion, w.view());
}

commit::Digest spot_history_of(ByteView question) {
  return commit::tagged_hash(kQuestionTag, kSpotMessageVersion, question);
}

commit::Digest spot_history_after(ByteView question, ByteView answer) {
  ByteWriter w;
  w.fixed(spot_history_of(question));
  w.fixed(commit::sha256(answer));
  return commit::tagged_hash(kHistoryTag, kSpotMessageVersion, w.view());
}

Bytes encode(const SpotAnswer& answer) {
  ByteWriter w;
  write_frame(w, kTags[answer.index()], kSpotMessageVersion);
  std::visit([&w](const auto& a) { write_answer(w, a); }, answer);
  return w.take();
}

Expected<SpotAnswer> decode_spot_answer(ByteView data, SpotStage stage, const verify::TranscriptRules& rules,
                                        const std::string& what) {
  ByteReader r(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kTags[static_cast<size_t>(stage)], kSpotMessageVersion));
  ISOBIT_TRY(SpotAnswer answer, read_answer(r, stage, rules, what));
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return answer;
}

}  // namespace isobit::dispute
