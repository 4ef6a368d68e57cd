// One side of a product as engine.h takes it: blocks of its lines in float64, and the sums of their squares.
// Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "isobit/kernels/correct/matmul.h"
#include "isobit/kernels/correct/table.h"
#include "isobit/kernels/product/lines.h"

namespace isobit::kernels::correct {

class Source {
 public:
  Source(const CorrectContext& ctx, const product::Lines<float>& lines);

  // Whether fill writes lines (true) or, for each l, the elements of all lines (false) contiguously.
  bool k_contiguous() const;
  // The line where its elements are neighbours in memory, else null.
  const float* contiguous(int64_t line) const { return lines_.contiguous(line); }
  // Element l of every line, where all are neighbours in memory and those of l + 1 follow after ld elements; else null.
  struct Rows {
    const float* from = nullptr;
    int64_t ld = 0;
  };
  Rows rows() const;
  // Elements [l0, l1) of lines [first, last): at out[(line - first) * ld + (l - l0)] if k_contiguous(), else at
  // out[(l - l0) * ld + (line - first)].
  void fill(const Table& loops, int64_t first, int64_t last, int64_t l0, int64_t l1, double* out, int64_t ld) const;

  // Whether line_squares has them without laying the lines out.
  bool knows_squares() const { return !squares_.empty(); }
  // out[q] = the sum of squares of line first + q up to rounding, or more, but finite only if that line is.
  // REQUIRES knows_squares().
  void line_squares(int64_t first, int64_t last, double* out) const;

 private:
  void square_places(const Table& loops, ThreadPool& pool);
  void square_channels(const Table& loops, ThreadPool& pool);
  void fill_strided(const Table& loops, int64_t first, int64_t last, int64_t l0, int64_t l1, double* out,
                    int64_t ld) const;
  void position_squares(int64_t first, int64_t last, double* out) const;

  const product::Lines<float> lines_;
  // Where lines are positions: of each place of each image, summed over channels. Where they are taps: of each channel,
  // which is at least that of each of its taps.
  std::vector<double> squares_;
};

// Lines [first, last) of a source, as far as they are laid out: terms [l0, l1) in float64.
struct LaidOut {
  const Source* source = nullptr;
  double* block = nullptr;    // not owned
  std::vector<double> norms;  // 2-norms of the lines or a little more
  int64_t first = -1, last = -1, l0 = -1, l1 = -1;
  bool add_squares = true;  // of what is laid out, to the norms

  int64_t count() const { return last - first; }
  double norm(int64_t line) const { return norms[static_cast<size_t>(line - first)]; }
  int64_t ld() const { return source->k_contiguous() ? l1 - l0 : last - first; }
  // Where element (first, l) is.
  const double* at(int64_t l) const { return block + (l - l0) * (source->k_contiguous() ? 1 : ld()); }
};

// Brings lines [first, last) and terms [l0, l1) into the block, unless they are there, and adds to the norms; with
// last_block these are complete. Blocks come in ascending order of their terms.
void load(const CorrectContext& ctx, LaidOut& side, int64_t first, int64_t last, int64_t l0, int64_t l1,
          bool last_block);

// Takes lines [first, last) of k terms with their norms, unless they are there, and lays none of them out.
void measure(const CorrectContext& ctx, LaidOut& side, int64_t first, int64_t last, int64_t k);

}  // namespace isobit::kernels::correct
