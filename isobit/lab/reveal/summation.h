// A sum of K terms as somebody's kernel computes it: a black box that is asked, and never looked into.
#pragma once

#include <cstdint>
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

struct SumRequest {
  Target target = Target::kSum;
  Format format = Format::kFloat32;
  int64_t k = 64;
  int64_t m = 64, n = 64;  // of kMatmul
  int64_t column = 0;      // of kMatmul: which one is looked at
  // kMatmul: whether the m rows are m sums at once (they are computed alike as far as anybody knows), or only row 0.
  bool rows_at_once = true;
  int64_t window = 3;  // of kConv: K is channels * window * window
};

inline constexpr int64_t kMostRows = 4096;  // of m and n

// kUsage, with the field: K from 1 to kMostTerms (softmax: kMostPositiveTerms), ...
Status check(const SumRequest& request);

// The image of kConv is this much higher and wider than the window, and has kConvOutputs output channels.
inline constexpr int64_t kConvMargin = 7;
inline constexpr int64_t kConvOutputs = 16;

}  // namespace isobit::lab::reveal
