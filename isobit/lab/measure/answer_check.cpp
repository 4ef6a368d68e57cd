#include "isobit/lab/measure/answer_check.h"

#include <algorithm>
#include <set>

#include "isobit/base/text.h"

namespace isobit::lab::measure {
namespace {

std::string listed(const std::set<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(text_of("'", name, "'"));
  return quoted.empty() ? "none" : join_some(quoted, 10);
}

// Operators that are folded away, or an output that is an input, may be missing where operators are looked at.
Status check_outputs(const WorkerRun& run, const std::set<std::string>& expected) {
  std::set<std::string> found;
  for (const records::ValueRecord& value : run.values) {
    if (value.is_output) found.insert(value.name);
  }
  const bool fits = run.tapped ? std::ranges::includes(expected, found) : found == expected;
  if (fits) return {};
  return unreadable(text_of("answer.json: outputs of the ", run.tapped ? "tapped" : "untapped", " run: found ",
                            listed(found), ", expected those of the model: ", listed(expected)));
}

}  // namespace

Status check_answer(const WorkerAnswer& answer, const WorkerRequest& request, const std::vector<std::string>& outputs) {
  if (answer.outcome != WorkerAnswer::Outcome::kRan) return {};
  if (answer.platform.name != request.platform) {
    return unreadable(
        text_of("answer.json: field 'name': found '", answer.platform.name, "', asked was '", request.platform, "'"));
  }
  for (const WorkerRun& run : answer.runs) {
    const bool asked = run.tapped ? request.tapped : request.untapped;
    if (!asked)
      return unreadable(text_of("answer.json: a ", run.tapped ? "tapped" : "untapped", " run, not asked for"));
  }
  if (answer.runs.empty() || (request.untapped && answer.runs.front().tapped)) {
    return unreadable("answer.json: no untapped run, which was asked for");
  }
  const std::set<std::string> expected(outputs.begin(), outputs.end());
  if (expected.empty()) return {};
  for (const WorkerRun& run : answer.runs) ISOBIT_RETURN_IF_ERROR(check_outputs(run, expected));
  return {};
}

}  // namespace isobit::lab::measure
