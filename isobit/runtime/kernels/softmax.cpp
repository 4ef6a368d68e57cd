#include "isobit/kernels/softmax/softmax.h"

#include "isobit/base/text.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

int64_t rows_of(const Tensor& t) { return t.shape()[-1] == 0 ? 0 : t.elements() / t.shape()[-1]; }

// Whatever the number of queries, the last one sees every key.
k::CausalMask mask_of(const Shape& shape) { return {shape[-2], shape[-1] - shape[-2]}; }

// f(call, rows, V, src, dst, statistic 0, statistic 1)
template <class F>
Kernel over_rows(F f) {
  return finishing({[f](KernelCall& c) -> Status {
                      return by_float_type(c, 0, [&]<class T>(T) {
                        f(c, rows_of(c.in(0)), c.in(0).shape()[-1], c.in(0).data<T>(), c.out().data<T>(),
                          c.statistic<T>(0), c.statistic<T>(1));
                      });
                    },
                    {{0, 0}}});
}

// f(call, rows, V, dst, diff_dst, diff_src, statistic 0)
template <class F>
Kernel grad_over_rows(F f) {
  return finishing({[f](KernelCall& c) -> Status {
                      return by_float_type(c, 0, [&]<class T>(T) {
                        f(c, rows_of(c.in(0)), c.in(0).shape()[-1], c.in(0).data<T>(), c.in(1).data<T>(),
                          c.out().data<T>(), c.statistic<T>(0));
                      });
                    },
                    {{0, 1}}});
}

Status check_labels(const KernelCall& c, int64_t classes) {
  for (int64_t label : c.in(1).span<int64_t>()) {
    if (label < 0 || label >= classes) {
      return unreadable(text_of("node '", c.node.name, "': a label is ", label, ", expected 0 to ", classes - 1));
    }
  }
  return {};
}

Status cross_entropy(KernelCall& c) {
  const int64_t rows = c.in(0).shape()[0], classes = c.in(0).shape()[1];
  ISOBIT_RETURN_IF_ERROR(check_labels(c, classes));
  return by_float_type(c, 0, [&]<class T>(T) {
    k::softmax_cross_entropy(c.ctx, rows, classes, {}, c.in(0).data<T>(), c.in(1).data<int64_t>(), c.out(1).data<T>(),
                             c.out(2).data<T>(), c.out(3).data<T>());
    c.out(0).data<T>()[0] = k::cross_entropy_mean(c.ctx, rows, c.out(1).data<T>(), rows);
  });
}

Status cross_entropy_grad(KernelCall& c) {
  const int64_t rows = c.in(0).shape()[0];
  ISOBIT_RETURN_IF_ERROR(check_labels(c, c.in(0).shape()[1]));
  return by_float_type(c, 0, [&]<class T>(T) {
    if (c.in(4).shape().rank() == 1) {
      k::softmax_cross_entropy_rows_grad(c.ctx, rows, c.in(0).shape()[1], {}, c.in(0).data<T>(),
                                         c.in(1).data<int64_t>(), c.in(2).data<T>(), c.in(3).data<T>(),
                                         c.in(4).data<T>(), c.out().data<T>());
      return;
    }
    k::softmax_cross_entropy_grad(c.ctx, rows, c.in(0).shape()[1], {}, c.in(0).data<T>(), c.in(1).data<int64_t>(),
                                  c.in(2).data<T>(), c.in(3).data<T>(), c.in(4).data<T>()[0], rows, c.out().data<T>());
  });
}

}  // namespace

void add_softmax_kernels(KernelTable& table) {
  table["Softmax"] = over_rows([](KernelCall& c, int64_t rows, int64_t width, const auto* src, auto* dst, auto* max,
                                  auto* sum) { k::softmax(c.ctx, rows, width, src, dst, max, sum); });
  table["LogSoftmax"] = over_rows([](KernelCall& c, int64_t rows, int64_t width, const auto* src, auto* dst, auto* max,
                                     auto* sum) { k::log_softmax(c.ctx, rows, width, src, dst, max, sum); });
  table["isobit.CausalSoftmax"] =
      over_rows([](KernelCall& c, int64_t rows, int64_t width, const auto* src, auto* dst, auto* max, auto* sum) {
        k::softmax_causal(c.ctx, rows, width, mask_of(c.in(0).shape()), src, dst, max, sum);
      });
  table["isobit.SoftmaxGrad"] = grad_over_rows(
      [](KernelCall& c, int64_t rows, int64_t width, const auto* dst, const auto* diff_dst, auto* diff_src, auto* sum) {
        k::softmax_grad(c.ctx, rows, width, dst, diff_dst, diff_src, sum);
      });
  table["isobit.LogSoftmaxGrad"] = grad_over_rows(
      [](KernelCall& c, int64_t rows, int64_t width, const auto* dst, const auto* diff_dst, auto* diff_src, auto* sum) {
        k::log_softmax_grad(c.ctx, rows, width, dst, diff_dst, diff_src, sum);
      });
  table["isobit.CausalSoftmaxGrad"] = grad_over_rows(
      [](KernelCall& c, int64_t rows, int64_t width, const auto* dst, const auto* diff_dst, auto* diff_src, auto* sum) {
        k::softmax_causal_grad(c.ctx, rows, width, mask_of(c.in(0).shape()), dst, diff_dst, diff_src, sum);
      });
  table["isobit.CrossEntropy"] = {cross_entropy};
  table["isobit.CrossEntropyGrad"] = finishing({cross_entropy_grad, {{0, 0}}});
}

}  // namespace isobit::runtime
