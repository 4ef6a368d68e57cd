#include <bit>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/verify/transcript.h"

namespace isobit::verify {
namespace {

constexpr std::string_view kLeafTag = "isobit.leaf";
constexpr uint32_t kLeafVersion = 2;

enum class Kind : uint8_t { kInitial = 0, kStep = 1, kFinal = 2 };

void write_loss(ByteWriter& writer, const LossBits& loss) {
  writer.u8(static_cast<uint8_t>(loss.dtype));
  writer.u64(loss.bits);
}

Expected<LossBits> read_loss(ByteReader& reader, const TranscriptRules& rules) {
  ISOBIT_TRY(const uint8_t dtype, reader.u8("loss dtype"));
  if (dtype != static_cast<uint8_t>(rules.loss_dtype)) {
    return reader.fail("loss dtype", text_of("found ", dtype, ", expected ", static_cast<uint8_t>(rules.loss_dtype),
                                             " (", name_of(rules.loss_dtype), ")"));
  }
  ISOBIT_TRY(const uint64_t bits, reader.u64("loss bits"));
  if (rules.loss_dtype == DType::kFloat32 && bits >> 32 != 0) {
    return reader.fail("loss bits", "the high half of a float32 is not zero");
  }
  return LossBits{rules.loss_dtype, bits};
}

Expected<std::optional<commit::Digest>> read_digest_if(ByteReader& reader, const char* field, bool expected) {
  ISOBIT_TRY(const bool present, reader.boolean(field));
  if (present != expected) {
    return reader.fail(field, text_of("is ", present ? "present" : "absent", ", expected it to be ",
                                      expected ? "present" : "absent", " in this leaf"));
  }
  std::optional<commit::Digest> digest;
  if (present) {
    ISOBIT_TRY(digest, commit::read_digest(reader, field));
  }
  return digest;
}

Expected<Leaf> read_step(ByteReader& reader, const TranscriptRules& rules) {
  StepLeaf leaf;
  ISOBIT_TRY(leaf.step, reader.u64("step"));
  if (leaf.step < 1 || leaf.step > rules.steps) {
    return reader.fail("step", text_of("found ", leaf.step, ", expected 1 to ", rules.steps));
  }
  ISOBIT_TRY(leaf.batch, commit::read_digest(reader, "batch"));
  ISOBIT_TRY(leaf.loss, read_loss(reader, rules));
  ISOBIT_TRY(leaf.log_segment, read_digest_if(reader, "log_segment", rules.logged));
  ISOBIT_TRY(leaf.state_root, read_digest_if(reader, "state_root", rules.has_state(leaf.step)));
  return Leaf(leaf);
}

Expected<Leaf> read_final(ByteReader& reader, const TranscriptRules& rules) {
  FinalLeaf leaf;
  ISOBIT_TRY(leaf.steps, reader.u64("steps"));
  if (leaf.steps != rules.steps) {
    return reader.fail("steps", text_of("found ", leaf.steps, ", expected ", rules.steps));
  }
  ISOBIT_TRY(leaf.state_root, commit::read_digest(reader, "state_root"));
  ISOBIT_TRY(leaf.evaluation, read_evaluation(reader));
  return Leaf(leaf);
}

}  // namespace

LossBits LossBits::of(float value) { return {DType::kFloat32, std::bit_cast<uint32_t>(value)}; }
LossBits LossBits::of(double value) { return {DType::kFloat64, std::bit_cast<uint64_t>(value)}; }
double LossBits::value() const {
  if (dtype == DType::kFloat64) return std::bit_cast<double>(bits);
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

Bytes encode(const Leaf& leaf) {
  ByteWriter writer;
  write_frame(writer, kLeafTag, kLeafVersion);
  if (const auto* initial = std::get_if<InitialLeaf>(&leaf)) {
    writer.u8(static_cast<uint8_t>(Kind::kInitial));
    writer.fixed(initial->job_root);
    writer.fixed(initial->state_root);
  } else if (const auto* step = std::get_if<StepLeaf>(&leaf)) {
    writer.u8(static_cast<uint8_t>(Kind::kStep));
    writer.u64(step->step);
    writer.fixed(step->batch);
    write_loss(writer, step->loss);
    commit::write_optional_digest(writer, step->log_segment);
    commit::write_optional_digest(writer, step->state_root);
  } else {
    const auto& final = std::get<FinalLeaf>(leaf);
    writer.u8(static_cast<uint8_t>(Kind::kFinal));
    writer.u64(final.steps);
    writer.fixed(final.state_root);
    write_evaluation(writer, final.evaluation);
  }
  ISOBIT_CHECK(writer.size() <= kMaxLeafBytes);
  return writer.take();
}

Expected<Leaf> decode_leaf(ByteView data, const TranscriptRules& rules, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kLeafTag, kLeafVersion));
  ISOBIT_TRY(const uint8_t kind, reader.u8("kind"));
  Leaf leaf;
  if (kind == static_cast<uint8_t>(Kind::kInitial)) {
    InitialLeaf initial;
    ISOBIT_TRY(initial.job_root, commit::read_digest(reader, "job_root"));
    ISOBIT_TRY(initial.state_root, commit::read_digest(reader, "state_root"));
    leaf = initial;
  } else if (kind == static_cast<uint8_t>(Kind::kStep)) {
    ISOBIT_TRY(leaf, read_step(reader, rules));
  } else if (kind == static_cast<uint8_t>(Kind::kFinal)) {
    ISOBIT_TRY(leaf, read_final(reader, rules));
  } else {
    return reader.fail("kind", text_of("found ", kind, ", expected 0 (initial), 1 (step) or 2 (final)"));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return leaf;
}

std::string describe(const Leaf& leaf) {
  if (std::holds_alternative<InitialLeaf>(leaf)) return "the initial leaf";
  if (const auto* step = std::get_if<StepLeaf>(&leaf)) return text_of("the leaf of step ", step->step);
  return "the final leaf";
}

}  // namespace isobit::verify
