// A spot check: an auditor who runs no step draws elements of one step of a run, and recomputes each of them from what
// the run's trainer shows. The trainer signs what it stands by before it knows what is drawn of it: the steps of an
// interval between two states of its transcript, then all values of one of these steps, then, of an element that is a
// long sum, the states of that sum. Of an inference with a receipt the same is done, whose trainer is the server: it
// signs all values first. Pure: questions out, messages in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/dispute/spot_draw.h"
#include "isobit/dispute/spot_message.h"
#include "isobit/dispute/verdict.h"

namespace isobit::dispute {

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
  // Of all values of the step that is asked about. kRejected unless the trainer signed it, and it is of this schema,
  // which is the one that was committed to.
  Status check_list(const verify::TraceList& list, const std::vector<train::TraceEntry>& schema) const;
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
  std::vector<SpotPlace> places_;  // all that was drawn
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
