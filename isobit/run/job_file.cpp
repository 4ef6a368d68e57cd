#include "isobit/run/job_file.h"

#include <algorithm>

#include "isobit/data/dataset.h"

namespace isobit::run {

Expected<train::Job> load_job(const std::string& path, const std::vector<std::string>& overrides,
                              const Limits& limits) {
  ISOBIT_TRY(train::Job job, train::load_job(path, overrides));
  if (job.epochs == 0) return job;
  ISOBIT_TRY(const std::unique_ptr<data::Dataset> dataset,
             data::open_dataset(job.data, std::min(limits.max_memory, data::kMaxDatasetBytes)));
  return train::in_steps(std::move(job), dataset->train_count());
}

}  // namespace isobit::run
