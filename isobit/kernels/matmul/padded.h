// Windows read from copies of their planes with a border around them.
//
// There every tap is one displacement of the whole plane. Of windows with a step the places that one tap may meet, each
// step-th of a row and of a column, are a plane of their own, a phase: in a copy the phases that taps meet follow one
// another, and positions are neighbours in each. So a vector of positions is read in place under each tap, and
// an element is copied once for a chunk, where packing would copy it once for each tap. Positions are taken a vector at
// a time: the rows of an image one after another, each from a vector of its own on, or the padded plane from end to end
// with what lies beyond the rows computed and thrown away, whichever takes less. Internal to the driver.
#pragma once

#include "isobit/base/scratch.h"
#include "isobit/kernels/matmul/gemm.h"

namespace isobit::kernels::gemm {

template <class T>
class Padded {
 public:
  // REQUIRES that cost(op, lanes, rows) is finite.
  Padded(const Operand<T>& op, int64_t lanes);

  // Half cycles for one element of the window matrix, and as many rows of outputs: what reading the windows so is
  // expected to take, infinite where that does not go; and what packing them is.
  static double cost(const Operand<T>& op, int64_t lanes, int64_t rows);
  static double cost_of_packing(const Operand<T>& op, int64_t rows, bool dense_outputs);

  int64_t vectors() const { return vectors_; }  // of one image
  int64_t plane() const { return plane_; }      // elements from one channel's copy to the next

  // The runs of terms of a chunk of so many channels: within one they are a plane apart. They are counted from where a
  // vector lies.
  void runs(int64_t channels, ScratchVector<TermRun>& runs) const;

  // Whether the lanes of all vectors, one after another, are the positions in their order.
  bool is_dense() const { return row_vectors_ * lanes_ == grid_w_; }

  // Copies what the vectors [first, last), counted over all images, meet in the channels [channel, channel + channels);
  // image i of those that have some of the vectors comes i * channels planes behind `to`.
  void fill(const Table<T>& kernels, const Operand<T>& op, int64_t first, int64_t last, int64_t channel,
            int64_t channels, T* to) const;
  int64_t image_of(int64_t vector) const { return vector / vectors_; }
  // Where a vector of an image lies in each of its copies.
  int64_t offset_of(int64_t vector) const;

  // Lanes of a vector that are neighbouring positions: of them all, those of image 0 first.
  struct Piece {
    int64_t lane, count, position;
  };
  // At most `lanes` of them; lanes that stand for no position are in none.
  int64_t pieces(int64_t vector, Piece* pieces) const;

 private:
  int64_t lanes_, grid_h_, grid_w_;
  struct Phase {
    int64_t y, x;  // its first place in the plane
  };

  void fill_phase(const Table<T>& kernels, const product::WindowGrid& grid, const Phase& phase, const T* plane,
                  int64_t top, int64_t bottom, T* copy) const;

  int64_t first_y_, first_x_;            // of a phase, under the first element of its copy
  int64_t height_, width_, phase_size_;  // of a phase's copy
  int64_t plane_;                        // all of them
  ScratchVector<Phase> phases_;
  int64_t row_vectors_ = 0, vectors_;     // row_vectors_ = 0: the padded plane from end to end
  int64_t reach_;                         // the greatest displacement
  ScratchVector<int64_t> displacements_;  // by tap
};

}  // namespace isobit::kernels::gemm
