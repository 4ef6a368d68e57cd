// Windows of any number of axes laid out as the columns of a matrix, and the adjoint (ONNX Col2Im-18).
//
// Of each plane the matrix has a row for every tap and a column for every window, both in row-major order:
// matrix[plane, tap, window] is the element of the plane under that tap of that window, or lies on padding. Determinism
// class: exact (im2col), ordered-1 (col2im).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isobit/kernels/columns/sliding_axis.h"
#include "isobit/kernels/context.h"

namespace isobit::kernels {

// matrix = the elements of src under the taps, +0 (all bits 0) on padding. element_size is 1, 2, 4 or 8 bytes.
// REQUIRES one axis at least.
void im2col(const KernelContext&, size_t element_size, int64_t planes, std::span<const SlidingAxis> axes,
            const void* src, void* matrix);

// dst = +0, plus every element of the matrix that stands for this place, one rounded add each in ascending order of the
// taps. What stands for padding is left out. NaN results are canonical. REQUIRES one axis at least.
void col2im(const KernelContext&, int64_t planes, std::span<const SlidingAxis> axes, const float* matrix, float* dst);
void col2im(const KernelContext&, int64_t planes, std::span<const SlidingAxis> axes, const double* matrix, double* dst);

}  // namespace isobit::kernels
