// What a referee asks of the parties to a dispute.
#pragma once

#include <array>
#include <cstdint>

#include "isobit/commit/hash.h"
#include "isobit/dispute/bodies.h"
#include "isobit/dispute/descent.h"
#include "isobit/dispute/subject.h"

namespace isobit::dispute {

// In the order of Body's alternatives.
enum class Kind : uint8_t {
  kChallenge,
  kSteps,
  kValues,
  kTiles,
  kParts,
  kLeaf,
  kNode,
  kStates,
  kGrounds,
  kLoss,
  kBatch,
  kSample,
  kLog,
  kEntry,
  kOutputs,  // of an inference, in place of kChallenge and kSteps
  kSums,     // of an evaluation, in place of kSteps, and of a sample of it
  kGraph,
  kScore
};
inline std::string_view name_of(Kind kind) { return name_of_body(static_cast<size_t>(kind)); }
// Whether a body is one of the lists that grow with the interval, the network or the batch.
inline bool is_list(Kind kind) {
  return kind == Kind::kSteps || kind == Kind::kValues || kind == Kind::kBatch || kind == Kind::kGraph;
}

// What is to be answered next.
struct Question {
  uint64_t turn = 0;
  commit::Digest history{};
  Kind kind = Kind::kChallenge;
  std::array<bool, 2> asked = {};          // by Party
  uint64_t first_step = 0, last_step = 0;  // the interval: states after first_step are agreed
  uint64_t leaves = 0;                     // of the trainer's transcript, under the head that was shown
  uint64_t step = 0;                       // the disputed one, once that is known; and so on
  // In place of a step: the values are those of the evaluation of this sample, by the last state.
  bool of_evaluation = false;
  uint64_t sample = 0;
  uint64_t metric = 0;    // of the sample, in which its sums differ
  bool of_items = false;  // sums: of the values that make that one; else of all samples
  uint64_t entry = 0;
  bool of_states = false;  // tree, part or leaf of the element's states; else of the value's tiles
  Subtree part;            // to be shown in its parts, or the leaf
  int64_t element = 0;
  int64_t chunk = 0;
  bool operator==(const Question&) const = default;
};

}  // namespace isobit::dispute
