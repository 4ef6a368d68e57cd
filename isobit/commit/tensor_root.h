// Digests of a tensor and of a whole training state, whose every 16x16 tile can be opened alone.
// Byte layout: docs/formats/tensor_root.md.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/base/thread_pool.h"
#include "isobit/commit/hash.h"
#include "isobit/commit/merkle.h"
#include "isobit/tensor/tensor.h"

namespace isobit::commit {

inline constexpr int64_t kTileSide = 16;

// How a tensor is seen as a matrix: rows = product of the dimensions before `split`, columns = product of the others.
// Tensors of rank 0 and 1 are flat whatever `split` says: rows of 16 elements, the last one possibly short.
struct TensorLayout {
  int split = 1;
  bool operator==(const TensorLayout&) const = default;
};

// The matrix and its tiles, row-major; edge tiles hold only the elements present.
class TileGrid {
 public:
  // REQUIRES 0 <= layout.split <= rank, unless the rank is below 2.
  TileGrid(const Shape& shape, TensorLayout layout);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  bool flat() const { return flat_; }
  int64_t tile_cols() const { return tile_cols_; }
  int64_t tiles() const { return tile_rows_ * tile_cols_; }
  // The tile, and the place inside it, of element `flat_index` (row-major over the tensor).
  struct Place {
    int64_t tile = 0;
    int64_t element = 0;  // counted row by row over the elements present
  };
  Place place_of(int64_t flat_index) const;
  // The flat index of what stands there. REQUIRES a place of the grid.
  int64_t element_at(int64_t tile, int64_t element) const;
  // Elements in row `row` of the matrix: cols(), but for the short last row of a flat tensor.
  int64_t row_elements(int64_t row) const;

 private:
  int64_t elements_ = 0, rows_ = 0, cols_ = 0, tile_rows_ = 0, tile_cols_ = 0;
  bool flat_ = false;
};

// Name, dtype, shape and layout in one digest, which every leaf carries.
Digest tensor_header(std::string_view name, DType dtype, const Shape& shape, TensorLayout layout);

struct TensorRoot {
  Digest header{};
  SizedRoot tiles;
  // What is compared and committed. Binds the header too, so that an empty tensor has a name.
  Digest digest() const;
  bool operator==(const TensorRoot&) const = default;
};

// The bytes of leaf `tile` (without the leaf prefix of the tree).
// REQUIRES 0 <= tile < TileGrid(...).tiles(), header == tensor_header(name, tensor.dtype(), tensor.shape(), layout).
Bytes tile_bytes(const Digest& header, const Tensor& tensor, TensorLayout layout, int64_t tile);

// Leaf hashes of all tiles, in order. For proofs.
std::vector<Digest> tile_hashes(const Digest& header, const Tensor& tensor, TensorLayout layout, ThreadPool& pool);

// The same for every number of threads. REQUIRES tensor.defined() and the layout to fit the shape.
TensorRoot tensor_root(std::string_view name, const Tensor& tensor, TensorLayout layout, ThreadPool& pool);

// Opens one tile: its bytes are tile_bytes(...), its path leads to tensor_root(...).tiles.
InclusionProof prove_tile(std::string_view name, const Tensor& tensor, TensorLayout layout, int64_t tile,
                          ThreadPool& pool);
// kRejected unless `tile` has the header, the place and the length that tile `index` of such a tensor has. `what` names
// the tensor. REQUIRES index < TileGrid(...).tiles().
Status check_tile(const Digest& header, DType dtype, const TileGrid& grid, int64_t index, ByteView tile,
                  std::string_view what);
// The elements of a tile that check_tile takes, row by row.
inline constexpr size_t kTileHead = 48;
inline ByteView tile_elements(ByteView tile) { return tile.subspan(kTileHead); }
// kRejected unless `root` is a root for this name, dtype, shape and layout, and `tile` (as from tile_bytes) is its leaf
// proof.index, with the tile row, tile column and length which that place must have.
Status verify_tile(const TensorRoot& root, std::string_view name, DType dtype, const Shape& shape, TensorLayout layout,
                   ByteView tile, const InclusionProof& proof);

// Tensors sorted by name (as bytes); leaf = name, tensor root.
struct StateRoot {
  uint64_t step = 0;
  SizedRoot tensors;
  // What is compared and committed; binds the step.
  Digest digest() const;
  bool operator==(const StateRoot&) const = default;
};

struct StateEntry {
  std::string name;
  Digest tensor_root{};  // TensorRoot::digest()
};

// The leaf bytes of one tensor of the state.
Bytes state_leaf(const StateEntry& entry);

// In any order; kRejected when a name occurs twice.
Expected<StateRoot> state_root(std::span<const StateEntry> entries, uint64_t step);
// Every tensor under the default TensorLayout.
Expected<StateRoot> state_root(std::span<const NamedTensor> tensors, uint64_t step, ThreadPool& pool);

// 256 random bits kept with the data, so that the hash of a sample nobody has shown tells nothing about it.
using Salt = std::array<uint8_t, 32>;

// Leaf hash of sample `index` of a dataset; `sample` are its canonical decoded bytes.
Digest sample_leaf(const Salt& salt, uint64_t index, ByteView sample);
// The same of bytes that lie in several places, one piece after the other.
Digest sample_leaf(const Salt& salt, uint64_t index, std::span<const ByteView> pieces);

}  // namespace isobit::commit
