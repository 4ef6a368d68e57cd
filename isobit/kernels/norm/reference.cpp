#include "isobit/kernels/norm/reference.h"

#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/norm/formulas.h"
#include "isobit/kernels/reduce/scalar.h"

namespace isobit::kernels::reference {
namespace {

void mean_and_variance(const std::vector<float>& x, float* mean, float* var) {
  const numerics::StridedSegment segment{x.data(), static_cast<int64_t>(x.size()), 1};
  *mean = numerics::mean_exactly(&segment, 1);
  *var = numerics::variance_exactly(&segment, 1);
}

void mean_and_variance(const std::vector<double>& x, double* mean, double* var) {
  const double count = static_cast<double>(x.size());
  const double m = sum_of(x) / count;
  std::vector<double> q(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = x[i] - m;
    q[i] = d * d;
  }
  *mean = canonical(m);
  *var = canonical(sum_of(q) / count);
}

// f(index) for every element of channel c, in (n, s) order.
template <class F>
void for_channel(BatchNormShape b, int64_t c, F f) {
  for (int64_t n = 0; n < b.n; ++n) {
    for (int64_t s = 0; s < b.s; ++s) f((n * b.c + c) * b.s + s);
  }
}

}  // namespace

template <class T>
void batch_norm_stats(BatchNormShape b, int64_t channels, const T* src, T* mean, T* var) {
  std::vector<T> x;
  for (int64_t c = 0; c < channels; ++c) {
    x.clear();
    for_channel(b, c, [&](int64_t i) { x.push_back(src[i]); });
    mean_and_variance(x, &mean[c], &var[c]);
  }
}

template <class T>
void batch_norm_apply(BatchNormShape b, T eps, const T* src, const T* mean, const T* var, const T* scale, const T* bias,
                      T* dst) {
  for (int64_t c = 0; c < b.c; ++c) {
    const T r = inverse_root_of(var[c], eps);
    for_channel(b, c, [&](int64_t i) { dst[i] = scaled_of(normalised(src[i], mean[c], r), scale[c], &bias[c]); });
  }
}

template <class T>
void batch_norm_running(int64_t c, int64_t count, T momentum, const T* running, const T* current, T* dst) {
  for (int64_t i = 0; i < c; ++i) dst[i] = running_of(running[i], current[i], momentum, count);
}

template <class T>
void batch_norm_grad_sums(BatchNormShape b, int64_t channels, T eps, const BatchNormGradInputs<T>& in, T* diff_scale,
                          T* diff_bias) {
  std::vector<T> dy, p;
  for (int64_t c = 0; c < channels; ++c) {
    const T r = inverse_root_of(in.var[c], eps);
    dy.clear();
    p.clear();
    for_channel(b, c, [&](int64_t i) {
      const T h = normalised(in.src[i], in.mean[c], r);
      dy.push_back(in.diff_dst[i]);
      p.push_back(in.diff_dst[i] * h);
    });
    diff_bias[c] = sum_of(dy);
    diff_scale[c] = sum_of(p);
  }
}

template <class T>
void batch_norm_grad_data(BatchNormShape shape, int64_t elements, T eps, const BatchNormGradInputs<T>& in,
                          const T* diff_scale, const T* diff_bias, T* diff_src) {
  const T count = static_cast<T>(elements);
  for (int64_t c = 0; c < shape.c; ++c) {
    const T r = inverse_root_of(in.var[c], eps);
    const T a = diff_bias[c] / count;
    const T b = diff_scale[c] / count;
    const T k = in.scale[c] * r;
    for_channel(shape, c, [&](int64_t i) {
      const T w = centred_of(in.diff_dst[i], normalised(in.src[i], in.mean[c], r), a, b);
      diff_src[i] = canonical(w * k);
    });
  }
}

template <class T>
void layer_norm(int64_t rows, int64_t C, T eps, const T* src, const T* scale, const T* bias,
                const LayerNormOutputs<T>& out) {
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<T> x(src + row * C, src + (row + 1) * C);
    T v;
    mean_and_variance(x, &out.mean[row], &v);
    if (out.var) out.var[row] = v;
    out.inv_std[row] = inverse_root_of(v, eps);
    for (int64_t c = 0; c < C; ++c) {
      const T h = normalised(x[c], out.mean[row], out.inv_std[row]);
      out.dst[row * C + c] = scaled_of(h, scale[c], bias ? bias + c : nullptr);
    }
  }
}

template <class T>
void layer_norm_grad_params(int64_t rows, int64_t C, int64_t columns, const LayerNormGradInputs<T>& in, T* diff_scale,
                            T* diff_bias) {
  std::vector<T> dy, p;
  for (int64_t c = 0; c < columns; ++c) {
    dy.clear();
    p.clear();
    for (int64_t row = 0; row < rows; ++row) {
      const T h = normalised(in.src[row * C + c], in.mean[row], in.inv_std[row]);
      dy.push_back(in.diff_dst[row * C + c]);
      p.push_back(in.diff_dst[row * C + c] * h);
    }
    if (diff_scale) diff_scale[c] = sum_of(p);
    if (diff_bias) diff_bias[c] = sum_of(dy);
  }
}

template <class T>
void layer_norm_grad_data(int64_t rows, int64_t C, const LayerNormGradInputs<T>& in, T* diff_src, T* sum_g, T* sum_gh) {
  const T count = static_cast<T>(C);
  std::vector<T> h(static_cast<size_t>(C)), g(h), e(h);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < C; ++c) {
      h[c] = normalised(in.src[row * C + c], in.mean[row], in.inv_std[row]);
      g[c] = in.diff_dst[row * C + c] * in.scale[c];
      e[c] = g[c] * h[c];
    }
    const T sg = sum_of(g), sgh = sum_of(e);
    if (sum_g) sum_g[row] = sg;
    if (sum_gh) sum_gh[row] = sgh;
    const T a = sg / count, b = sgh / count;
    for (int64_t c = 0; c < C; ++c) {
      const T w = centred_of(g[c], h[c], a, b);
      diff_src[row * C + c] = canonical(w * in.inv_std[row]);
    }
  }
}

#define ISOBIT_INSTANTIATE(T)                                                                                          \
  template void batch_norm_stats<T>(BatchNormShape, int64_t, const T*, T*, T*);                                        \
  template void batch_norm_apply<T>(BatchNormShape, T, const T*, const T*, const T*, const T*, const T*, T*);          \
  template void batch_norm_running<T>(int64_t, int64_t, T, const T*, const T*, T*);                                    \
  template void batch_norm_grad_sums<T>(BatchNormShape, int64_t, T, const BatchNormGradInputs<T>&, T*, T*);            \
  template void batch_norm_grad_data<T>(BatchNormShape, int64_t, T, const BatchNormGradInputs<T>&, const T*, const T*, \
                                        T*);                                                                           \
  template void layer_norm<T>(int64_t, int64_t, T, const T*, const T*, const T*, const LayerNormOutputs<T>&);          \
  template void layer_norm_grad_params<T>(int64_t, int64_t, int64_t, const LayerNormGradInputs<T>&, T*, T*);           \
  template void layer_norm_grad_data<T>(int64_t, int64_t, const LayerNormGradInputs<T>&, T*, T*, T*);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels::reference
