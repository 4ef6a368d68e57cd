// Down a tree of tiles, or of states, to the leaf in which both differ.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/dispute/game.h"

namespace isobit::dispute {

Status Game::take_body(Party party, TileTree body) {
  const TensorIdentity identity = TensorIdentity::of(entry());
  if (commit::TensorRoot{identity.header(), body.tiles}.digest() != side(party).roots[question_.entry]) {
    return rejected("the tree of tiles is not that of the value in the party's list");
  }
  side(party).tiles = body.tiles;
  return {};
}

void Game::begin_descent(bool of_states) {
  question_.of_states = of_states;
  uint64_t leaves = static_cast<uint64_t>(element_ ? element_->chunks() : 0);
  if (!of_states) {
    // A tree of another size has no place for some tile of the value, and of no tiles there is one tree alone: who
    // stands by another is wrong.
    leaves = static_cast<uint64_t>(TensorIdentity::of(entry()).grid().tiles());
    const auto is_none = [&](const Side& s) {
      return s.tiles.size != leaves || (leaves == 0 && s.tiles.root != commit::merkle_root({}));
    };
    const bool a = is_none(trainer()), b = is_none(challenger());
    if (a || b)
      return conclude(found_of(a, b, text_of("the tree of its '", entry().name, "' is not one of ", leaves, " tiles")),
                      Level::kValue);
  }
  for (Side& s : sides_) s.going_down = of_states ? s.states.root : s.tiles.root;
  question_.part = {0, leaves};
  ask(leaves == 1 ? Kind::kLeaf : Kind::kParts, true, true);
}

Status Game::take_body(Party party, PartRoots body) {
  const auto root = joined(question_.part, body.roots);
  if (!root || *root != side(party).going_down) {
    return rejected("the parts shown are not those of the tree that the party stands by");
  }
  side(party).parts = std::move(body.roots);
  return {};
}

void Game::go_down() {
  const auto differ = std::ranges::mismatch(trainer().parts, challenger().parts).in1;
  ISOBIT_CHECK(differ != trainer().parts.end());  // both lead to roots that differ
  const auto at = static_cast<size_t>(differ - trainer().parts.begin());
  question_.part = parts_of(question_.part)[at];
  for (Side& s : sides_) s.going_down = s.parts[at];
  ask(question_.part.size == 1 ? Kind::kLeaf : Kind::kParts, true, true);
}

Status Game::take_body(Party party, LeafShowing body) {
  if (commit::leaf_hash(body.leaf) != side(party).going_down) {
    return rejected("the leaf shown is not that of the tree that the party stands by");
  }
  side(party).leaf = std::move(body.leaf);
  return {};
}

void Game::compare_leaves() { question_.of_states ? compare_state_leaves() : compare_tiles(); }

void Game::compare_tiles() {
  const TensorIdentity identity = TensorIdentity::of(entry());
  const commit::TileGrid grid = identity.grid();
  const commit::Digest header = identity.header();
  const auto tile = static_cast<int64_t>(question_.part.begin);
  const auto malformed = [&](const Side& s) {
    return !commit::check_tile(header, identity.dtype, grid, tile, s.leaf, identity.name);
  };
  const bool a = malformed(trainer()), b = malformed(challenger());
  if (a || b) {
    return conclude(
        found_of(a, b,
                 text_of("what stands at the place of tile ", tile, " of '", identity.name, "' is no tile of it")),
        Level::kValue);
  }
  const ByteView of_trainer = commit::tile_elements(trainer().leaf),
                 of_challenger = commit::tile_elements(challenger().leaf);
  const size_t size = size_of(identity.dtype);
  const auto differ = std::ranges::mismatch(of_trainer, of_challenger).in1;
  ISOBIT_CHECK(differ != of_trainer.end());  // the heads are the same, and the leaves are not
  const size_t place = static_cast<size_t>(differ - of_trainer.begin()) / size;
  question_.element = grid.element_at(tile, static_cast<int64_t>(place));
  for (Side& s : sides_) {
    s.claim = 0;
    std::memcpy(&s.claim, commit::tile_elements(s.leaf).data() + place * size, size);
  }
  has_element_ = true;
  ask(entry().kind == train::TraceEntry::Kind::kBatch ? Kind::kSample : Kind::kNode, false, true);
}

}  // namespace isobit::dispute
