// The rules of the game, turn by turn: what an answer must be to count, and what follows from the answers. Internal to
// the referee, who sees to signatures and turns.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/dispute/inference.h"
#include "isobit/dispute/question.h"
#include "isobit/dispute/scoring.h"
#include "isobit/dispute/verdict.h"

namespace isobit::dispute {

class Game {
 public:
  explicit Game(const Subject& subject);

  Question& question() { return question_; }
  const std::optional<Verdict>& verdict() const { return verdict_; }

  // An error: the body does not answer the question, and is dropped. Keeps it otherwise.
  Status take(Party party, Body body);
  // All who were asked have answered: the next question, or the verdict.
  void end_turn();
  void forfeit(bool trainer, bool challenger);
  // This party signed two different answers to the question of a turn.
  void convict(Party party, uint64_t turn);

 private:
  struct Side {
    std::vector<StepPoint> points;
    InferenceClaim outputs;  // of an inference
    verify::Evaluation evaluation;
    SumsShowing sums;                        // of the subtree in question
    verify::EvaluationNode going_down_sums;  // that subtree
    ClaimedSums claimed_sums;                // what is shown of it
    std::vector<train::MetricSum> scores;    // of the disputed sample; then of the disputed value of it
    std::vector<commit::Digest> roots;
    commit::SizedRoot tiles, states;
    commit::Digest going_down{};  // the root of the subtree in question
    std::vector<commit::Digest> parts;
    Bytes leaf;
    judge::Bits claim = 0;  // the disputed element
    judge::State last, state;
  };
  Side& side(Party p) { return sides_[static_cast<size_t>(p)]; }
  Side& trainer() { return side(Party::kTrainer); }
  Side& challenger() { return side(Party::kChallenger); }

  void ask(Kind kind, bool trainer, bool challenger);
  void conclude(bool trainer_wrong, bool challenger_wrong, Level level, std::string reason);
  // What was found of each party, by Party; "" of who is not wrong. REQUIRES something of one.
  using Found = std::array<std::string, 2>;
  void conclude(const Found& found, Level level);
  // The same of both, where it is true of them.
  static Found found_of(bool trainer, bool challenger, const std::string& what);
  void conclude(Outcome outcome, Level level, std::string reason);

  // One for each kind of body: whether it counts, and it is kept. game_lists.cpp, game_batch.cpp, game_value.cpp,
  // game_element.cpp, game_log.cpp, game_evaluation.cpp.
  Status take_body(Party party, Challenge body);
  Status take_body(Party party, StepList body);
  Status take_body(Party party, ValueList body);
  Status take_body(Party party, TileTree body);
  Status take_body(Party party, PartRoots body);
  Status take_body(Party party, LeafShowing body);
  Status take_body(Party party, NodeShowing body);
  Status take_body(Party party, StateTree body);
  Status take_body(Party party, Grounds body);
  Status take_body(Party party, LossShowing body);
  Status take_body(Party party, BatchShowing body);
  Status take_body(Party party, SampleShowing body);
  Status take_body(Party party, LogShowing body);
  Status take_body(Party party, Accusation body);
  Status take_body(Party party, OutputClaims body);
  Status take_body(Party party, SumsShowing body);
  Status take_body(Party party, GraphShowing body);
  Status take_body(Party party, ScoreShowing body);

  // What follows from a turn's answers.
  void compare_runs();
  void compare_steps();
  void begin_inference();
  void compare_values();
  void settle_rate();
  void settle_loss();
  void settle_batch();
  void settle_sample();
  void begin_descent(bool of_states);
  void go_down();
  void compare_leaves();
  void compare_tiles();
  void compare_state_leaves();
  void begin_element();
  void compare_states();
  void settle_element();
  void settle_by_log();
  void begin_accusation();
  void settle_accusation();
  void begin_evaluation();
  void compare_sums();
  void begin_scoring();
  void begin_score();
  void settle_score();

  bool states_differ() const;
  std::array<bool, 2> false_states() const;
  std::string why_state_is_false() const;
  const commit::Digest& log_root() const;
  std::string problem_of_list(const Side& side) const;
  std::string problem_of_sums(const Side& side) const;
  const train::TraceEntry& entry() const { return schema_[question_.entry]; }

  const Subject& subject_;
  Question question_;
  std::optional<Verdict> verdict_;
  std::array<Side, 2> sides_;

  Challenge challenge_;
  commit::Digest state_before_{};  // of the disputed step
  verify::LossBits loss_;          // that its values make
  commit::Digest batch_{};         // by the job
  judge::Bits fed_ = 0;            // of the disputed element, by the sample
  std::vector<train::TraceEntry> schema_;
  GraphParts graph_parts_;                  // what nodes lead to
  std::optional<Subject> scoring_subject_;  // of values of an evaluation
  std::optional<Scoring> scoring_;          // of the disputed sample
  ScoredSamples samples_;
  std::string metric_;        // in which its scores differ, where its values do not
  uint64_t items_ = 0;        // of that metric
  train::MetricSum score_;    // of the disputed one
  bool has_entry_ = false;    // whether the dispute has come to question_.entry,
  bool has_element_ = false;  // and to question_.element
  std::string op_;            // of the node that makes the value, once it was shown
  std::unique_ptr<Element> element_;
  std::optional<Element::Values> values_;      // of the disputed chunk
  judge::State behind_;                        // it, where the two sums part there
  std::optional<judge::ExactElement> exact_;   // the disputed one's, where the log decides
  std::optional<log::SparseEntry> log_entry_;  // what the trainer's log says of it
  bool is_accused_ = false;                    // the dispute is about that entry, not about the value,
  uint32_t accused_node_ = 0;                  // of this node
};

}  // namespace isobit::dispute
