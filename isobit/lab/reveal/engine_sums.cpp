#include "isobit/lab/reveal/engine_sums.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "isobit/base/scratch.h"
#include "isobit/kernels/inner_products.h"
#include "isobit/kernels/norm/layer_norm.h"
#include "isobit/kernels/reduce/reduce.h"
#include "isobit/kernels/softmax/softmax.h"
#include "isobit/numerics/functions.h"

namespace isobit::lab::reveal {

namespace {

using kernels::KernelContext;

// Operands begin at multiples of 64 bytes, as ScratchVector has them: a library may choose its kernel by that.
template <class T>
class EngineSummation : public Summation {
 public:
  EngineSummation(const SumRequest& request, const KernelContext& kernel) : request_(request), kernel_(kernel) {}
  int64_t terms() const override { return request_.k; }
  Format format() const override { return request_.format; }

 protected:
  const SumRequest request_;
  const KernelContext kernel_;
};

// Rows of an array, each reduced by itself.
template <class T>
class RowSums final : public EngineSummation<T> {
 public:
  using EngineSummation<T>::EngineSummation;
  int64_t at_once() const override { return 64; }

  Status sums(int64_t count, const double* terms, double* results) override {
    const int64_t k = this->request_.k;
    src_.assign(terms, terms + count * k);
    dst_.resize(static_cast<size_t>(count));
    if (this->request_.target == Target::kSum) {
      kernels::reduce_sum(this->kernel_, kernels::AxisView{count, k, 1}, src_.data(), dst_.data());
      std::copy(dst_.begin(), dst_.end(), results);
    } else if (this->request_.target == Target::kMean) {
      mean(count, results);
    } else {
      softmax(count, terms, results);
    }
    return {};
  }

 private:
  void mean(int64_t count, double* results) {
    const int64_t k = this->request_.k;
    const std::vector<T> scale(static_cast<size_t>(k), T(1));
    std::vector<T> normal(src_.size()), inverse(dst_.size());
    kernels::layer_norm(this->kernel_, count, k, T(1e-5), src_.data(), scale.data(), static_cast<const T*>(nullptr),
                        {normal.data(), dst_.data(), inverse.data()});
    for (int64_t r = 0; r < count; ++r) results[r] = dst_[static_cast<size_t>(r)] * static_cast<double>(k);
  }

  // Terms 0, 1 and a small one are exponentials; the quotient of a 1 tells the denominator.
  void softmax(int64_t count, const double* terms, double* results) {
    const int64_t k = this->request_.k;
    for (size_t i = 0; i < src_.size(); ++i)
      src_[i] = static_cast<T>(terms[i] > 0 ? numerics::f64_log(terms[i]) : -1000);
    std::vector<T> quotients(src_.size());
    kernels::softmax(this->kernel_, count, k, src_.data(), quotients.data());
    for (int64_t r = 0; r < count; ++r) {
      const T* row = quotients.data() + r * k;
      results[r] = 1 / static_cast<double>(*std::max_element(row, row + k));
    }
  }

  ScratchVector<T> src_, dst_;
};

template <class T>
void matmul(const KernelContext& kernel, const kernels::MatmulArgs<T>& args, Status& status) {
  if (auto* products = kernel.products<T>()) {
    status = products->matmul(args);
  } else {
    kernels::matmul(kernel, args);
  }
}

// Rows times one column. kDot is the product of a row and a column.
template <class T>
class ProductSums final : public EngineSummation<T> {
 public:
  ProductSums(const SumRequest& request, const KernelContext& kernel) : EngineSummation<T>(request, kernel) {
    if (request.target == Target::kDot) m_ = n_ = 1;
    if (request.target == Target::kMatmul) m_ = request.m, n_ = request.n, column_ = request.column;
    a_.assign(static_cast<size_t>(m_ * request.k), T(1));
    b_.assign(static_cast<size_t>(n_ * request.k), T(1));
    c_.resize(static_cast<size_t>(m_ * n_));
  }
  int64_t at_once() const override { return this->request_.rows_at_once ? m_ : 1; }
  bool has_weights() const override { return true; }
  Status weigh(const double* weights) override {
    for (int64_t l = 0; l < this->request_.k; ++l) {
      for (int64_t j = 0; j < n_; ++j) b_[static_cast<size_t>(l * n_ + j)] = static_cast<T>(weights[l]);
    }
    return {};
  }

  Status sums(int64_t count, const double* terms, double* results) override {
    const int64_t k = this->request_.k, call = at_once();
    kernels::MatmulArgs<T> args;
    args.m = m_, args.n = n_, args.k = k;
    args.a = a_.data(), args.a_row_stride = k;
    args.b = b_.data(), args.b_row_stride = n_;
    args.c = c_.data(), args.c_row_stride = n_;
    for (int64_t done = 0; done < count; done += call) {
      const int64_t rows = std::min(call, count - done);
      std::copy(terms + done * k, terms + (done + rows) * k, a_.begin());
      Status status;
      matmul(this->kernel_, args, status);
      ISOBIT_RETURN_IF_ERROR(status);
      for (int64_t r = 0; r < rows; ++r) results[done + r] = c_[static_cast<size_t>(r * n_ + column_)];
    }
    return {};
  }

 private:
  int64_t m_ = 1, n_ = 1, column_ = 0;
  ScratchVector<T> a_, b_, c_;
};

// One output of a convolution; the image is 1 outside its window.
template <class T>
class ConvSums final : public EngineSummation<T> {
 public:
  ConvSums(const SumRequest& request, const KernelContext& kernel)
      : EngineSummation<T>(request, kernel), form_(request.conv_form()) {
    shape_ = {.ic = form_.ic, .ih = form_.ih, .iw = form_.iw, .oc = form_.oc, .kh = form_.kh, .kw = form_.kw};
    shape_.stride_h = form_.stride_h, shape_.stride_w = form_.stride_w;
    shape_.pad_top = form_.pad_top, shape_.pad_left = form_.pad_left;
    shape_.pad_bottom = form_.pad_bottom, shape_.pad_right = form_.pad_right;
    src_.assign(static_cast<size_t>(shape_.ic * shape_.ih * shape_.iw), T(1));
    weights_.assign(static_cast<size_t>(form_.oc * form_.ic * form_.kh * form_.kw), T(1));
    dst_.resize(static_cast<size_t>(shape_.oc * shape_.oh() * shape_.ow()));
  }
  bool has_weights() const override { return true; }
  Status weigh(const double* weights) override {
    for (int64_t o = 0; o < form_.oc; ++o) {
      const double* next = weights;
      for (int64_t c = 0; c < form_.ic; ++c) {
        for (int64_t y = 0; y < form_.tap_rows(); ++y) {
          T* row = weights_.data() + ((o * form_.ic + c) * form_.kh + form_.first_tap_row() + y) * form_.kw;
          for (int64_t x = 0; x < form_.tap_columns(); ++x) row[form_.first_tap_column() + x] = static_cast<T>(*next++);
        }
      }
    }
    return {};
  }

  Status sums(int64_t count, const double* terms, double* results) override {
    for (int64_t q = 0; q < count; ++q) {
      for (int64_t c = 0; c < shape_.ic; ++c) {
        for (int64_t y = 0; y < form_.tap_rows(); ++y) {
          T* row = src_.data() + (c * form_.ih + form_.top() + form_.first_tap_row() + y) * form_.iw + form_.left();
          for (int64_t x = 0; x < form_.tap_columns(); ++x)
            row[form_.first_tap_column() + x] = static_cast<T>(*terms++);
        }
      }
      if (auto* products = this->kernel_.template products<T>()) {
        ISOBIT_RETURN_IF_ERROR(products->conv_forward(shape_, src_.data(), weights_.data(), nullptr, dst_.data()));
      } else {
        kernels::conv_forward(this->kernel_, shape_, src_.data(), weights_.data(), nullptr, dst_.data());
      }
      results[q] = dst_[static_cast<size_t>((form_.channel * shape_.oh() + form_.row) * shape_.ow() + form_.column)];
    }
    return {};
  }

 private:
  const ConvForm form_;
  kernels::ConvShape shape_;
  ScratchVector<T> src_, weights_, dst_;
};

template <class T>
std::unique_ptr<Summation> make(const SumRequest& request, const KernelContext& kernel) {
  switch (request.target) {
    case Target::kDot:
    case Target::kMatmul:
      return std::make_unique<ProductSums<T>>(request, kernel);
    case Target::kConv:
      return std::make_unique<ConvSums<T>>(request, kernel);
    case Target::kSum:
    case Target::kMean:
    case Target::kSoftmax:
      break;
  }
  return std::make_unique<RowSums<T>>(request, kernel);
}

}  // namespace

Expected<std::unique_ptr<Summation>> open_summation(const SumRequest& request, platform::Engine& engine) {
  ISOBIT_RETURN_IF_ERROR(check(request));
  const bool narrow = request.format == Format::kFloat32;
  // An inner product of the ordered kernels where the platform has no library: these arithmetics promise nothing.
  ISOBIT_TRY(const platform::Context context,
             engine.context_for(platform::arithmetic_of(narrow ? "float32" : "float64")));
  if (narrow) return make<float>(request, context.kernels());
  return make<double>(request, context.kernels());
}

}  // namespace isobit::lab::reveal
