// How a dispute ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "isobit/dispute/subject.h"
#include "isobit/judge/question.h"

namespace isobit::dispute {

enum class Outcome : uint8_t {
  kTrainerWrong = 0,
  kChallengerWrong = 1,
  kBothWrong = 2,
  kTrainerForfeits = 3,  // did not answer in time: that says nothing of who computed wrongly
  kChallengerForfeits = 4,
  kBothForfeit = 5,
  kNobodyWrong = 6,  // both values are ones that somebody honest may have: the challenge failed
};
inline constexpr Outcome kLastOutcome = Outcome::kNobodyWrong;
inline bool is_forfeit(Outcome outcome) {
  return outcome >= Outcome::kTrainerForfeits && outcome <= Outcome::kBothForfeit;
}
const char* name_of(Outcome outcome);  // "trainer wrong", ..., "forfeit (trainer)", ..., "nobody wrong"

// How far down the dispute came; or that it was settled by how a party behaved in it.
enum class Level : uint8_t {
  kRun = 0,
  kStep = 1,
  kTrace = 2,
  kValue = 3,
  kElement = 4,
  kSum = 5,
  kConduct = 6,
  kLog = 7
};
const char* name_of(Level level);  // "run", "step", "trace", "value", "element", "partial sum", "conduct", "log"

// What the parties say that one element is, and what it is. At Level::kLog, where they say the same: what the trainer's
// log says that it is.
struct DisputedElement {
  int64_t element = 0;  // of the value, row-major
  judge::Bits trainer = 0, challenger = 0;
  std::optional<judge::Bits> right;
  bool operator==(const DisputedElement&) const = default;
};

struct Verdict {
  Outcome outcome = Outcome::kBothWrong;
  Level level = Level::kRun;
  std::string reason;              // one sentence for people
  std::optional<uint64_t> step;    // 1 for the first
  std::optional<uint64_t> sample;  // of the evaluation, where it is about that and not about a step
  std::string metric;              // of the sample, where the dispute came to one
  std::optional<uint64_t> entry;   // of the schema
  std::string value;               // its name; "" without an entry
  std::optional<uint64_t> node;    // of the step's graph, where one makes it
  std::string op;                  // that node's operator, where the dispute came to it
  DType dtype = DType::kFloat32;   // of the value
  std::optional<DisputedElement> element;
  std::optional<int64_t> chunk;  // of the element's sum
  // What of the trainer's rounding log no honest trainer has, and nobody is wrong by: "missing" (no entry, although the
  // value is not what the exact one rounds to) or "beyond_bound" (an entry outside the job's bound, within the sound
  // one).
  std::string finding;
  bool operator==(const Verdict&) const = default;
};

}  // namespace isobit::dispute
