// Softmax, log-softmax and cross-entropy over the last axis of [rows, V].
//
// Sum and Max are those of reduce/reduce.h. exp and log are numerics' (float: correctly rounded; double: f64_exp,
// f64_log). T(k) is the integer k rounded to T. Each written operation is rounded once, nothing is contracted.
// NaN results are canonical: a row with a NaN or +inf, or only -inf, is NaN throughout. Determinism class: ordered-1.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// m = Max; t = x - m; e = exp(t); s = Sum(e); dst = e / s.
// row_max (m) and row_sum (s) are [rows] and may be null. dst may be src. REQUIRES V >= 1.
void softmax(const KernelContext&, int64_t rows, int64_t V, const float* src, float* dst, float* row_max = nullptr,
             float* row_sum = nullptr);
void softmax(const KernelContext&, int64_t rows, int64_t V, const double* src, double* dst, double* row_max = nullptr,
             double* row_sum = nullptr);

// y = dst of softmax: p = y * dy; s = Sum(p); d = dy - s; diff_src = y * d.
// row_sum (s) may be null. diff_src may be diff_dst.
void softmax_grad(const KernelContext&, int64_t rows, int64_t V, const float* dst, const float* diff_dst,
                  float* diff_src, float* row_sum = nullptr);
void softmax_grad(const KernelContext&, int64_t rows, int64_t V, const double* dst, const double* diff_dst,
                  double* diff_src, double* row_sum = nullptr);

// Rows come in groups of T queries: row r is query t = r mod T, and its element s is masked when s > t + offset.
// offset may be negative. REQUIRES T >= 1.
struct CausalMask {
  int64_t T = 1;
  int64_t offset = 0;
};

// As above over the elements that are not masked; what stands in a masked place is never looked at, and the result
// there is +0. A row that is masked altogether is +0, its row_max -inf, its row_sum +0.
void softmax_causal(const KernelContext&, int64_t rows, int64_t V, CausalMask, const float* src, float* dst,
                    float* row_max = nullptr, float* row_sum = nullptr);
void softmax_causal(const KernelContext&, int64_t rows, int64_t V, CausalMask, const double* src, double* dst,
                    double* row_max = nullptr, double* row_sum = nullptr);
void softmax_causal_grad(const KernelContext&, int64_t rows, int64_t V, CausalMask, const float* dst,
                         const float* diff_dst, float* diff_src, float* row_sum = nullptr);
void softmax_causal_grad(const KernelContext&, int64_t rows, int64_t V, CausalMask, const double* dst,
                         const double* diff_dst, double* diff_src, double* row_sum = nullptr);

// m, t, e, s as in softmax; l = log(s); dst = t - l.
// row_max (m) and log_sum (l) are [rows] and may be null. dst may be src. REQUIRES V >= 1.
void log_softmax(const KernelContext&, int64_t rows, int64_t V, const float* src, float* dst, float* row_max = nullptr,
                 float* log_sum = nullptr);
void log_softmax(const KernelContext&, int64_t rows, int64_t V, const double* src, double* dst,
                 double* row_max = nullptr, double* log_sum = nullptr);

// y = dst of log_softmax: s = Sum(dy); p = exp(y); q = p * s; diff_src = dy - q.
// row_sum (s) may be null. diff_src may be diff_dst.
void log_softmax_grad(const KernelContext&, int64_t rows, int64_t V, const float* dst, const float* diff_dst,
                      float* diff_src, float* row_sum = nullptr);
void log_softmax_grad(const KernelContext&, int64_t rows, int64_t V, const double* dst, const double* diff_dst,
                      double* diff_src, double* row_sum = nullptr);

// Which label marks a row that takes no part. Labels of other rows are in [0, V) (REQUIRES).
struct CrossEntropyOptions {
  bool has_ignore_index = false;
  int64_t ignore_index = -100;
};

// m, t, s, l as in log_softmax; loss[row] = l - t[label]. An ignored row has loss +0; its row_max and log_sum are as
// for any other. loss, row_max, log_sum are [rows], all required. REQUIRES V >= 1.
void softmax_cross_entropy(const KernelContext&, int64_t rows, int64_t V, CrossEntropyOptions, const float* logits,
                           const int64_t* labels, float* loss, float* row_max, float* log_sum);
void softmax_cross_entropy(const KernelContext&, int64_t rows, int64_t V, CrossEntropyOptions, const double* logits,
                           const int64_t* labels, double* loss, double* row_max, double* log_sum);

// Sum(loss over all rows) / T(count), with count the number of rows that are not ignored; +0 when it is 0.
float cross_entropy_mean(const KernelContext&, int64_t rows, const float* loss, int64_t count);
double cross_entropy_mean(const KernelContext&, int64_t rows, const double* loss, int64_t count);

// The gradient of the mean loss. g = diff_loss / T(count), once; then for every element of a row that is not ignored
// t = x - row_max; v = t - log_sum; p = exp(v); q = p - 1 at the label, q = p elsewhere; diff_logits = q * g.
// Ignored rows are +0. diff_logits may be logits.
void softmax_cross_entropy_grad(const KernelContext&, int64_t rows, int64_t V, CrossEntropyOptions, const float* logits,
                                const int64_t* labels, const float* row_max, const float* log_sum, float diff_loss,
                                int64_t count, float* diff_logits);
void softmax_cross_entropy_grad(const KernelContext&, int64_t rows, int64_t V, CrossEntropyOptions,
                                const double* logits, const int64_t* labels, const double* row_max,
                                const double* log_sum, double diff_loss, int64_t count, double* diff_logits);

// The gradient of the loss per row (no reduction, or a Sum): as above with g = diff_loss[row].
void softmax_cross_entropy_rows_grad(const KernelContext&, int64_t rows, int64_t V, CrossEntropyOptions,
                                     const float* logits, const int64_t* labels, const float* row_max,
                                     const float* log_sum, const float* diff_loss, float* diff_logits);
void softmax_cross_entropy_rows_grad(const KernelContext&, int64_t rows, int64_t V, CrossEntropyOptions,
                                     const double* logits, const int64_t* labels, const double* row_max,
                                     const double* log_sum, const double* diff_loss, double* diff_logits);

}  // namespace isobit::kernels
