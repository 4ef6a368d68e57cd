#include "isobit/run/compare_runs.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::run {

Expected<RunComparison> compare_runs(const OpenRequest& a, const OpenRequest& b) {
  ISOBIT_TRY(const OpenedRun one, open_run(a));
  ISOBIT_TRY(const OpenedRun other, open_run(b));
  const verify::EngagementTerms &terms = one.reader.engagement().terms, &theirs = other.reader.engagement().terms;
  if (terms.run_id != theirs.run_id) {
    return usage_error(text_of(a.run.string(), " and ", b.run.string(), " are of different runs (run ids ",
                               to_hex(terms.run_id), " and ", to_hex(theirs.run_id), "): no evidence of anything"));
  }
  if (terms != theirs) {
    return usage_error(text_of(a.run.string(), " and ", b.run.string(), " have the run id ", to_hex(terms.run_id),
                               " and different engagements, which a client has signed: no evidence against a trainer"));
  }
  const verify::Transcript &mine = one.reader.transcript(), &second = other.reader.transcript();
  RunComparison comparison;
  comparison.a_leaves = mine.size();
  comparison.b_leaves = second.size();
  const auto left = mine.leaf_hashes(), right = second.leaf_hashes();
  comparison.common_leaves = static_cast<uint64_t>(std::ranges::mismatch(left, right).in1 - left.begin());
  const verify::History a_history{&mine, one.reader.heads()}, b_history{&second, other.reader.heads()};
  comparison.heads_contradict = verify::heads_contradict(a_history, b_history);
  // Each of the keys that accepted these terms answers for its own heads.
  comparison.fork = verify::find_fork(one.reader.engagement(), a_history, b_history);
  if (!comparison.fork) comparison.fork = verify::find_fork(other.reader.engagement(), a_history, b_history);
  if (comparison.fork) ISOBIT_RETURN_IF_ERROR(verify::verify_evidence(*comparison.fork));
  return comparison;
}

}  // namespace isobit::run
