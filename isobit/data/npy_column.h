// One .npy file whose first axis counts samples.
//
// A small file is held in memory. A large one stays on the disk: its header is read once, and each row when it is asked
// for, by pread into the very memory that the batch lies in. That is as much as mapping the file would give (the system
// keeps the pages of either), and where somebody cuts or rewrites the file meanwhile it is an error that names it,
// while a mapping would end the process with SIGBUS, or let what is trained on change under a commitment unseen.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/scratch.h"
#include "isobit/data/openers.h"
#include "isobit/formats/npy.h"

namespace isobit::data {

// Files of at most so many bytes are held, as far as the budget goes.
inline constexpr uint64_t kHeldFile = uint64_t{32} << 20;

// Immutable; any member may be called from many threads at once.
class NpyColumn {
 public:
  // In Fortran order rows lie scattered: such a file is always held and kUnavailable where `budget` has no room for it.
  // Other errors: as formats::read_npy_layout; a file without samples, or whose samples have no elements.
  static Expected<NpyColumn> open(const std::string& file, FileBudget& budget);

  const std::string& file() const { return file_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }  // all of it
  int64_t rows() const { return shape_[0]; }
  std::vector<int64_t> row_shape() const { return {shape_.dims().begin() + 1, shape_.dims().end()}; }
  int64_t row_elements() const { return shape_.elements(1, shape_.rank()); }
  size_t row_bytes() const { return static_cast<size_t>(row_elements()) * size_of(dtype_); }
  uint64_t held_bytes() const { return held_.defined() ? held_.bytes() : 0; }

  bool reads() const { return !held_.defined(); }  // from the disk

  // Whoever reads knows the contents of the rows by other means: that the file's times have changed is no error any
  // more.
  void ignore_times() { ignores_times_ = true; }

  // The elements of row `index`: those that are held, or `scratch`, which they are then read into. Aligned to the type.
  // Errors: kUnavailable where the disk fails; kUnreadable where the file is not any more what it was when it was
  // opened, or a boolean is neither 0 nor 1. REQUIRES 0 <= index < rows().
  Expected<ByteView> row(int64_t index, ScratchVector<uint8_t>& scratch) const;
  // The same into `to`. REQUIRES to.size() == row_bytes().
  Status read_row(int64_t index, std::span<uint8_t> to) const;

  // Calls f(number of the first element, elements) over all of them in order, in blocks of bounded size, until it
  // fails.
  Status scan(const std::function<Status(int64_t, ByteView)>& f) const;

 private:
  Status read(uint64_t at, std::span<uint8_t> to) const;

  std::string file_;
  DType dtype_ = DType::kFloat32;
  Shape shape_;
  Tensor held_;  // undefined where the rows stay on the disk
  std::optional<PlainFile> disk_;
  uint64_t offset_ = 0;  // of the first element in it
  bool ignores_times_ = false;
};

// A scan: kUnreadable, with the sample, at an element that is infinite or no number.
Status check_finite(const NpyColumn& column);

}  // namespace isobit::data
