// The window matrix of a convolution (product/windows.h) laid out, for libraries that know matrix products only:
// copies, and for the gradient of src sums of at most kh * kw elements in a fixed order. No thread count reaches a bit.
//
// It is made a block of columns at a time, for one group: `planes` is where the group's channels begin in the first
// image. REQUIRES forward windows (their divisors are 1).
#pragma once

#include <vector>

#include "isobit/base/thread_pool.h"
#include "isobit/kernels/product/windows.h"

namespace isobit::kernels::product {

// Columns of the positions [begin, end) (oh * ow + ow order) of `images` images from `image` on. Several images only
// with all of their positions.
struct ColumnBlock {
  int64_t image = 0, images = 1, begin = 0, end = 0;

  int64_t columns() const { return images * (end - begin); }
};

// All columns in blocks of about equal size: as many whole images as `most` columns hold, or, where one image has more,
// parts of one image. REQUIRES most >= 1.
std::vector<ColumnBlock> column_blocks(int64_t images, int64_t area, int64_t most);

// matrix: (channels * taps) x block.columns(), dense.
template <class T>
void im2col(ThreadPool& pool, const Windows& windows, const ColumnBlock& block, const T* planes, T* matrix);

// The adjoint: adds every element of the matrix to the element of `planes` it stands for, taps in ascending order,
// blocks in the order of the calls; what falls on padding is dropped. The block that begins an image sets the group's
// planes of that image to +0 first. What is dropped may be overwritten in the matrix.
template <class T>
void col2im(ThreadPool& pool, const Windows& windows, const ColumnBlock& block, T* matrix, T* planes);

// Some neighbouring planes of each image of a tensor, from where they begin in the first one.
struct Planes {
  int64_t count, area, image_stride;
};

// matrix: count x block.columns(), dense.
template <class T>
void gather_planes(ThreadPool& pool, const Planes& shape, const ColumnBlock& block, const T* planes, T* matrix);

// The other way. bias (of length count, or nullptr) is added, one rounded addition for each element.
template <class T>
void scatter_planes(ThreadPool& pool, const Planes& shape, const ColumnBlock& block, const T* matrix, const T* bias,
                    T* planes);

// Adds bias to the block where it stands.
template <class T>
void add_bias_to_planes(ThreadPool& pool, const Planes& shape, const ColumnBlock& block, const T* bias, T* planes);

}  // namespace isobit::kernels::product
