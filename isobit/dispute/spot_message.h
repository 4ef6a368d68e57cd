// What is asked and answered in a spot check (spot_check.h). Nobody signs questions; an answer is the body of a message
// of the trainer. Byte layout: docs/formats/dispute.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isobit/dispute/bodies.h"
#include "isobit/dispute/message.h"
#include "isobit/verify/step_trace.h"

namespace isobit::dispute {

struct SpotPlace {
  uint64_t entry = 0;  // of the schema
  int64_t element = 0;
  bool operator==(const SpotPlace&) const = default;
};

// Of a run kSteps and kValues come first, of an inference kInference.
enum class SpotStage : uint8_t { kSteps = 0, kValues = 1, kElement = 2, kChunk = 3, kInference = 4 };

struct SpotQuestion {
  uint64_t turn = 0;
  commit::Digest history{};  // of all questions and answers before
  SpotStage stage = SpotStage::kSteps;
  uint64_t step = 0;              // of kSteps: the last one of the interval; else the step that is checked
  std::vector<SpotPlace> places;  // of the first kElement, whose `at` is 0: all that was drawn; else empty
  uint64_t at = 0;                // of kElement and kChunk: which of them is to be shown
  uint64_t chunk = 0;             // of kChunk
  bool operator==(const SpotQuestion&) const = default;
};
inline constexpr uint64_t kMaxSpotDraws = 1 << 16;

Bytes encode(const SpotQuestion& question);
// Accepts exactly what encode() writes; kUnreadable otherwise.
Expected<SpotQuestion> decode_spot_question(ByteView data, const std::string& what);
// The history of the first question; what an answer's message has as its history, and what the next question has.
commit::Digest first_spot_history(const verify::EngagementTerms& terms);
commit::Digest spot_history_of(ByteView question);
commit::Digest spot_history_after(ByteView question, ByteView answer);

// --- Answers ---

struct SpotSteps {
  Challenge leaves;  // the states around the interval; nobody is challenged
  StepList steps;
};
struct SpotValues {
  verify::TraceList list;  // signed
  std::vector<train::TraceEntry> schema;
  LossShowing loss;
  BatchShowing batch;
};
struct SpotElement {
  ShownTiles claimed;                   // the tile that the element is in
  std::optional<SampleShowing> sample;  // of a part of the batch; of anything else:
  std::optional<NodeShowing> node;
  std::optional<Grounds> grounds;   // of an element of one chunk; of a longer sum:
  std::optional<StateTree> states;  // committed to before the chunk is drawn
};
struct SpotChunk {
  Grounds grounds;                   // with the state before, but for the first chunk
  Bytes behind;                      // the leaf of the state behind, as state_leaf() has it
  commit::InclusionProof inclusion;  // of that
};
struct SpotInference {
  verify::TraceList list;  // signed
  std::vector<train::TraceEntry> schema;
};
// In the order of SpotStage.
using SpotAnswer = std::variant<SpotSteps, SpotValues, SpotElement, SpotChunk, SpotInference>;

Bytes encode(const SpotAnswer& answer);
// Accepts exactly what encode() writes of an answer at that stage; kUnreadable otherwise. Checks no proof, and
// allocates nothing that the data do not hold.
Expected<SpotAnswer> decode_spot_answer(ByteView data, SpotStage stage, const verify::TranscriptRules& rules,
                                        const std::string& what);

}  // namespace isobit::dispute
