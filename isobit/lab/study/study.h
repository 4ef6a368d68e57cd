// The records of a published study of numerical deviations, as runs of a lab: one JSON file for each platform, model
// and input. Source: A. Schlögl, N. Hofer, R. Böhme, NeurIPS 2023, results/equivalence_classes.
//
// What is taken of a file: cpu_info (flags, brand, number of cores), device, model_type, prediction and, for GPUs, the
// repeats in all_predictions; of its path: the place (.../PLACE/cpu|gpu/NAME-MODEL-iN.json), the platform's name and
// the number of the input. The records carry no hash of model or input.
#pragma once

#include "isobit/base/file.h"
#include "isobit/lab/records/lab_file.h"

namespace isobit::lab::study {

constexpr uint64_t kMaxRecord = 1 << 20;      // bytes of one JSON file
constexpr uint64_t kMaxRecords = 100'000;     // files
constexpr uint64_t kMaxBytes = 256ull << 20;  // of all of them

struct LeftOut {
  std::string model;
  size_t records = 0, platforms = 0;
};
struct Study {
  size_t records = 0, platforms = 0;  // that were taken
  std::vector<LeftOut> left_out;      // models of which not every platform has records: they would compare fewer
};

struct StudyRun {
  // Repeat 0 is the prediction, the others those of all_predictions but for the first one that is the prediction again.
  std::vector<records::RunRecord> runs;
  std::vector<Bytes> outputs;  // of each
};

// One file. kUnreadable, with its path and the field, for anything but such a record.
Expected<StudyRun> decode_record(ByteView json, const std::string& path);

// Whether a path is a folder, or an archive (.tar, .tar.zst, .tar.gz, .tar.xz) by its name.
bool is_study(const fs::path& path);
// kUsage where a new lab of that name would be read as such an archive.
Status check_lab_name(const fs::path& path);

// The files of a folder that import_study reads; none where the path is no folder. Errors: those of listing it, and
// kUnreadable for more than kMaxRecords.
Expected<std::vector<fs::path>> record_files(const fs::path& path);

// All *.json files in a folder and the folders in it, or in an archive, in the order of their paths, into a lab.
// Nothing is written anywhere else. kUnreadable where there are none.
Expected<Study> import_study(const fs::path& path, records::LabFile& lab);

}  // namespace isobit::lab::study
