// Elements of a tensor that are shown: tiles of it with one proof that they are the tensor's own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/commit/merkle.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/judge/question.h"
#include "isobit/train/trace_schema.h"

namespace isobit::dispute {

// Of what a tensor root is the root, but for the elements.
struct TensorIdentity {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> dims;
  int split = 1;
  bool operator==(const TensorIdentity&) const = default;

  static TensorIdentity of(const train::TraceEntry& entry) {
    return {entry.name, entry.dtype, entry.dims, entry.split};
  }
  Shape shape() const { return Shape(dims); }
  commit::TensorLayout layout() const { return {split}; }
  commit::TileGrid grid() const { return {shape(), layout()}; }
  commit::Digest header() const { return commit::tensor_header(name, dtype, shape(), layout()); }
};

struct ShownTiles {
  commit::SizedRoot tiles;
  commit::MultiProof proof;   // of the tiles that are shown; nothing where none is
  std::vector<Bytes> opened;  // as commit::tile_bytes has them, one for each index of the proof
  bool operator==(const ShownTiles&) const = default;

  // Tiles of a tensor that one has. wanted: strictly increasing.
  static ShownTiles of(const TensorIdentity& identity, const Tensor& tensor, const std::vector<uint64_t>& wanted,
                       ThreadPool& pool);
};

// The element at this place of a tile (commit::TileGrid::Place) whose elements have so many bytes. REQUIRES a tile that
// commit::check_tile takes.
judge::Bits bits_in_tile(ByteView tile, int64_t place, size_t size);

void write(ByteWriter& writer, const ShownTiles& shown);
Expected<ShownTiles> read_shown_tiles(ByteReader& reader, const std::string& what);

class ShownTensor {
 public:
  // kRejected unless the tiles are those of the tensor whose root has this digest.
  static Expected<ShownTensor> open(TensorIdentity identity, const commit::Digest& root, ShownTiles shown);

  const TensorIdentity& identity() const { return identity_; }
  // kUnreadable where the element's tile is not shown. REQUIRES an element of the tensor.
  Expected<judge::Bits> bits(int64_t element) const;
  // kUnreadable unless all tiles are shown.
  Expected<Tensor> whole() const;

 private:
  explicit ShownTensor(TensorIdentity identity) : identity_(std::move(identity)), grid_(identity_.grid()) {}
  TensorIdentity identity_;
  commit::TileGrid grid_;
  std::map<int64_t, Bytes> tiles_;
};

}  // namespace isobit::dispute
