// A sum of K terms as somebody's kernel computes it: a black box that is asked, and never looked into.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isobit/base/status.h"

namespace isobit::lab::reveal {

enum class Format { kFloat32, kFloat64 };
inline const char* name_of(Format format) { return format == Format::kFloat32 ? "float32" : "float64"; }

// kUsage, starting with the field.
Expected<Format> parse_format(std::string_view field, std::string_view name);

class Summation {
 public:
  Summation() = default;
  virtual ~Summation() = default;
  Summation(const Summation&) = delete;
  Summation& operator=(const Summation&) = delete;

  virtual int64_t terms() const = 0;  // K
  virtual Format format() const = 0;  // of terms and results
  // How many sums one call computes at no more than the cost of one: the rows of a matrix product.
  virtual int64_t at_once() const { return 1; }
  // results[q] = the sum of terms[q * K ... q * K + K - 1]; values are those of the format, widened. Terms and results
  // may be beyond what a well-meant input has: 2^126 beside 1. Errors: kUnavailable where the kernel cannot be asked.
  virtual Status sums(int64_t count, const double* terms, double* results) = 0;

  // Of an inner product: from now on term l is multiplied by weights[l], K numbers of the format; at first by 1.
  virtual bool has_weights() const { return false; }
  virtual Status weigh(const double*) { return {}; }
};

// What is summed, where its terms come from and in which of several equal places the sum is looked at.
enum class Target {
  kSum,      // the elements of an array
  kDot,      // the products of two arrays of length K: a 1 x K by K x 1 matrix product where there is nothing else
  kMatmul,   // a row times a column of a matrix product m x K by K x n
  kConv,     // a window times the weights of a convolution; terms in the order (channel, row, column)
  kMean,     // the elements of a row that layer normalisation takes the mean of
  kSoftmax,  // the exponentials in the denominator of a softmax: positive terms
};
const char* name_of(Target target);  // "sum", "dot", ...
const std::vector<std::string>& target_names();
// kUsage with the nearest name.
Expected<Target> parse_target(std::string_view name);

// A convolution of one image and one group, and the output of it whose sum is looked at. Of images with one axis, kh,
// ih and stride_h are 1 and there are no pads above and below.
struct ConvForm {
  int64_t axes = 2;
  int64_t ic = 1, ih = 1, iw = 1, oc = 1, kh = 1, kw = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int64_t channel = 0, row = 0, column = 0;  // the output

  // Where its window begins in the image; less than 0 within the padding, whose zeros are no terms.
  int64_t top() const { return row * stride_h - pad_top; }
  int64_t left() const { return column * stride_w - pad_left; }
  // The part of the window that lies in the image.
  int64_t first_tap_row() const { return std::max<int64_t>(0, -top()); }
  int64_t first_tap_column() const { return std::max<int64_t>(0, -left()); }
  int64_t tap_rows() const { return std::min(kh, ih - top()) - first_tap_row(); }
  int64_t tap_columns() const { return std::min(kw, iw - left()) - first_tap_column(); }
  int64_t terms() const { return ic * tap_rows() * tap_columns(); }
  int64_t rows() const { return (ih + pad_top + pad_bottom - kh) / stride_h + 1; }  // of the output
  int64_t columns() const { return (iw + pad_left + pad_right - kw) / stride_w + 1; }
};

struct SumRequest {
  Target target = Target::kSum;
  Format format = Format::kFloat32;
  int64_t k = 64;
  int64_t m = 64, n = 64;  // of kMatmul
  int64_t column = 0;      // of kMatmul: which one is looked at
  // kMatmul: whether the m rows are m sums at once (they are computed alike as far as anybody knows), or only row 0.
  bool rows_at_once = true;
  int64_t window = 3;  // of kConv: K is channels * window * window
  // Of kConv: another form than an image that is kConvMargin higher and wider than the window, and kConvOutputs output
  // channels, of which the first output is looked at. K is then its terms(), and `window` says nothing.
  std::optional<ConvForm> conv = {};

  ConvForm conv_form() const;
};

inline constexpr int64_t kMostRows = 4096;  // of m and n

// kUsage, with the field: K from 1 to kMostTerms (softmax: kMostPositiveTerms), ...
Status check(const SumRequest& request);

inline constexpr int64_t kConvMargin = 7;
inline constexpr int64_t kConvOutputs = 16;

}  // namespace isobit::lab::reveal
