// A spot check: an auditor who runs no step draws elements of one step of a run, and recomputes each of them from what
// the run's trainer shows. The trainer signs what it stands by before it knows what is drawn of it: the steps of an
// interval between two states of its transcript, then all values of one of these steps, then, of an element that is a
// long sum, the states of that sum. Of an inference with a receipt the same is done, whose trainer is the server: it
// signs all values first. Pure: questions out, messages in. Byte layout: docs/formats/dispute.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isobit/dispute/bodies.h"
#include "isobit/dispute/message.h"
#include "isobit/dispute/verdict.h"
#include "isobit/verify/step_trace.h"

namespace isobit::dispute {

// --- What is drawn ---

struct SpotPlace {
  uint64_t entry = 0;  // of the schema
  int64_t element = 0;
  bool operator==(const SpotPlace&) const = default;
};

// What elements are drawn from, all alike: each node of the step with its outputs and statistics, and each part of the
// batch by itself. Entries without elements are left out. State and rates are checked as a whole, and so is what an
// inference is fed (is_fed_known).
std::vector<std::vector<uint64_t>> spot_units(const std::vector<train::TraceEntry>& schema, bool is_fed_known = false);

// Numbers that nobody knows who does not know the seed. REQUIRES a seed that verify::check_seed takes.
class SpotDraw {
 public:
  explicit SpotDraw(Bytes seed) : seed_(std::move(seed)) {}
  // Uniform in [0, n), another one each time. `history`: what was said before enters. REQUIRES n > 0.
  uint64_t below(uint64_t n, const commit::Digest& history);
  // A unit, then one of its entries, then an element of it. REQUIRES units of the schema.
  SpotPlace place(const std::vector<std::vector<uint64_t>>& units, const std::vector<train::TraceEntry>& schema,
                  const commit::Digest& history);

 private:
  const Bytes seed_;
  uint64_t next_ = 0;
};

// That none of `draws` is false where `fraction` of the elements of each entry of `false_units` units are, each of
// which is found, once it is drawn, with the probability `found` (of a sum in c chunks that is false in one of them, 1
// / c). REQUIRES false_units <= units, units > 0, and fractions.
double spot_miss_probability(uint64_t units, uint64_t false_units, uint64_t draws, double fraction, double found = 1);

// --- What is asked ---

// Of a run kSteps and kValues come first, of an inference kInference.
enum class SpotStage : uint8_t { kSteps = 0, kValues = 1, kElement = 2, kChunk = 3, kInference = 4 };

struct SpotQuestion {
  uint64_t turn = 0;
  commit::Digest history{};  // of all questions and answers before
  SpotStage stage = SpotStage::kSteps;
  uint64_t step = 0;              // of kSteps: the last one of the interval; else the step that is checked
  std::vector<SpotPlace> places;  // of kElement and kChunk: all that was drawn
  uint64_t at = 0;                // which of them is to be shown
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

// --- What is answered ---

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

// --- The auditor ---

// What is false, and where.
struct SpotFinding {
  Level level = Level::kElement;
  std::string reason;  // one sentence for people
  uint64_t step = 0;
  std::optional<uint64_t> entry;  // of the schema; with it:
  std::string value;
  DType dtype = DType::kFloat32;
  std::optional<uint64_t> node;
  std::string op;
  std::optional<int64_t> element;
  judge::Bits claimed = 0;
  std::optional<judge::Bits> right;
  std::optional<uint64_t> chunk;
};

class SpotCheck {
 public:
  // seed: as of SpotDraw, unknown to the trainer until all is answered. step: the one that is checked; else one is
  // drawn; of an inference there is one alone. transcript: the root (verify::transcript_root) of the one that the
  // states must be shown in; else of any that the trainer signed, which is to be compared (transcript_root()). REQUIRES
  // 1 <= step <= the job's steps, 0 < draws <= kMaxSpotDraws.
  SpotCheck(Subject subject, Bytes seed, uint64_t draws, std::optional<uint64_t> step = std::nullopt,
            std::optional<commit::Digest> transcript = std::nullopt);
  ~SpotCheck();
  SpotCheck(const SpotCheck&) = delete;
  SpotCheck& operator=(const SpotCheck&) = delete;

  // What is to be asked next. REQUIRES !done().
  const Bytes& question() const { return asked_; }
  // An answer from anybody. It counts where it is signed by the trainer, in answer to the question, and shows what it
  // says: what does not is no evidence of anything, and the question stays.
  struct Receipt {
    bool counts = false;
    std::string why_not;
  };
  Receipt receive(ByteView message);

  // All was drawn and is right, or something is false. A check that is not done says nothing.
  bool done() const { return done_; }
  bool of_inference() const { return subject_.receipt.has_value(); }
  const std::optional<SpotFinding>& finding() const { return finding_; }

  // One that was checked.
  struct Checked {
    SpotPlace place;
    std::string op;      // "" of a part of the batch
    int64_t chunks = 1;  // of which one was recomputed
    uint64_t bytes = 0;  // of the messages about it
  };
  const std::vector<Checked>& checked() const { return checked_; }
  uint64_t step() const { return question_.step; }
  // Of the transcript in which the states were shown. REQUIRES a first answer that counted, about a run.
  commit::Digest transcript_root() const { return verify::transcript_root(leaves_.head.tree); }
  uint64_t units() const { return units_; }
  const std::vector<train::TraceEntry>& schema() const { return schema_; }
  uint64_t bytes() const { return bytes_; }            // in messages that counted
  uint64_t list_bytes() const { return list_bytes_; }  // of these, in the lists of steps and values

 private:
  // Whether an answer counts; then what follows from it is done.
  Status take(ByteView message);
  Status take_answer(SpotSteps answer);
  Status take_answer(SpotValues answer);
  Status take_answer(SpotElement answer);
  Status take_answer(SpotChunk answer);
  Status take_answer(SpotInference answer);
  Status take_fed(const SpotElement& answer);
  Status take_made(const SpotElement& answer);
  void ask(ByteView last_answer);
  void next_place();
  SpotFinding finding_at(Level level, std::string reason) const;
  void judge(const ElementRuling& ruling, Level level);

  const Subject subject_;
  SpotDraw draw_;
  const uint64_t draws_;
  const std::optional<uint64_t> wanted_step_;
  const std::optional<commit::Digest> wanted_transcript_;
  SpotQuestion question_;
  Bytes asked_;
  bool done_ = false;
  std::optional<SpotFinding> finding_;

  uint64_t first_step_ = 0, last_step_ = 0;  // the interval
  Challenge leaves_;
  std::vector<StepPoint> points_;
  std::vector<train::TraceEntry> schema_;
  std::vector<commit::Digest> roots_;
  uint64_t units_ = 0;
  std::unique_ptr<Element> element_;  // of question_.at, while it is asked about
  judge::Bits claimed_ = 0;
  StateTree states_;
  std::vector<Checked> checked_;
  uint64_t bytes_ = 0, list_bytes_ = 0;
};

}  // namespace isobit::dispute
