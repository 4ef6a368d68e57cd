// What the runs of one subject say about the platforms they ran on. Definitions: docs/lab.md.
//
// Determinism class: the same records give the same comparison on every machine.
#pragma once

#include <functional>

#include "isobit/lab/deviation/dendrogram.h"
#include "isobit/lab/deviation/flag_clusters.h"
#include "isobit/lab/deviation/pair.h"
#include "isobit/lab/records/record.h"

namespace isobit::lab::deviation {

// The bytes of a kept tensor; none where nobody kept them.
using TensorSource = std::function<Expected<std::optional<Bytes>>(const records::Hash128&)>;

struct PlatformResult {
  std::string label;  // unique in the comparison: the name, and what tells it from others of that name
  records::PlatformRecord record;
  int equivalence_class = 0;  // from 1; 0: it did not run
  std::string error;          // why it did not run
  // Of the run that stands for it: the first repeat, without recorded operators if there is such a one.
  std::vector<records::ValueRecord> outputs;
  size_t runs = 0, distinct = 0;  // runs that were no failure, and different outputs among them, tapped runs aside
  std::string labelled;           // of outputs: the first one in the order of the run that can have labels; "": none
  bool changed_by_a_tap = false;  // its output is another when operators are recorded
  bool disagrees_with_itself() const { return distinct > 1; }
};

// A value that several platforms recorded.
struct RecordedValue {
  int64_t step = 0;
  std::string name, op;
  size_t platforms = 0;
  int classes = 0;
};

struct Fork {
  size_t value = 0;                         // of Comparison::values
  std::vector<std::vector<size_t>> groups;  // platforms, by class of that value
  std::vector<std::string> kernels;         // of each of Comparison::platforms: what computed it there; "": not known
};

// Platforms of one place, engine and number of cores, whose CPUs differ.
struct FlagCohort {
  std::string name;               // "gcloud, 2 cores"
  std::vector<size_t> platforms;  // by class
  std::vector<int> classes;       // of each, numbered anew in this order
  FlagClusters flags;             // presence in this order
};

struct Churn {
  uint64_t rows = 0;
  double pairwise_mean = 0;  // of the fraction of rows with different labels, over all pairs of platforms
  double any_differ = 0;     // fraction of rows on whose label not all platforms agree
};

enum class Agreement : uint8_t {
  kAgree,
  kDiffer,            // two platforms, two runs of one, or two records of one run
  kNothingToCompare,  // none ran and gave values, or one alone and once
};
const char* name_of(Agreement agreement);  // "agree", "differ", "nothing to compare"

// A run of which there are two records that do not agree: neither counts.
struct Contested {
  size_t platform = 0;  // of Comparison::platforms
  uint32_t repeat = 0;
  bool tapped = false;
  size_t first = 0, second = 0;  // of the runs that were compared
};

struct Comparison {
  records::Subject subject;
  std::vector<PlatformResult> platforms;     // in order of first appearance
  std::vector<std::vector<size_t>> classes;  // platforms of class 1, 2, ...
  // Of classes i < j. None: the tensors were not kept, or have other types or dimensions. Both are empty where there
  // are more than kMostComparedClasses.
  std::vector<std::vector<std::optional<PairFigures>>> pairs;
  std::vector<std::vector<std::optional<uint64_t>>> label_flips;
  std::optional<PairFigures> overall;  // minimum and maxima over all pairs; none unless all are known
  std::string label_output;            // whose rows have the labels: that of the first platform; "": none has any
  std::optional<Churn> churn;          // none unless all classes kept that output
  std::vector<Merging> dendrogram;     // of classes, by remaining precision; empty unless that of all pairs is known
  std::vector<FlagCohort> cohorts;
  std::vector<RecordedValue> values;  // in execution order; of runs with recorded operators
  std::optional<Fork> fork;           // the first value in execution order that is not the same everywhere
  // Groups of platforms that lie further apart than rounding explains (kNotRounding), the largest first; one group
  // where none does, none where that is not known or asked: of training, which amplifies rounding without bound.
  std::vector<std::vector<size_t>> groups;
  std::vector<Contested> contested;
  bool differ_when_tapped = false;  // outputs of platforms, or of two runs of one, where operators were recorded

  size_t repeated() const;  // platforms with more than one run
  size_t nondeterministic() const;
  size_t ran() const;             // platforms that are in a class
  bool too_many_classes() const;  // to be compared with one another
  Agreement agreement() const;
};

// Platforms are linked when their outputs differ by no more than this fraction of the largest magnitude in either.
// Float32 networks in which deviations of rounding were reported, products in TensorFloat-32 included, stay below
// 0.003; another model, another input or a broken device do not.
constexpr double kNotRounding = 1.0 / 64;

// What is computed pair by pair grows with the square of the classes.
constexpr size_t kMostComparedClasses = 512;

// `graph`: the nodes of the model, which say in what order values are made; empty: nobody knows. Errors: those of
// `tensors`. REQUIRES runs of this subject.
Expected<Comparison> compare_runs(const records::Subject& subject, const std::vector<records::RunRecord>& runs,
                                  const std::vector<records::GraphNode>& graph, const TensorSource& tensors);

// A platform whose outputs hardly depend on the input.
struct InputIndependent {
  std::string platform;
  double spread = 0;   // the largest difference between its outputs of two inputs
  double typical = 0;  // the median of that over the platforms
};
// Of comparisons of one model with two or more inputs, the first kMostComparedClasses of them: platforms whose spread
// is less than an eighth of the median.
Expected<std::vector<InputIndependent>> find_input_independent(const std::vector<const Comparison*>& inputs,
                                                               const TensorSource& tensors);

}  // namespace isobit::lab::deviation
