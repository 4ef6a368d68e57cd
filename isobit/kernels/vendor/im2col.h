// A convolution's windows as a matrix, for libraries that know matrix products only: copies, and for the gradient of
// src sums of at most kh * kw elements in a fixed order. No thread count reaches a bit.
//
// The window matrix of a group has a row for each (channel of the group, kh, kw) and a column for each position of dst
// (image, oh, ow); its element is the element of src under that tap, +0 on padding. It is made a block of columns at a
// time.
#pragma once

#include <vector>

#include "isobit/base/thread_pool.h"
#include "isobit/kernels/conv/conv.h"

namespace isobit::kernels::vendor {

// Columns of the positions [begin, end) (oh * ow + ow order) of `images` images from `image` on. Several images only
// with all of their positions.
struct ColumnBlock {
  int64_t image = 0, images = 1, begin = 0, end = 0;

  int64_t columns() const { return images * (end - begin); }
};

// All columns in blocks of about equal size: as many whole images as `most` columns hold, or, where one image has more,
// parts of one image. REQUIRES most >= 1.
std::vector<ColumnBlock> column_blocks(int64_t images, int64_t area, int64_t most);

// matrix: (ic / groups * kh * kw) x block.columns(), dense.
template <class T>
void im2col(ThreadPool& pool, const ConvShape& shape, int64_t group, const ColumnBlock& block, const T* src, T* matrix);

// The adjoint: adds every element of the matrix to the element of diff_src it stands for, taps in ascending order,
// blocks in the order of the calls; what falls on padding is dropped. The block that begins an image sets the group's
// planes of that image to +0 first. What is dropped may be overwritten in the matrix.
template <class T>
void col2im(ThreadPool& pool, const ConvShape& shape, int64_t group, const ColumnBlock& block, T* matrix, T* diff_src);

// The planes of a group in a tensor NCHW with `channels` channels in all, `count` of them from `first` on.
struct Planes {
  int64_t channels, first, count, area;

  int64_t offset(int64_t image) const { return (image * channels + first) * area; }
};

// matrix: count x block.columns(), dense.
template <class T>
void gather_planes(ThreadPool& pool, const Planes& planes, const ColumnBlock& block, const T* tensor, T* matrix);

// The other way. bias (of length count, or nullptr) is added, one rounded addition for each element.
template <class T>
void scatter_planes(ThreadPool& pool, const Planes& planes, const ColumnBlock& block, const T* matrix, const T* bias,
                    T* tensor);

// Adds bias to the block where it stands.
template <class T>
void add_bias_to_planes(ThreadPool& pool, const Planes& planes, const ColumnBlock& block, const T* bias, T* tensor);

}  // namespace isobit::kernels::vendor
