#include "isobit/dispute/kept_tiles.h"

namespace isobit::dispute {

void KeptTiles::take(const TensorIdentity& identity, const Tensor& tensor, ThreadPool& pool) {
  const commit::Digest header = identity.header();
  hashes_ = commit::tile_hashes(header, tensor, identity.layout(), pool);
  root_ = commit::merkle_root(hashes_, &pool);
  grid_.emplace(identity.grid());
  size_ = size_of(identity.dtype);
  tiles_.assign(hashes_.size(), {});
  for (const uint64_t tile : wanted_) {
    tiles_[tile] = commit::tile_bytes(header, tensor, identity.layout(), static_cast<int64_t>(tile));
  }
}

ShownTiles KeptTiles::show(const std::set<uint64_t>& tiles) const {
  ShownTiles shown{{hashes_.size(), root_}, {}, {}};
  if (tiles.empty()) return shown;
  shown.proof = commit::prove_several(hashes_, std::vector<uint64_t>(tiles.begin(), tiles.end()));
  for (const uint64_t tile : tiles) shown.opened.push_back(tiles_[tile]);
  return shown;
}

judge::Bits KeptTiles::bits(int64_t element) const {
  const commit::TileGrid::Place place = grid_->place_of(element);
  return bits_in_tile(tiles_[static_cast<size_t>(place.tile)], place.element, size_);
}

}  // namespace isobit::dispute
