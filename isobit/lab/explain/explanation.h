// All that the records of one subject say about where and why its platforms differ, and the same in words.
//
// Determinism class: the same records give the same explanation on every machine.
#pragma once

#include "isobit/lab/explain/forks.h"
#include "isobit/lab/explain/layers.h"
#include "isobit/lab/explain/separation.h"

namespace isobit::lab::explain {

struct Explanation {
  std::vector<records::RunRecord> runs;  // what the trace refers to, so that copies are not made
  std::vector<records::GraphNode> graph;
  deviation::Comparison comparison;
  Trace trace;
  std::vector<TracedFork> forks;
  std::optional<size_t> first;  // of forks: the first one that is introduced
  Layers layers;

  // What goes with the classes of the output, over the platforms that ran; and with those of the first fork that is
  // introduced, or else of the first fork, over `fork_platforms`. Items are the places in these lists.
  std::vector<size_t> output_platforms, fork_platforms;
  Separation of_output, of_fork;

  size_t count(Origin origin) const;

  Explanation() = default;
  Explanation(Explanation&&) = default;
  Explanation& operator=(Explanation&&) = default;
};

// Errors: those of `tensors`. REQUIRES runs of this subject.
Expected<Explanation> explain(const records::Subject& subject, std::vector<records::RunRecord> runs,
                              std::vector<records::GraphNode> graph, const deviation::TensorSource& tensors);

// The answer, a sentence or two an entry, the most important first. Nothing is claimed beyond the records: fields
// "separate" classes. Names are cut to kMaxWord bytes; they may hold anything and are for the reader to escape.
std::vector<std::string> in_words(const Explanation& explanation);
constexpr size_t kMaxWord = 80;

// "a, b and c": labels of platforms of the comparison, the first `most` of them.
std::string names_of(const deviation::Comparison& comparison, const std::vector<size_t>& platforms, size_t most = 6);

// A name that may be long: its first kMaxWord bytes, whole characters, and "..." where more follows.
std::string shortened(const std::string& name, size_t most = kMaxWord);

}  // namespace isobit::lab::explain
