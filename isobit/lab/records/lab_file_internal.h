// What lab_file.cpp, lab_tensors.cpp and lab_merge.cpp share.
#pragma once

#include "isobit/lab/records/database.h"
#include "isobit/lab/records/lab_file.h"

namespace isobit::lab::records {

struct LabFile::Impl {
  explicit Impl(Database d) : database(std::move(d)) {}

  // The row of a subject or a platform, made where there is none. REQUIRES a transaction.
  Expected<int64_t> row_of(const Subject& subject);
  Expected<int64_t> row_of(const SharedPlatform& platform);
  // The row of the subject of that digest; none where there is none.
  Expected<std::optional<int64_t>> find_subject(const commit::Digest& digest);
  // REQUIRES a transaction and a run within the limits. Whether it was not there yet.
  Expected<bool> insert(const RunRecord& run);
  Status replace_graph(int64_t subject, const std::vector<GraphNode>& nodes);
  Expected<PlatformRecord> platform(int64_t row);
  Expected<std::vector<ValueRecord>> values_of(int64_t run, uint64_t& left);
  // Every tensor of `other` that is not here. REQUIRES a transaction.
  Expected<uint64_t> add_tensors(Impl& other);
  Status check_writable() const;

  Database database;
};

}  // namespace isobit::lab::records
