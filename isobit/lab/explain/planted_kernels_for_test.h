// Kernels of a test's own in place of one operator, as a platform: the executor runs everything else as it always does.
#pragma once

#include <cmath>
#include <limits>

#include "isobit/graph/op.h"
#include "isobit/lab/explain/decorated_backend.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"
#include "isobit/platform/convolutions.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::lab::explain::testing {

using Plant = std::function<Status(runtime::KernelCall&, const runtime::RunKernel& usual)>;

// Runs graphs with our own kernels, but for the operator whose first output has this name.
class PlantedBackend final : public backends::Backend {
 public:
  PlantedBackend(const std::string& value, Plant plant)
      : backend_([value, plant = std::move(plant)](const runtime::KernelSite& site, runtime::RunKernel usual) {
          if (site.out().name != value) return usual;
          return runtime::RunKernel([plant, usual](runtime::KernelCall& call) { return plant(call, usual); });
        }) {}
  Expected<std::unique_ptr<backends::Program>> compile(const graph::Graph& graph, const platform::Context& context,
                                                       const runtime::Limits& limits) override {
    return backend_.compile(graph, context, limits);
  }

 private:
  DecoratedBackend backend_;
};

// The elements of operands that an element of the output is made of.
inline std::vector<graph::ElementSource> sources_of(const runtime::KernelCall& call, int64_t element) {
  graph::ElementQuery query{.node = call.node};
  for (const Tensor* t : call.inputs) query.inputs.push_back(t == nullptr ? std::vector<int64_t>() : t->shape().dims());
  for (const Tensor& t : call.outputs) query.outputs.push_back(t.shape().dims());
  query.operand = [&](int i) { return call.inputs[static_cast<size_t>(i)]; };
  query.element = element;
  return graph::op_of(call.node).output(0).sources(query);
}

enum class Order { kAscending, kDescending, kPairwise, kLanes };

// A plain loop over the terms of every element.
struct Sum {
  Order order = Order::kAscending;
  bool fused = false, wide = false, toward_zero = false, flushes = false, reciprocal = false;
  bool mean = false;
};

inline float without_subnormals(float x) {
  return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}
// Towards zero, by another way than the code under test goes: the last bit is taken back where it was rounded up.
inline float truncated_sum(float x, float y) {
  const auto exact = static_cast<__float128>(x) + static_cast<__float128>(y);
  auto sum = static_cast<float>(exact);
  const __float128 size = exact < 0 ? -exact : exact, found = std::abs(sum);
  if (found > size) sum = std::nextafter(sum, 0.0f);
  return sum;
}

class SumLoop {
 public:
  SumLoop(const Sum& how, std::vector<float> a, std::vector<float> b) : how_(how), a_(std::move(a)), b_(std::move(b)) {}

  float total() const {
    const size_t k = a_.size();
    if (how_.wide) {
      double sum = 0;
      for (size_t t = 0; t < k; ++t) sum += static_cast<double>(a_[t]) * static_cast<double>(b_[t]);
      return static_cast<float>(sum);
    }
    switch (how_.order) {
      case Order::kAscending:
        return chain(0, k, 1);
      case Order::kDescending: {
        float sum = 0;
        for (size_t t = k; t-- > 0;) sum = joined(sum, t);
        return sum;
      }
      case Order::kPairwise:
        return halves(0, k);
      case Order::kLanes:
        break;
    }
    const float even = chain(0, k, 2), odd = chain(1, k, 2);
    return plus(even, odd);
  }
  float plus(float x, float y) const {
    const float sum = how_.toward_zero ? truncated_sum(x, y) : x + y;
    return how_.flushes ? without_subnormals(sum) : sum;
  }

 private:
  float product(size_t t) const {
    const float p = a_[t] * b_[t];
    return how_.flushes ? without_subnormals(p) : p;
  }
  float joined(float sum, size_t t) const { return how_.fused ? std::fma(a_[t], b_[t], sum) : plus(sum, product(t)); }
  float chain(size_t begin, size_t end, size_t step) const {
    float sum = 0;
    for (size_t t = begin; t < end; t += step) sum = joined(sum, t);
    return sum;
  }
  float halves(size_t begin, size_t end) const {
    if (end - begin <= 2) return chain(begin, end, 1);
    const size_t middle = begin + (end - begin) / 2;
    return plus(halves(begin, middle), halves(middle, end));
  }

  const Sum how_;
  const std::vector<float> a_, b_;
};

// What the elements of an output are made of, found once for a plant.
class Places {
 public:
  const std::vector<graph::ElementSource>& of(const runtime::KernelCall& call, int64_t element) {
    if (sources_.empty()) {
      for (int64_t e = 0; e < call.outputs[0].elements(); ++e) sources_.push_back(sources_of(call, e));
    }
    return sources_[static_cast<size_t>(element)];
  }

 private:
  std::vector<std::vector<graph::ElementSource>> sources_;
};

inline Plant sums(const Sum& how) {
  return [how, places = std::make_shared<Places>()](runtime::KernelCall& call, const runtime::RunKernel&) -> Status {
    for (int64_t e = 0; e < call.out().elements(); ++e) {
      std::vector<float> a, b;
      float added = 0;
      bool adds = false;
      for (const graph::ElementSource& s : places->of(call, e)) {
        const float x = call.in(s.input).data<float>()[s.element];
        if (s.input == 0) a.push_back(x);
        if (s.input == 1) b.push_back(x);
        if (s.input == 2) added = x, adds = true;
      }
      const float n = static_cast<float>(a.size());
      if (b.empty()) b.assign(a.size(), 1.0f);
      const SumLoop loop(how, a, b);
      float total = loop.total();
      if (adds) total = loop.plus(total, added);
      if (how.mean) total = how.reciprocal ? total * (1 / n) : total / n;
      call.out().data<float>()[e] = total;
    }
    return {};
  };
}

// Where the usual result is another function of what it was: f(result, element).
inline Plant changed_results(std::function<float(float, int64_t)> f) {
  return [f](runtime::KernelCall& call, const runtime::RunKernel& usual) -> Status {
    ISOBIT_RETURN_IF_ERROR(usual(call));
    for (int64_t e = 0; e < call.out().elements(); ++e) call.out().data<float>()[e] = f(call.out().data<float>()[e], e);
    return {};
  };
}
// One ulp more at every fifth element or so.
inline Plant one_ulp_off() {
  return changed_results([](float x, int64_t e) {
    return e % 5 == 2 && std::isfinite(x) && std::abs(x) >= std::numeric_limits<float>::min()
               ? numerics::f32_from_bits(numerics::bits_of(x) + 1)
               : x;
  });
}
inline Plant flushing_results() {
  return changed_results([](float x, int64_t) { return without_subnormals(x); });
}
// x * (1 / y)
inline Plant by_reciprocal() {
  return [](runtime::KernelCall& call, const runtime::RunKernel&) -> Status {
    for (int64_t e = 0; e < call.out().elements(); ++e) {
      const auto s = sources_of(call, e);
      const float x = call.in(0).data<float>()[s[0].element], y = call.in(1).data<float>()[s[1].element];
      call.out().data<float>()[e] = x * (1 / y);
    }
    return {};
  };
}

// Of rows: exponentials over their sum.
struct SoftMaximum {
  bool reciprocal = false, other_exponentials = false, in_order = false;
};
inline Plant soft_maxima(const SoftMaximum& how) {
  return [how](runtime::KernelCall& call, const runtime::RunKernel& usual) -> Status {
    ISOBIT_RETURN_IF_ERROR(usual(call));
    const int64_t width = call.in(0).shape()[-1];
    for (int64_t begin = 0; begin < call.in(0).elements(); begin += width) {
      const float* const x = call.in(0).data<float>() + begin;
      float* const y = call.out().data<float>() + begin;
      const float most = *std::max_element(x, x + width);
      std::vector<float> powers;
      double exact = 0;
      float sum = 0;
      for (int64_t i = 0; i < width; ++i) {
        float power = numerics::cr_exp(x[i] - most);
        if (how.other_exponentials && i % 4 == 1 && power < 1) power = std::nextafter(power, 2.0f);
        powers.push_back(power);
        exact += static_cast<double>(power);
        sum += power;
      }
      if (!how.in_order) sum = static_cast<float>(exact);
      for (size_t i = 0; i < powers.size(); ++i) y[i] = how.reciprocal ? powers[i] * (1 / sum) : powers[i] / sum;
    }
    return {};
  };
}

// A convolution by another algorithm than the platform's own.
inline Plant convolution_by(const std::string& algorithm) {
  return [algorithm](runtime::KernelCall& call, const runtime::RunKernel& usual) -> Status {
    platform::Platform named;
    named.algorithm = algorithm;
    ISOBIT_TRY(const auto products, platform::open_convolutions(named, call.ctx, [] { return 0.0; }));
    kernels::KernelContext ctx = call.ctx;
    ctx.products_f32 = products.get();
    runtime::KernelCall other{ctx, call.node, call.inputs, call.outputs};
    return usual(other);
  };
}

// Adam whose bias correction takes beta^t from powf.
inline Plant bias_correction_in_float() {
  return [](runtime::KernelCall& call, const runtime::RunKernel& usual) -> Status {
    std::vector<Tensor> scalars;
    runtime::KernelCall other{call.ctx, call.node, call.inputs, call.outputs};
    const std::pair<size_t, const char*> powers[] = {{5, "beta1"}, {6, "beta2"}};
    for (const auto& [input, attribute] : powers) {
      const double beta = call.attributes().real(attribute, 0.5), power = call.inputs[input]->data<double>()[0];
      const auto t = static_cast<float>(std::round(std::log(power) / std::log(beta)));
      scalars.push_back(Tensor::scalar(static_cast<double>(::powf(static_cast<float>(beta), t))));
    }
    other.inputs[5] = &scalars[0];
    other.inputs[6] = &scalars[1];
    return usual(other);
  };
}

}  // namespace isobit::lab::explain::testing
