// Labs into one another, and out as a file to send.
#include "isobit/base/durable_file.h"
#include "isobit/base/text.h"
#include "isobit/lab/records/encoding.h"
#include "isobit/lab/records/lab_file_internal.h"
#include "isobit/lab/records/lab_safety.h"

namespace isobit::lab::records {

Expected<MergeReport> LabFile::merge(LabFile& other, bool with_tensors) {
  MergeReport report;
  ISOBIT_TRY(const auto subjects, other.subjects());
  ISOBIT_TRY(Transaction transaction, Transaction::begin(impl_->database));
  for (const Subject& subject : subjects) {
    ISOBIT_TRY(const int64_t row, impl_->row_of(subject));
    ISOBIT_TRY(const auto runs, other.runs(subject));
    for (const RunRecord& run : runs) {
      const Status fits = check(run);
      if (!fits) return unreadable(text_of(other.impl_->database.what(), ": ", fits.error().message));
      ISOBIT_TRY(const bool added, impl_->insert(run));
      ++(added ? report.runs_added : report.runs_known);
    }
    ISOBIT_TRY(const auto own_graph, graph(subject));
    ISOBIT_TRY(const auto nodes, other.graph(subject));
    if (nodes.empty()) continue;
    if (own_graph.empty()) {
      ISOBIT_RETURN_IF_ERROR(impl_->replace_graph(row, nodes));
    } else if (nodes != own_graph) {
      report.other_graphs.push_back(subject);
    }
  }
  if (with_tensors) {
    ISOBIT_TRY(report.tensors_added, impl_->add_tensors(*other.impl_));
  }
  ISOBIT_RETURN_IF_ERROR(transaction.commit());
  return report;
}

Status LabFile::extend(const fs::path& path, const std::function<Status(LabFile&)>& fill) {
  std::error_code ignored;
  const bool is_new = !fs::exists(path, ignored);
  if (is_new) {
    ISOBIT_RETURN_IF_ERROR(check_writable_name(path, false));
    ISOBIT_RETURN_IF_ERROR(check_nothing_beside(path));
  } else {
    ISOBIT_RETURN_IF_ERROR(open(path, Mode::kWrite).map([](auto&&) {}));  // before anything is read
  }
  ISOBIT_TRY(const std::string random, random_name());
  fs::path beside = path;
  beside += text_of(".", random, ".tmp");
  ISOBIT_RETURN_IF_ERROR(make(beside, fill));
  const Status done = [&]() -> Status {
    if (is_new) {
      const Status renamed = rename_durably(beside, path);
      // Somebody else may have been faster.
      if (renamed || renamed.error().code != ErrorCode::kUsage || !fs::exists(path, ignored)) return renamed;
    }
    ISOBIT_TRY(LabFile lab, open(path, Mode::kWrite));
    ISOBIT_TRY(LabFile more, open(beside, Mode::kRead));
    return lab.merge(more).map([](auto&&) {});
  }();
  fs::remove(beside, ignored);
  return done;
}

Status LabFile::export_to(const fs::path& path, bool with_tensors) {
  return make(path,
              [&](LabFile& copy) -> Status { return copy.merge(*this, with_tensors).map([](const MergeReport&) {}); });
}

}  // namespace isobit::lab::records
