// How a formula of one element of each operand (kernels/elementwise/map.h) becomes an operator: one row of a table.
//
//   table["Floor"] = map_formula<FloatTypes>(k::Floor());
//   table["Less"] = zip_truth<NumberTypes>(std::less<>());
//
// Types are those that shape inference accepts for input 0, and every operand of a zip has that one.
#pragma once

#include <cstdint>
#include <type_traits>

#include "isobit/kernels/elementwise/map.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

// An element in memory: a truth is a byte, of which a C++ bool could not hold every value.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// The elements as Ts. REQUIRES that the tensor's are of Stored type T, or as many bytes that are only moved.
template <class T>
const T* elements_of(const Tensor& tensor) {
  return static_cast<const T*>(tensor.raw());
}
template <class T>
T* elements_of(Tensor& tensor) {
  return static_cast<T*>(tensor.raw());
}

inline kernels::BroadcastPlan broadcast_of_inputs(const KernelSite& site) {
  return kernels::plan_broadcast(site.in(0).shape(), site.in(1).shape());
}

// One operand; the output has its type. make(site): the formula, with the attributes of the node.
template <class Types, class Make>
Kernel map_made(Make make) {
  const auto bind = [make](const KernelSite& site) -> RunKernel {
    return [f = make(site)](KernelCall& c) -> Status {
      by_type(Types{}, c.in(0).dtype(), [&]<class T>(T) {
        using S = Stored<T>;
        kernels::map(c.ctx, f, c.in(0).elements(), elements_of<S>(c.in(0)), elements_of<S>(c.out()));
      });
      return {};
    };
  };
  return finishing(with_parameters(bind, {{0, 0}}), Types::contains(DType::kFloat64));
}
template <class Types, class F>
Kernel map_formula(F f) {
  return map_made<Types>([f](const KernelSite&) { return f; });
}

// One operand; the output is truths.
template <class Types, class Make>
Kernel map_truth_made(Make make) {
  return with_parameters([make](const KernelSite& site) -> RunKernel {
    return [f = make(site)](KernelCall& c) -> Status {
      by_type(Types{}, c.in(0).dtype(), [&]<class T>(T) {
        kernels::map(c.ctx, f, c.in(0).elements(), elements_of<Stored<T>>(c.in(0)), elements_of<uint8_t>(c.out()));
      });
      return {};
    };
  });
}

// Two operands that broadcast; the output has their type.
template <class Types, class Make>
Kernel zip_made(Make make) {
  const auto bind = [make](const KernelSite& site) -> RunKernel {
    return [f = make(site), plan = broadcast_of_inputs(site)](KernelCall& c) -> Status {
      by_type(Types{}, c.in(0).dtype(), [&]<class T>(T) {
        using S = Stored<T>;
        kernels::zip(c.ctx, f, plan, elements_of<S>(c.out()), elements_of<S>(c.in(0)), elements_of<S>(c.in(1)));
      });
      return {};
    };
  };
  return finishing(with_parameters(bind, {{0, 0}}), Types::contains(DType::kFloat64));
}
template <class Types, class F>
Kernel zip_formula(F f) {
  return zip_made<Types>([f](const KernelSite&) { return f; });
}

// Two operands that broadcast; the output is truths.
template <class Types, class F>
Kernel zip_truth(F f) {
  return with_parameters([f](const KernelSite& site) -> RunKernel {
    return [f, plan = broadcast_of_inputs(site)](KernelCall& c) -> Status {
      by_type(Types{}, c.in(0).dtype(), [&]<class T>(T) {
        using S = Stored<T>;
        kernels::zip(c.ctx, f, plan, elements_of<uint8_t>(c.out()), elements_of<S>(c.in(0)), elements_of<S>(c.in(1)));
      });
      return {};
    };
  });
}

}  // namespace isobit::runtime
