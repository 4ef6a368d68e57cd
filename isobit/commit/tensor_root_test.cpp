#include "isobit/commit/tensor_root.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "isobit/base/file.h"
#include "isobit/tensor/dtype_named.h"

namespace isobit::commit {
namespace {

// Element i is the low bytes of i * 2654435761, of a bool tensor its lowest bit: every byte of an element varies, and
// neighbours differ.
Tensor patterned(DType dtype, Shape shape) {
  Tensor t(dtype, std::move(shape));
  auto* out = static_cast<uint8_t*>(t.raw());
  const size_t size = size_of(dtype);
  for (int64_t i = 0; i < t.elements(); ++i) {
    uint64_t value = static_cast<uint64_t>(i) * 2654435761u;
    if (dtype == DType::kBool) value &= 1;
    std::memcpy(out + static_cast<size_t>(i) * size, &value, size);
  }
  return t;
}

Shape shape_named(const std::string& text) {
  std::vector<int64_t> dims;
  std::istringstream in(text == "-" ? "" : text);
  for (std::string dim; std::getline(in, dim, 'x');) dims.push_back(std::stoll(dim));
  return Shape(dims);
}

TEST(TensorRoot, AgreesWithTheGoldenFile) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  std::ifstream file(fs::path(source ? source : ".") / "tests/golden/tensor_root.txt");
  ASSERT_TRUE(file) << "run from the root of the tree, or set ISOBIT_SOURCE_DIR";
  ThreadPool pool(2);
  std::vector<NamedTensor> state;
  int tensors = 0, states = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string kind, name, dtype, dims, digest;
    in >> kind;
    if (kind == "tensor") {
      TensorLayout layout;
      in >> name >> dtype >> dims >> layout.split >> digest;
      const auto element = dtype_named(dtype);
      ASSERT_TRUE(element) << line;
      state.push_back({name, patterned(*element, shape_named(dims))});
      EXPECT_EQ(hex_of(tensor_root(name, state.back().tensor, layout, pool).digest()), digest) << line;
      ++tensors;
    } else if (kind == "state") {
      uint64_t step = 0;
      in >> step >> digest;
      EXPECT_EQ(hex_of(state_root(state, step, pool)->digest()), digest) << line;
      ++states;
    }
  }
  EXPECT_GE(tensors, 16);
  EXPECT_EQ(states, 2);
}

TEST(TensorRoot, SameForEveryNumberOfThreads) {
  const Tensor t = patterned(DType::kFloat32, {700, 513});
  ThreadPool one(1);
  const TensorRoot expected = tensor_root("w", t, {}, one);
  EXPECT_EQ(expected.tiles.size, 44u * 33u);
  for (int threads : {2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(tensor_root("w", t, {}, pool), expected) << threads;
  }
}

TEST(TensorRoot, BindsNameTypeShapeAndLayout) {
  ThreadPool pool(1);
  const Tensor t = Tensor::zeros(DType::kFloat32, {16, 16});
  std::set<Digest> all;
  all.insert(tensor_root("a", t, {1}, pool).digest());
  all.insert(tensor_root("b", t, {1}, pool).digest());
  all.insert(tensor_root("a", t, {0}, pool).digest());
  all.insert(tensor_root("a", Tensor::zeros(DType::kInt32, {16, 16}), {1}, pool).digest());
  all.insert(tensor_root("a", t.reshaped({256}), {1}, pool).digest());
  all.insert(tensor_root("a", t.reshaped({16, 16, 1}), {1}, pool).digest());
  all.insert(tensor_root("a", t.reshaped({16, 4, 4}), {1}, pool).digest());
  all.insert(tensor_root("a", Tensor::zeros(DType::kFloat32, {0}), {1}, pool).digest());
  all.insert(tensor_root("b", Tensor::zeros(DType::kFloat32, {0}), {1}, pool).digest());
  EXPECT_EQ(all.size(), 9u);
}

TEST(TensorRoot, FlatTensorsIgnoreTheSplit) {
  ThreadPool pool(1);
  const Tensor t = patterned(DType::kFloat32, {300});
  EXPECT_EQ(tensor_root("a", t, {0}, pool), tensor_root("a", t, {7}, pool));
}

RC_GTEST_PROP(TensorRootProperty, EveryTileOpensAndHoldsItsElements, ()) {
  ThreadPool pool(1);
  std::vector<int64_t> dims;
  for (int rank = *rc::gen::inRange(0, 4); rank > 0; --rank) dims.push_back(*rc::gen::inRange<int64_t>(1, 40));
  const Shape shape(dims);
  const TensorLayout layout{*rc::gen::inRange(0, shape.rank() + 1)};
  const Tensor t = patterned(DType::kInt32, shape);
  const TensorRoot root = tensor_root("t", t, layout, pool);
  const TileGrid grid(shape, layout);
  RC_ASSERT(static_cast<uint64_t>(grid.tiles()) == root.tiles.size);

  const int64_t index = *rc::gen::inRange<int64_t>(0, t.elements());
  const TileGrid::Place place = grid.place_of(index);
  Bytes tile = tile_bytes(root.header, t, layout, place.tile);
  const InclusionProof proof = prove_tile("t", t, layout, place.tile, pool);
  auto check = [&](const Bytes& bytes) { return verify_tile(root, "t", DType::kInt32, shape, layout, bytes, proof); };
  RC_ASSERT(bool(check(tile)));
  int32_t value;
  std::memcpy(&value, tile.data() + 48 + 4 * place.element, 4);
  RC_ASSERT(value == t.data<int32_t>()[index]);

  RC_ASSERT(!verify_tile(root, "u", DType::kInt32, shape, layout, tile, proof));
  RC_ASSERT(!verify_tile(root, "t", DType::kFloat32, shape, layout, tile, proof));
  const size_t flipped = *rc::gen::inRange<size_t>(0, tile.size());
  tile[flipped] ^= 1;
  RC_ASSERT(!check(tile));
  tile[flipped] ^= 1;
  tile.pop_back();
  RC_ASSERT(!check(tile));
}

TEST(TensorRoot, EveryElementIsInExactlyOnePlace) {
  for (const Shape& shape : {Shape{33, 47}, Shape{16, 16}, Shape{7}, Shape{257}, Shape{1, 100}, Shape{100, 1}}) {
    const TileGrid grid(shape, {});
    std::set<std::pair<int64_t, int64_t>> places;
    for (int64_t i = 0; i < shape.elements(); ++i) {
      const auto place = grid.place_of(i);
      EXPECT_LT(place.tile, grid.tiles());
      places.insert({place.tile, place.element});
    }
    EXPECT_EQ(static_cast<int64_t>(places.size()), shape.elements()) << shape.text();
  }
}

TEST(StateRoot, IsIndependentOfOrderAndBindsStepNamesAndValues) {
  ThreadPool pool(2);
  std::vector<NamedTensor> state = {{"w", patterned(DType::kFloat32, {20, 30})},
                                    {"momentum.w", Tensor::zeros(DType::kFloat32, {20, 30})},
                                    {"b", patterned(DType::kFloat32, {20})}};
  const Digest root = state_root(state, 5, pool)->digest();
  std::rotate(state.begin(), state.begin() + 1, state.end());
  EXPECT_EQ(state_root(state, 5, pool)->digest(), root);
  EXPECT_NE(state_root(state, 6, pool)->digest(), root);
  state[0].tensor.data<float>()[599] = -0.0f;
  EXPECT_NE(state_root(state, 5, pool)->digest(), root) << "a tampered momentum goes unseen";
  state.push_back({"b", Tensor::scalar(1.0f)});
  const auto twice = state_root(state, 5, pool);
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("'b'"), std::string::npos);
}

TEST(SampleLeaf, IsTheLeafHashOfTheWrittenBytes) {
  Salt salt;
  salt.fill(0x5a);
  ByteWriter bytes;
  bytes.text("isobit.sample");
  bytes.u32(1);
  bytes.fixed(salt);
  bytes.u64(9);
  bytes.text("pixels");
  EXPECT_EQ(sample_leaf(salt, 9, as_bytes("pixels")), leaf_hash(bytes.view()));
  EXPECT_NE(sample_leaf(salt, 8, as_bytes("pixels")), sample_leaf(salt, 9, as_bytes("pixels")));
}

TEST(SampleLeaf, IsThatOfItsPiecesTogether) {
  const ByteView pieces[] = {{}, as_bytes("pi"), as_bytes("xels")};
  EXPECT_EQ(sample_leaf(Salt{7}, 9, pieces), sample_leaf(Salt{7}, 9, as_bytes("pixels")));
  EXPECT_NE(sample_leaf(Salt{7}, 9, std::span(pieces).first(2)), sample_leaf(Salt{7}, 9, as_bytes("pixels")));
}

}  // namespace
}  // namespace isobit::commit
