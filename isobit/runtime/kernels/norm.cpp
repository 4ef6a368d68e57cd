#include "isobit/base/scratch.h"
#include "isobit/base/text.h"
#include "isobit/kernels/movement/movement.h"
#include "isobit/kernels/norm/batch_norm.h"
#include "isobit/kernels/norm/layer_norm.h"
#include "isobit/kernels/norm/local_response_norm.h"
#include "isobit/kernels/norm/rms_norm.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

k::BatchNormShape batch_shape(const Shape& src) { return {src[0], src[1], src.elements(2, src.rank())}; }

double epsilon_of(const KernelSite& site) { return site.attributes().real("epsilon", 1e-5); }

// run(call, epsilon)
template <class F>
std::function<RunKernel(const KernelSite&)> with_epsilon(F run) {
  return [run](const KernelSite& site) -> RunKernel {
    return [run, epsilon = epsilon_of(site)](KernelCall& c) { return run(c, epsilon); };
  };
}

Status batch_stats(KernelCall& c) {
  if (c.in(0).elements() == 0) return unreadable(text_of("node '", c.node.name, "': statistics of no elements"));
  return by_float_type(c, 0, [&]<class T>(T) {
    k::batch_norm_stats(c.ctx, batch_shape(c.in(0).shape()), c.in(0).data<T>(), c.out(0).data<T>(), c.out(1).data<T>());
  });
}

// (src, scale, bias, mean, var): the batch's statistics in training, the running ones in inference.
Status batch_apply(KernelCall& c, double epsilon) {
  return by_float_type(c, 0, [&]<class T>(T) {
    k::batch_norm_apply(c.ctx, batch_shape(c.in(0).shape()), static_cast<T>(epsilon), c.in(0).data<T>(),
                        c.in(3).data<T>(), c.in(4).data<T>(), c.in(1).data<T>(), c.in(2).data<T>(), c.out().data<T>());
  });
}

RunKernel running_update(const KernelSite& site) {
  const int64_t count = site.attributes().integer("count", 0);
  const double momentum = site.attributes().real("momentum", 0.9);
  return [count, momentum](KernelCall& c) {
    return by_float_type(c, 0, [&]<class T>(T) {
      k::batch_norm_running(c.ctx, c.in(0).elements(), count, static_cast<T>(momentum), c.in(0).data<T>(),
                            c.in(1).data<T>(), c.out().data<T>());
    });
  };
}

Status batch_grad(KernelCall& c, double epsilon) {
  return by_float_type(c, 0, [&]<class T>(T) {
    const k::BatchNormGradInputs<T> in{.src = c.in(0).data<T>(),
                                       .mean = c.in(1).data<T>(),
                                       .var = c.in(2).data<T>(),
                                       .scale = c.in(3).data<T>(),
                                       .diff_dst = c.in(4).data<T>()};
    k::batch_norm_grad(c.ctx, batch_shape(c.in(0).shape()), static_cast<T>(epsilon), in, c.out(0).data<T>(),
                       c.out(1).data<T>(), c.out(2).data<T>());
  });
}

// Elements from an axis on are a row.
struct RowAxis {
  explicit RowAxis(const KernelSite& site) {
    const std::vector<int64_t>& dims = site.in(0).dims;
    const int64_t given = site.attributes().integer("axis", -1);
    axis = static_cast<int>(given < 0 ? given + static_cast<int64_t>(dims.size()) : given);
    row = Shape(std::vector<int64_t>(dims.begin() + axis, dims.end()));
  }
  int axis;
  Shape row;
};

struct Rows {
  int64_t rows, width;
};
Expected<Rows> rows_of(const KernelCall& c, const RowAxis& at) {
  const Rows rows = {c.in(0).shape().elements(0, at.axis), at.row.elements()};
  if (rows.width == 0 && rows.rows > 0) return unreadable(text_of("node '", c.node.name, "': rows of no elements"));
  return rows;
}

// A scale or a bias with an element for each of a row; where it has fewer, they are repeated in `memory`.
template <class T>
const T* parameter_of_row(const KernelCall& c, int input, const RowAxis& at, ScratchVector<T>& memory) {
  const Tensor& given = c.in(input);
  if (given.elements() == at.row.elements()) return given.data<T>();
  memory.resize(static_cast<size_t>(at.row.elements()));
  k::expand(c.ctx, sizeof(T), given.shape(), at.row, given.raw(), memory.data());
  return memory.data();
}

RunKernel layer_norm(const KernelSite& site) {
  return [at = RowAxis(site), epsilon = epsilon_of(site)](KernelCall& c) -> Status {
    ISOBIT_TRY(const Rows of, rows_of(c, at));
    return by_float_type(c, 0, [&]<class T>(T) {
      ScratchVector<T> scale, bias;
      k::layer_norm(c.ctx, of.rows, of.width, static_cast<T>(epsilon), c.in(0).data<T>(),
                    parameter_of_row<T>(c, 1, at, scale), c.has(2) ? parameter_of_row<T>(c, 2, at, bias) : nullptr,
                    {.dst = c.out(0).data<T>(),
                     .mean = c.out(1).data<T>(),
                     .inv_std = c.out(2).data<T>(),
                     .var = c.statistic<T>(1)});
    });
  };
}

RunKernel layer_grad(const KernelSite& site) {
  return [at = RowAxis(site)](KernelCall& c) -> Status {
    ISOBIT_TRY(const Rows of, rows_of(c, at));
    return by_float_type(c, 0, [&]<class T>(T) {
      const k::LayerNormGradInputs<T> in{.src = c.in(0).data<T>(),
                                         .mean = c.in(1).data<T>(),
                                         .inv_std = c.in(2).data<T>(),
                                         .scale = c.in(3).data<T>(),
                                         .diff_dst = c.in(4).data<T>()};
      k::layer_norm_grad_params(c.ctx, of.rows, of.width, in, c.out(1).data<T>(), c.out(2).data<T>());
      k::layer_norm_grad_data(c.ctx, of.rows, of.width, in, c.out(0).data<T>(), c.statistic<T>(0), c.statistic<T>(1));
    });
  };
}

RunKernel rms_norm(const KernelSite& site) {
  return [at = RowAxis(site), epsilon = epsilon_of(site)](KernelCall& c) -> Status {
    ISOBIT_TRY(const Rows of, rows_of(c, at));
    return by_float_type(c, 0, [&]<class T>(T) {
      ScratchVector<T> scale;
      k::rms_norm(c.ctx, of.rows, of.width, static_cast<T>(epsilon), c.in(0).data<T>(),
                  parameter_of_row<T>(c, 1, at, scale), c.out().data<T>(), c.statistic<T>(0));
    });
  };
}

RunKernel rms_grad(const KernelSite& site) {
  return [at = RowAxis(site), epsilon = epsilon_of(site)](KernelCall& c) -> Status {
    ISOBIT_TRY(const Rows of, rows_of(c, at));
    return by_float_type(c, 0, [&]<class T>(T) {
      k::rms_norm_grad(
          c.ctx, of.rows, of.width, static_cast<T>(epsilon),
          k::RmsNormGradInputs<T>{.src = c.in(0).data<T>(), .scale = c.in(1).data<T>(), .diff_dst = c.in(2).data<T>()},
          k::RmsNormGradOutputs<T>{.diff_src = c.out(0).data<T>(),
                                   .diff_scale = c.out(1).data<T>(),
                                   .squares = c.statistic<T>(0),
                                   .sum_gh = c.statistic<T>(1)});
    });
  };
}

RunKernel response_norm(const KernelSite& site) {
  const double alpha = site.attributes().real("alpha", 1e-4), beta = site.attributes().real("beta", 0.75),
               bias = site.attributes().real("bias", 1);
  const int64_t size = site.attributes().integer("size", 1);
  return [=](KernelCall& c) {
    const k::BatchNormShape shape = batch_shape(c.in(0).shape());
    return by_float_type(c, 0, [&]<class T>(T) {
      const k::ResponseNormFactors<T> factors = {
          .alpha = static_cast<T>(alpha), .beta = static_cast<T>(beta), .bias = static_cast<T>(bias)};
      k::local_response_norm(c.ctx, {.n = shape.n, .c = shape.c, .s = shape.s, .size = size}, factors,
                             c.in(0).data<T>(), c.out().data<T>(), c.statistic<T>(0));
    });
  };
}

}  // namespace

void add_norm_kernels(KernelTable& table) {
  table["BatchNormalization"] = finishing(with_parameters(with_epsilon(batch_apply), {{0, 0}}));
  table["isobit.BatchNormApply"] = finishing(with_parameters(with_epsilon(batch_apply), {{0, 0}}));
  table["isobit.BatchStatistics"] = {batch_stats};
  table["isobit.RunningUpdate"] = with_parameters(running_update, {{0, 0}});
  table["isobit.BatchNormGrad"] = finishing(with_parameters(with_epsilon(batch_grad), {{0, 4}}));
  table["LayerNormalization"] = finishing(with_parameters(layer_norm));
  table["isobit.LayerNormGrad"] = finishing(with_parameters(layer_grad));
  table["RMSNormalization"] = finishing(with_parameters(rms_norm, {{0, 0}}));
  table["isobit.RmsNormGrad"] = with_parameters(rms_grad);
  table["LRN"] = with_parameters(response_norm);
}

}  // namespace isobit::runtime
