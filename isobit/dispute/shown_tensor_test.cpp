#include "isobit/dispute/shown_tensor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace isobit::dispute {
namespace {

Tensor counting(const std::vector<int64_t>& dims) {
  Tensor t(DType::kFloat32, Shape(dims));
  for (int64_t i = 0; i < t.elements(); ++i) t.data<float>()[i] = static_cast<float>(i) * 0.5F;
  return t;
}

RC_GTEST_PROP(ShownTensor, GivesTheElementsOfItsTilesAndNoOthers, ()) {
  ThreadPool pool(1);
  const int rank = *rc::gen::inRange(0, 5);
  const auto dims =
      *rc::gen::container<std::vector<int64_t>>(static_cast<size_t>(rank), rc::gen::inRange<int64_t>(1, 40));
  RC_PRE(Shape(dims).elements() < 20000);
  const TensorIdentity identity{"t", DType::kFloat32, dims, rank < 2 ? 0 : *rc::gen::inRange(0, rank + 1)};
  const Tensor tensor = counting(dims);
  const commit::Digest root = commit::tensor_root("t", tensor, identity.layout(), pool).digest();
  const commit::TileGrid grid = identity.grid();
  // Not as many different ones as a container is to have: there may be fewer tiles.
  const auto drawn = *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(0, grid.tiles()));
  const std::set<int64_t> wanted(drawn.begin(), drawn.end());
  const ShownTiles tiles = ShownTiles::of(identity, tensor, {wanted.begin(), wanted.end()}, pool);
  const auto shown = ShownTensor::open(identity, root, tiles);
  RC_ASSERT(shown.has_value());
  for (int64_t e = 0; e < tensor.elements(); ++e) {
    const auto place = grid.place_of(e);
    RC_ASSERT(grid.element_at(place.tile, place.element) == e);
    const auto bits = shown->bits(e);
    RC_ASSERT(bits.has_value() == wanted.contains(place.tile));
    if (bits) RC_ASSERT(*bits == judge::bits_of(tensor, e));
  }
  const auto whole = shown->whole();
  RC_ASSERT(whole.has_value() == (static_cast<int64_t>(wanted.size()) == grid.tiles()));
  if (whole) RC_ASSERT(std::ranges::equal(whole->byte_view(), tensor.byte_view()));
}

class FalseTiles : public ::testing::Test {
 protected:
  FalseTiles() : shown_(ShownTiles::of(identity_, tensor_, {1, 3}, pool_)) {
    root_ = commit::tensor_root("t", tensor_, identity_.layout(), pool_).digest();
  }
  bool opens(const ShownTiles& shown) const { return ShownTensor::open(identity_, root_, shown).has_value(); }

  ThreadPool pool_{1};
  const TensorIdentity identity_{"t", DType::kFloat32, {40, 40}, 1};
  const Tensor tensor_ = counting({40, 40});
  commit::Digest root_{};
  ShownTiles shown_;
};

TEST_F(FalseTiles, AreRejected) {
  ASSERT_TRUE(opens(shown_));
  ShownTiles other = shown_;
  other.opened[1][100] ^= 1;
  EXPECT_FALSE(opens(other)) << "another element";
  other = shown_;
  std::swap(other.opened[0], other.opened[1]);
  EXPECT_FALSE(opens(other)) << "each at the other's place";
  other = shown_;
  other.opened.pop_back();
  EXPECT_FALSE(opens(other)) << "one missing";
  other = shown_;
  other.proof.indices[1] = 4;
  EXPECT_FALSE(opens(other)) << "at another place";
  other = shown_;
  other.proof.indices[1] = 1000;
  EXPECT_FALSE(opens(other)) << "at no place";
  other = shown_;
  ++other.tiles.size;
  EXPECT_FALSE(opens(other)) << "of a tree of another size";
}

TEST_F(FalseTiles, EveryEncodedBitCounts) {
  ByteWriter w;
  write(w, shown_);
  const Bytes bytes = w.take();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes changed = bytes;
    changed[bit / 8] = static_cast<uint8_t>(changed[bit / 8] ^ (1 << bit % 8));
    ByteReader r(changed, "test");
    auto read = read_shown_tiles(r, "test");
    if (!read || !r.finish()) continue;
    ASSERT_FALSE(opens(*read)) << "bit " << bit;
  }
}

}  // namespace
}  // namespace isobit::dispute
