// Of a tensor its tree, and those of its tiles that are to be shown: what somebody keeps who has the tensor only for a
// moment.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "isobit/dispute/shown_tensor.h"

namespace isobit::dispute {

class KeptTiles {
 public:
  // Before take().
  void want(uint64_t tile) { wanted_.insert(tile); }
  void take(const TensorIdentity& identity, const Tensor& tensor, ThreadPool& pool);

  // Of tiles that were wanted (REQUIRES).
  ShownTiles show(const std::set<uint64_t>& tiles) const;
  judge::Bits bits(int64_t element) const;

 private:
  std::set<uint64_t> wanted_;
  std::vector<commit::Digest> hashes_;
  commit::Digest root_{};
  std::optional<commit::TileGrid> grid_;
  size_t size_ = 0;           // of an element, in bytes
  std::vector<Bytes> tiles_;  // empty where not wanted
};

}  // namespace isobit::dispute
