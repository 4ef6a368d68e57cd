#include <functional>

#include "isobit/kernels/elementwise/numbers.h"
#include "isobit/runtime/kernels/formulas.h"

namespace isobit::runtime {

namespace {

namespace k = kernels;

using UnsignedTypes = Types<uint8_t, uint16_t, uint32_t, uint64_t>;

// Truths are equal as truths: bytes may differ.
Kernel equal() {
  const Kernel truths = zip_truth<Types<bool>>(k::SameTruth()), numbers = zip_truth<NumberTypes>(std::equal_to<>());
  return with_parameters([truths, numbers](const KernelSite& site) {
    return (site.in(0).dtype == DType::kBool ? truths : numbers).bind(site);
  });
}

k::IsInfinite is_infinite(const KernelSite& site) {
  return {.negative = site.attributes().integer("detect_negative", 1) != 0,
          .positive = site.attributes().integer("detect_positive", 1) != 0};
}

k::Shift shift(const KernelSite& site) { return {.left = site.attributes().text("direction", "") == "LEFT"}; }

// By size: nothing is computed.
RunKernel where(const KernelSite& site) {
  const Shape operands[] = {site.in(0).shape(), site.in(1).shape(), site.in(2).shape()};
  return [plan = k::plan_broadcast_to(site.out().shape(), operands)](KernelCall& c) -> Status {
    const auto choose = [&]<class T>(T) {
      k::zip(c.ctx, k::Choice(), plan, elements_of<T>(c.out()), elements_of<uint8_t>(c.in(0)), elements_of<T>(c.in(1)),
             elements_of<T>(c.in(2)));
    };
    switch (size_of(c.out().dtype())) {
      case 1:
        choose(uint8_t{});
        break;
      case 2:
        choose(uint16_t{});
        break;
      case 4:
        choose(uint32_t{});
        break;
      default:
        choose(uint64_t{});
    }
    return {};
  };
}

}  // namespace

void add_logic_kernels(KernelTable& table) {
  table["Equal"] = equal();
  table["Less"] = zip_truth<NumberTypes>(std::less<>());
  table["LessOrEqual"] = zip_truth<NumberTypes>(std::less_equal<>());
  table["Greater"] = zip_truth<NumberTypes>(std::greater<>());
  table["GreaterOrEqual"] = zip_truth<NumberTypes>(std::greater_equal<>());
  table["And"] = zip_formula<Types<bool>>(std::logical_and<>());
  table["Or"] = zip_formula<Types<bool>>(std::logical_or<>());
  table["Xor"] = zip_formula<Types<bool>>(k::OtherTruth());
  table["Not"] = map_formula<Types<bool>>(std::logical_not<>());
  table["IsNaN"] = map_truth_made<FloatTypes>([](const KernelSite&) { return k::IsNan(); });
  table["IsInf"] = map_truth_made<FloatTypes>(is_infinite);
  table["BitwiseAnd"] = zip_formula<IntegerTypes>(std::bit_and<>());
  table["BitwiseOr"] = zip_formula<IntegerTypes>(std::bit_or<>());
  table["BitwiseXor"] = zip_formula<IntegerTypes>(std::bit_xor<>());
  table["BitwiseNot"] = map_formula<IntegerTypes>(std::bit_not<>());
  table["BitShift"] = zip_made<UnsignedTypes>(shift);
  table["Where"] = with_parameters(where, {{0, 1}});
}

}  // namespace isobit::runtime
