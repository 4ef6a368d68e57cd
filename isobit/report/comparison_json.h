// What is said of the platforms of one subject, as JSON: `isobit compare --json` and the report have it in this one
// form.
#pragma once

#include <nlohmann/json.hpp>

#include "isobit/lab/deviation/comparison.h"

namespace isobit::report {

// How much of it: of a report, which anybody may open in a browser, less than all.
struct Shown {
  size_t platforms = SIZE_MAX;  // the first ones; of classes, too
  size_t fields = SIZE_MAX;     // of one platform
  std::string (*text)(const std::string&) = [](const std::string& name) { return name; };  // how names are written
};

// An object with these keys. Figures of two classes lie at [i][j] and [j][i], null where they are not known, and are
// null as a whole where there are too many classes; `least` and `largest` are over all pairs, null unless all are
// known.
//   subject             kind, model, model_sha256, input_sha256 (or null), settings
//   verdict             lab::deviation::name_of(Agreement)
//   platforms           name, engine, cores, cpu_flags (how many), fields, runs, different_outputs, changed_by_a_tap,
//                       class (null: it did not run), error (if it did not)
//   classes             class (from 1), platforms (names)
//   repeated            platforms, disagree_with_themselves
//   remaining_precision least, pairs
//   ulp, l0             largest, pairs
//   largest_difference  absolute, relative, not_finite, absolute_pairs, relative_pairs
//   label_flips         output (null: no labels), rows, pairs
//   churn               pairwise_mean, any_differ; or null
//   dendrogram          left, right, remaining_precision, classes; none where not all classes are shown
//   beyond_rounding     groups of names, without the largest group
nlohmann::ordered_json comparison_json(const lab::deviation::Comparison& comparison, const Shown& shown = {});

// A number of representable numbers, null where it is not known or no distance: that of a NaN from a number.
nlohmann::ordered_json ulp_json(const std::optional<uint64_t>& ulp);

}  // namespace isobit::report
