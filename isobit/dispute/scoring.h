// The evaluation of one sample as something to dispute: an inference of the job's graph by the last state, whose values
// are compared as those of a step are, and the scores that are read from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isobit/dispute/bodies.h"
#include "isobit/dispute/subject.h"
#include "isobit/train/metrics.h"
#include "isobit/train/scored_ranges.h"

namespace isobit::dispute {

// The subject of an evaluation's values: the arithmetic is the one that scores, and nothing is logged.
Subject scoring_subject(const Subject& subject);

// How many samples the job's evaluation has, and in batches of which size alone its network takes them (0: of any).
struct ScoredSamples {
  uint64_t count = 0;
  int64_t only_batch = 0;
};
// kRejected unless the graphs are those of the parts.
Expected<ScoredSamples> scored_samples(const train::Job& job, const verify::JobRootParts& parts,
                                       const std::vector<verify::ScoredGraph>& graphs);
// Why it is no evaluation of so many samples by the job's metrics, whatever they score; "" where it may be one.
std::string problem_of_evaluation(const verify::Evaluation& evaluation, const train::Job& job, uint64_t samples);

struct Scoring {
  GraphParts parts;                       // what its nodes lead to
  std::vector<train::TraceEntry> schema;  // of its values
  std::vector<std::string> ops;           // by node
  train::SampleRange range;               // the samples that are scored together with it
  int64_t row = 0;                        // its place among them
  uint64_t losses = 0, output = 0;        // entries
  std::optional<uint64_t> target;

  // By its metric's number: how many values it adds up, and which elements such a value is made of.
  int64_t items(const train::Job& job, uint64_t metric) const;
  train::ItemParts parts_of(const train::Job& job, uint64_t metric, int64_t item) const;
  // Of the entries of the losses, the output and the target, the one with this number (ShownPart::index).
  std::optional<uint64_t> entry(uint32_t index) const;

 private:
  friend Expected<Scoring> scoring_of(const GraphShowing&, const Subject&, const verify::JobRootParts&,
                                      const std::vector<verify::ScoredGraph>&, const commit::Digest&, uint64_t);
  train::ScoredBatch batch() const;
  Tensor losses_, output_, target_;  // of their types and shapes, without elements
};

// From the graph that is shown. kRejected unless graph, state and frozen parameters are those of the parts and of the
// last state; kUnreadable where its values have no schema. REQUIRES a sample that is scored.
Expected<Scoring> scoring_of(const GraphShowing& shown, const Subject& subject, const verify::JobRootParts& parts,
                             const std::vector<verify::ScoredGraph>& graphs, const commit::Digest& last_state,
                             uint64_t sample);

// The entry of a value of the evaluation's graph: of a node's output, or of what is fed. kUnreadable where it has none.
Expected<uint64_t> entry_of(const graph::Graph& graph, graph::ValueId id, const std::vector<train::TraceEntry>& schema);

// What element `element` of `entry`, a part of the batch that is scored, is by the sample that is shown. Errors as
// fed_element.
Expected<judge::Bits> scored_element(const SampleShowing& shown, const Scoring& scoring, uint64_t entry,
                                     int64_t element, const verify::JobRootParts& parts);
int64_t position_in_range(const train::TraceEntry& entry, int64_t element, const Scoring& scoring);

// The value of an item by what is shown of the values with these roots. kRejected where that is not shown to be theirs;
// kUnreadable where a part of it is missing, or makes no score.
Expected<train::MetricSum> shown_score(const ScoreShowing& shown, const Scoring& scoring, const train::Job& job,
                                       const std::vector<commit::Digest>& roots, uint64_t metric, int64_t item);

}  // namespace isobit::dispute
