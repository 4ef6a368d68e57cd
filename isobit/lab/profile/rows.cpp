#include "isobit/lab/profile/rows.h"

#include <algorithm>
#include <functional>
#include <map>

#include "isobit/base/text.h"

namespace isobit::lab::profile {
namespace {

std::vector<Row> rows_by(const Profile& profile, const MachinePace& pace,
                         const std::function<std::string(const NodeTime&)>& name_of) {
  std::map<std::string, Row> by_name;
  for (const NodeTime& n : profile.nodes) {
    Row& row = by_name[name_of(n)];
    ++row.nodes;
    row.work.operations += n.work.operations;
    row.work.bytes += n.work.bytes;
    row.seconds += n.seconds + n.stage_seconds;
    row.stage_seconds += n.stage_seconds;
    row.least_seconds += static_cast<double>(n.work.operations) / (n.work.in_float64 ? pace.float64 : pace.float32);
  }
  std::vector<Row> rows;
  for (auto& [name, row] : by_name) {
    row.name = name;
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &Row::seconds);
  return rows;
}

}  // namespace

std::vector<Row> rows_by_operator(const Profile& profile, const MachinePace& pace) {
  return rows_by(profile, pace, [](const NodeTime& n) { return n.op; });
}

std::vector<Row> rows_by_kernel(const Profile& profile, const MachinePace& pace) {
  return rows_by(profile, pace, [](const NodeTime& n) {
    return text_of(n.kernel, n.is_product ? ", inner products" : ", other operators");
  });
}

}  // namespace isobit::lab::profile
