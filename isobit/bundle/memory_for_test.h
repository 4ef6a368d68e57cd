// Bytes in memory as a source of a log, for tests and fuzz targets.
#pragma once

#include <algorithm>

#include "isobit/bundle/log_file.h"

namespace isobit::bundle {

// Of the bytes that it is given, which must outlive it.
class Memory : public ByteSource {
 public:
  explicit Memory(ByteView data) : data_(data) {}
  uint64_t size() const override { return data_.size(); }
  Expected<size_t> read_at(uint64_t offset, std::span<uint8_t> buffer) const override {
    const ByteView rest = data_.subspan(std::min<size_t>(offset, data_.size()));
    const size_t n = std::min(rest.size(), buffer.size());
    std::copy_n(rest.begin(), n, buffer.begin());
    return n;
  }

 private:
  ByteView data_;
};

}  // namespace isobit::bundle
