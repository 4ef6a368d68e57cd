#include "isobit/dispute/shown_tensor.h"

#include <cstring>

#include "isobit/base/text.h"
#include "isobit/dispute/kept_tiles.h"

namespace isobit::dispute {
namespace {

constexpr uint64_t kMaxTileBytes = 1 << 12, kMaxProofBytes = 1 << 20;

}  // namespace

judge::Bits bits_in_tile(ByteView tile, int64_t place, size_t size) {
  judge::Bits bits = 0;
  std::memcpy(&bits, commit::tile_elements(tile).data() + static_cast<size_t>(place) * size, size);
  return bits;
}

ShownTiles ShownTiles::of(const TensorIdentity& identity, const Tensor& tensor, const std::vector<uint64_t>& wanted,
                          ThreadPool& pool) {
  KeptTiles kept;
  for (const uint64_t tile : wanted) kept.want(tile);
  kept.take(identity, tensor, pool);
  return kept.show({wanted.begin(), wanted.end()});
}

void write(ByteWriter& w, const ShownTiles& shown) {
  w.u64(shown.tiles.size);
  w.fixed(shown.tiles.root);
  w.u64(shown.opened.size());
  if (shown.opened.empty()) return;
  w.bytes(commit::encode(shown.proof));
  for (const Bytes& tile : shown.opened) w.bytes(tile);
}

Expected<ShownTiles> read_shown_tiles(ByteReader& r, const std::string& what) {
  ShownTiles shown;
  ISOBIT_TRY(shown.tiles.size, r.u64("number of tiles"));
  ISOBIT_TRY(shown.tiles.root, commit::read_digest(r, "root of the tiles"));
  ISOBIT_TRY(const uint64_t count, r.u64("number of opened tiles"));
  if (count == 0) return shown;
  ISOBIT_TRY(const ByteView proof, r.bytes("proof of the tiles", kMaxProofBytes));
  ISOBIT_TRY(shown.proof, commit::decode_multi_proof(proof, what + ", proof of the tiles"));
  if (shown.proof.indices.size() != count) {
    return r.fail("number of opened tiles", text_of("found ", count, ", expected ", shown.proof.indices.size()));
  }
  for (uint64_t i = 0; i < count; ++i) {
    ISOBIT_TRY(const ByteView tile, r.bytes("tile", kMaxTileBytes));
    shown.opened.emplace_back(tile.begin(), tile.end());
  }
  return shown;
}

Expected<ShownTensor> ShownTensor::open(TensorIdentity identity, const commit::Digest& root, ShownTiles shown) {
  ShownTensor tensor(std::move(identity));
  const std::string& name = tensor.identity_.name;
  const commit::TensorRoot claimed{tensor.identity_.header(), shown.tiles};
  if (claimed.digest() != root || shown.tiles.size != static_cast<uint64_t>(tensor.grid_.tiles())) {
    return rejected(text_of("tensor '", name, "': the tiles are those of another one"));
  }
  if (shown.opened.empty()) return tensor;
  if (shown.proof.indices.size() != shown.opened.size()) {
    return rejected(
        text_of("tensor '", name, "': ", shown.opened.size(), " tiles, but a proof of ", shown.proof.indices.size()));
  }
  std::vector<commit::Digest> hashes;
  for (size_t i = 0; i < shown.opened.size(); ++i) {
    const uint64_t index = shown.proof.indices[i];
    if (index >= shown.tiles.size) return rejected(text_of("tensor '", name, "': has no tile ", index));
    const auto place = static_cast<int64_t>(index);
    ISOBIT_RETURN_IF_ERROR(
        commit::check_tile(claimed.header, tensor.identity_.dtype, tensor.grid_, place, shown.opened[i], name));
    hashes.push_back(commit::leaf_hash(shown.opened[i]));
    tensor.tiles_[place] = std::move(shown.opened[i]);
  }
  ISOBIT_RETURN_IF_ERROR(commit::verify_several(shown.proof, hashes, shown.tiles));
  return tensor;
}

Expected<judge::Bits> ShownTensor::bits(int64_t element) const {
  const commit::TileGrid::Place place = grid_.place_of(element);
  const auto tile = tiles_.find(place.tile);
  if (tile == tiles_.end()) {
    return unreadable(
        text_of("tensor '", identity_.name, "': tile ", place.tile, " with element ", element, " is not shown"));
  }
  return bits_in_tile(tile->second, place.element, size_of(identity_.dtype));
}

Expected<Tensor> ShownTensor::whole() const {
  if (static_cast<int64_t>(tiles_.size()) != grid_.tiles()) {
    return unreadable(text_of("tensor '", identity_.name, "': ", tiles_.size(), " of its ", grid_.tiles(),
                              " tiles are shown, expected all"));
  }
  Tensor tensor(identity_.dtype, identity_.shape());
  const size_t size = size_of(identity_.dtype);
  auto* to = static_cast<uint8_t*>(tensor.raw());
  for (int64_t e = 0; e < tensor.elements(); ++e) {
    const commit::TileGrid::Place place = grid_.place_of(e);
    const ByteView from = commit::tile_elements(tiles_.at(place.tile));
    std::memcpy(to + static_cast<size_t>(e) * size, from.data() + static_cast<size_t>(place.element) * size, size);
  }
  return tensor;
}

}  // namespace isobit::dispute
