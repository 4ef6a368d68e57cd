// The targets of an npy dataset: what data.target, or else type and shape of the files, makes of them
// (docs/formats/samples.md).
#pragma once

#include <optional>
#include <string>

#include "isobit/data/npy_column.h"

namespace isobit::data {

class NpyTargets {
 public:
  // Those of data without any.
  NpyTargets() { target_ = {TargetKind::kNone, DType::kFloat32, {}, 0}; }

  // `test_file` may be empty. `classes`: as the job says, 0 for as many as are found. Looks at every element. Errors:
  // as NpyColumn::open; types, shapes and values that are none of the kind; two files that differ in shape.
  static Expected<NpyTargets> open(const std::string& file, const std::string& test_file, TargetRule rule,
                                   int64_t classes, FileBudget& budget);

  const Target& target() const { return target_; }
  size_t bytes() const;  // of one sample, as the model is fed
  int64_t rows(Split split) const { return column(split) ? column(split)->rows() : 0; }
  const std::string& file(Split split) const { return column(split)->file(); }  // REQUIRES that there is one
  uint64_t held_bytes() const;
  bool reads(Split split) const { return column(split) && column(split)->reads(); }  // from the disk
  void ignore_times();                                                               // as NpyColumn's

  // Writes bytes() of them. Errors: as NpyColumn::row. REQUIRES a file of that split, `to` aligned to the type.
  Status fill(Split split, int64_t index, void* to) const;

 private:
  const std::optional<NpyColumn>& column(Split split) const { return split == Split::kTrain ? train_ : test_; }

  Target target_;
  std::optional<NpyColumn> train_, test_;
};

}  // namespace isobit::data
