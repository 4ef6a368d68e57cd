#include "isobit/lab/reveal/summation.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/lab/reveal/reveal.h"
#include "isobit/lab/reveal/triples.h"

namespace isobit::lab::reveal {

const std::vector<std::string>& target_names() {
  static const std::vector<std::string> names = {"sum", "dot", "matmul", "conv", "mean", "softmax"};
  return names;
}

const char* name_of(Target target) { return target_names()[static_cast<size_t>(target)].c_str(); }

Expected<Target> parse_target(std::string_view name) {
  const auto& names = target_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Target>(found - names.begin());
  const std::string near = nearest_word(name, names);
  return usage_error(text_of("target '", name, "' is not known", near.empty() ? "" : "; did you mean '" + near + "'?",
                             " Known are ", join_or(names)));
}

Expected<Format> parse_format(std::string_view field, std::string_view name) {
  for (const Format format : {Format::kFloat32, Format::kFloat64}) {
    if (name == name_of(format)) return format;
  }
  return usage_error(text_of(field, ": found '", name, "', expected float32 or float64"));
}

Status check(const SumRequest& r) {
  const auto within = [](const char* field, int64_t found, int64_t most) -> Status {
    if (found >= 1 && found <= most) return {};
    return usage_error(text_of(field, ": found ", found, ", expected 1 to ", most));
  };
  const bool positive = r.target == Target::kSoftmax;
  ISOBIT_RETURN_IF_ERROR(
      within(positive ? "--k of a softmax" : "--k", r.k, positive ? kMostPositiveTerms : kMostTerms));
  ISOBIT_RETURN_IF_ERROR(within("--m", r.m, kMostRows));
  ISOBIT_RETURN_IF_ERROR(within("--n", r.n, kMostRows));
  ISOBIT_RETURN_IF_ERROR(within("--window", r.window, 64));
  if (r.column < 0 || r.column >= r.n) {
    return usage_error(text_of("--column: found ", r.column, ", expected 0 to ", r.n - 1));
  }
  if (r.target == Target::kConv && r.k % (r.window * r.window) != 0) {
    return usage_error(text_of("--k: found ", r.k, " terms of a convolution, expected a multiple of ",
                               r.window * r.window, ", the places of its window (--window ", r.window, ")"));
  }
  return {};
}

}  // namespace isobit::lab::reveal
