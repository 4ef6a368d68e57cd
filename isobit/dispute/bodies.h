// What parties say to a referee, one body for each kind of question. Byte layout: docs/formats/dispute.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/commit/merkle.h"
#include "isobit/dispute/element.h"
#include "isobit/dispute/shown_graph.h"
#include "isobit/dispute/sums.h"
#include "isobit/judge/reduction.h"
#include "isobit/verify/head.h"
#include "isobit/verify/job_parts.h"
#include "isobit/verify/log_tree.h"
#include "isobit/verify/shown_batch.h"
#include "isobit/verify/transcript.h"

namespace isobit::dispute {

// Leaf `inclusion.index` of the trainer's transcript.
struct ShownLeaf {
  verify::Leaf leaf;
  commit::InclusionProof inclusion;
  bool operator==(const ShownLeaf&) const = default;
};

// What the challenger says that the evaluation comes to, where both have the last state. graphs: what
// JobRootParts::graphs_scored is of; of a network that is no file's none.
struct EvaluationClaim {
  verify::Evaluation evaluation;
  std::vector<verify::ScoredGraph> graphs;
  bool operator==(const EvaluationClaim&) const = default;
};

// The challenger's first word: which signed claim of the trainer it doubts. The state before is one that both have; the
// one behind is where the next state is committed. With an evaluation it doubts that of the last leaf, the one behind.
struct Challenge {
  verify::JobRootParts parts;
  verify::SignedHead head;
  ShownLeaf before, behind;
  std::optional<EvaluationClaim> evaluation = std::nullopt;
  bool operator==(const Challenge&) const = default;
};

// What a step comes to.
struct StepPoint {
  commit::Digest batch{};
  verify::LossBits loss;
  std::optional<commit::Digest> log_segment;
  commit::Digest state_root{};  // after it
  bool operator==(const StepPoint&) const = default;
};

// Of every step between the two states. The trainer shows that its points are those of its transcript.
struct StepList {
  std::vector<StepPoint> points;
  std::optional<commit::MultiProof> in_transcript;
  bool operator==(const StepList&) const = default;
};

// The tensor roots of all values of the disputed step; with them the challenger shows the schema.
struct ValueList {
  std::vector<commit::Digest> roots;
  std::optional<std::vector<train::TraceEntry>> schema;
  bool operator==(const ValueList&) const = default;
};

// The challenger's: the node that makes the disputed value, with what its operands say of where the element is from.
struct NodeShowing {
  ShownNode node;
  std::vector<ShownPart> guides;  // the tiles that say where it is from
};

// The tree of the disputed value's tiles.
struct TileTree {
  commit::SizedRoot tiles;
  bool operator==(const TileTree&) const = default;
};

// Roots of the parts of the subtree that is gone down.
struct PartRoots {
  std::vector<commit::Digest> roots;
  bool operator==(const PartRoots&) const = default;
};

// The leaf at which both trees differ.
struct LeafShowing {
  Bytes leaf;
  bool operator==(const LeafShowing&) const = default;
};

// The states behind the chunks of the disputed element's sum, as a tree; the last one is shown.
struct StateTree {
  commit::SizedRoot states;
  judge::State last;
  commit::InclusionProof inclusion;
  bool operator==(const StateTree&) const = default;
};

// The challenger's: what the disputed chunk is computed from, and the state before it, where there is one.
struct Grounds {
  std::vector<ShownPart> shown;
  std::optional<judge::State> before;
  commit::InclusionProof inclusion;  // of `before`; else nothing
  bool operator==(const Grounds&) const = default;
};

// The challenger's: the value that is the step's loss, where both have the same values and not the same loss.
struct LossShowing {
  verify::GraphNodeProof producer;
  verify::GraphHead head;
  ShownTiles loss;
  bool operator==(const LossShowing&) const = default;
};

// The challenger's: the leaves of the step's batch in the dataset, where the two lists say different batches.
struct BatchShowing {
  verify::ShownLeaves leaves;
  bool operator==(const BatchShowing&) const = default;
};

// The challenger's: the sample that an element of what the step is fed is of.
struct SampleShowing {
  verify::ShownSample sample;
  bool operator==(const SampleShowing&) const = default;
};

// The trainer's: what the log that it committed to says of the disputed element, where both values may be right.
struct LogShowing {
  verify::LogAbsenceProof entry;
  bool operator==(const LogShowing&) const = default;
};

// The challenger's: an entry of that log that may not stand, where the logs alone differ. Entry `place` of the chunk.
struct Accusation {
  verify::LogChunkProof chunk;
  uint32_t place = 0;
  bool operator==(const Accusation&) const = default;
};

// The challenger's first word about a receipt: the outputs that it claims instead, in the receipt's order.
struct OutputClaims {
  std::vector<commit::Digest> roots;
  bool operator==(const OutputClaims&) const = default;
};

// The challenger's: what the values of a score are read from, as ShownPart::index has it: 0 the losses, 1 the output, 2
// the target.
struct ScoreShowing {
  std::vector<ShownPart> shown;
  bool operator==(const ScoreShowing&) const = default;
};

using Body = std::variant<Challenge, StepList, ValueList, TileTree, PartRoots, LeafShowing, NodeShowing, StateTree,
                          Grounds, LossShowing, BatchShowing, SampleShowing, LogShowing, Accusation, OutputClaims,
                          SumsShowing, GraphShowing, ScoreShowing>;

// Of an alternative, as its tag has it behind "isobit.dispute.": "challenge", "steps", ...
std::string_view name_of_body(size_t alternative);

Bytes encode(const Body& body);
// Accepts exactly what encode() writes of the alternative that is expected; kUnreadable for anything else. Checks no
// proof and allocates nothing that the data do not hold. rules: of the leaves of a Challenge.
Expected<Body> decode_body(ByteView data, size_t expected, const verify::TranscriptRules& rules,
                           const std::string& what);

// The leaf of a tree of states: number of the chunk, then the words.
Bytes state_leaf(uint64_t chunk, const judge::State& state);
Expected<judge::State> read_state_leaf(ByteView leaf, uint64_t chunk, const std::string& what);

}  // namespace isobit::dispute
