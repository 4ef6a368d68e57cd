#include "isobit/data/npy_column.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/data/npy_elements.h"

namespace isobit::data {

Expected<NpyColumn> NpyColumn::open(const std::string& file, FileBudget& budget) {
  ISOBIT_TRY(PlainFile opened, PlainFile::open(file, Links::kFollow));
  ISOBIT_TRY(formats::NpyLayout layout, formats::read_npy_layout(opened, file));
  if (layout.shape.rank() < 1 || layout.shape.elements() == 0) {
    return unreadable(text_of(file, ": found an array of shape ", layout.shape.text(),
                              ", expected [samples, ...] with no axis of 0; reshape it"));
  }
  NpyColumn column;
  column.file_ = file;
  const bool scattered = layout.fortran_order && layout.shape.rank() > 1;
  if (scattered || opened.size() <= std::min(kHeldFile, budget.left())) {
    ISOBIT_TRY(column.held_, budget.read_npy(file));
    column.dtype_ = column.held_.dtype();
    column.shape_ = column.held_.shape();
    // It was opened a second time, by its name.
    if (column.dtype_ != layout.dtype || column.shape_ != layout.shape) {
      return unreadable(text_of(file, ": has changed while it was opened; something is writing it"));
    }
    return column;
  }
  column.dtype_ = layout.dtype;
  column.shape_ = std::move(layout.shape);
  column.offset_ = layout.offset;
  column.disk_ = std::move(opened);
  return column;
}

Status NpyColumn::read(uint64_t at, std::span<uint8_t> to) const {
  ISOBIT_RETURN_IF_ERROR(disk_->read_exactly(offset_ + at, to));
  if (!ignores_times_) ISOBIT_RETURN_IF_ERROR(disk_->check_unchanged());
  if (dtype_ != DType::kBool || std::ranges::all_of(to, [](uint8_t b) { return b <= 1; })) return {};
  return unreadable(text_of(file_, ": a boolean is neither 0 nor 1"));
}

Expected<ByteView> NpyColumn::row(int64_t index, ScratchVector<uint8_t>& scratch) const {
  ISOBIT_CHECK(index >= 0 && index < rows());
  const size_t size = row_bytes();
  if (held_.defined()) return held_.byte_view().subspan(static_cast<size_t>(index) * size, size);
  scratch.resize(size);
  ISOBIT_RETURN_IF_ERROR(read(static_cast<uint64_t>(index) * size, scratch));
  return ByteView(scratch.data(), size);
}

Status NpyColumn::read_row(int64_t index, std::span<uint8_t> to) const {
  ISOBIT_CHECK(index >= 0 && index < rows() && to.size() == row_bytes());
  const uint64_t at = static_cast<uint64_t>(index) * to.size();
  if (!held_.defined()) return read(at, to);
  std::memcpy(to.data(), held_.byte_view().data() + at, to.size());
  return {};
}

Status NpyColumn::scan(const std::function<Status(int64_t, ByteView)>& f) const {
  constexpr uint64_t kBlock = 1 << 20;
  const uint64_t bytes = static_cast<uint64_t>(shape_.elements()) * size_of(dtype_);
  Bytes block;
  for (uint64_t at = 0; at < bytes; at += kBlock) {
    const auto size = static_cast<size_t>(std::min(kBlock, bytes - at));
    ByteView elements;
    if (held_.defined()) {
      elements = held_.byte_view().subspan(static_cast<size_t>(at), size);
    } else {
      block.resize(size);
      ISOBIT_RETURN_IF_ERROR(read(at, block));
      elements = block;
    }
    ISOBIT_RETURN_IF_ERROR(f(static_cast<int64_t>(at / size_of(dtype_)), elements));
  }
  return {};
}

Status check_finite(const NpyColumn& column) {
  if (!RealTypes::contains(column.dtype())) return {};
  return column.scan([&](int64_t first, ByteView elements) -> Status {
    int64_t at = first, bad = -1;
    float found = 0;
    for_each_element(column.dtype(), elements, [&](auto v) {
      if (bad < 0 && !is_finite(v)) {
        bad = at;
        found = as_float32(v);
      }
      ++at;
    });
    if (bad < 0) return {};
    return unreadable(text_of(column.file(), ": sample ", bad / column.row_elements(), ": found ", found,
                              ", expected finite numbers; remove or replace the sample"));
  });
}

}  // namespace isobit::data
