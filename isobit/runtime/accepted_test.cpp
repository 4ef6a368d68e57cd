// What shape inference accepts runs, or is an error of the run: no kernel meets operands that it cannot compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "isobit/kernels/correct/inner_products.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/product/plain_inner_products.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/operator_cases_for_test.h"
#include "isobit/runtime/specialise.h"

namespace isobit::runtime {
namespace {

using graph::Attribute;
using graph::Attributes;
using graph::Graph;
using graph::ValueId;
using Ints = std::vector<int64_t>;

struct Type {
  DType dtype;
  Ints dims;
};

constexpr DType kTypes[] = {
#define ISOBIT_ENUMERATOR(enumerator, T, number, name) DType::enumerator,
    ISOBIT_FOR_DTYPES(ISOBIT_ENUMERATOR)
#undef ISOBIT_ENUMERATOR
};

// Operators of ONNX whose operands may have different types of numbers.
const std::set<std::string> kOfSeveralTypes = {"Pow", "QuantizeLinear"};

Tensor some_values(const Type& type, uint64_t seed) {
  Tensor t(type.dtype, Shape(type.dims));
  auto* bytes = static_cast<uint8_t*>(t.raw());
  for (size_t i = 0; i < t.bytes(); ++i) bytes[i] = 0;
  for (int64_t i = 0; i < t.elements(); ++i) {
    const double x = static_cast<double>((seed + static_cast<uint64_t>(i) * 7) % 11) / 4 - 1;
    if (type.dtype == DType::kFloat32) t.data<float>()[i] = static_cast<float>(x);
    if (type.dtype == DType::kFloat64) t.data<double>()[i] = x;
  }
  return t;
}

constexpr size_t kNone = SIZE_MAX;
constexpr uint64_t kMostBytes = 1 << 20;

struct Asked {
  std::vector<Type> inputs;
  Attributes attributes;
  size_t outputs = 1;
  int64_t integers = 0;  // the value of every integer
  size_t absent_input = kNone, absent_output = kNone;
};

class Accepted : public ::testing::TestWithParam<OperatorCase> {
 protected:
  // Whether shape inference takes the node; if so it runs, and outputs have the types that were said, or is over a
  // limit where shapes follow from data. Not run: what is known to be too large.
  bool run(const std::vector<Type>& inputs, const Attributes& attributes, size_t outputs, int64_t integers = 0) {
    return run({.inputs = inputs, .attributes = attributes, .outputs = outputs, .integers = integers});
  }

  bool run(const Asked& asked) {
    Graph g;
    std::vector<ValueId> ids;
    for (const Type& t : asked.inputs) {
      ids.push_back(g.add_input("x", t.dtype, t.dims));
      const size_t i = ids.size() - 1;
      if (i == asked.absent_input || is_absent(i)) ids.back() = graph::kNoValue;
    }
    std::vector<std::string> names(asked.outputs, "y");
    if (asked.absent_output != kNone) names[asked.absent_output] = "";
    const auto added = g.add_node(GetParam().op, ids, asked.attributes, names);
    if (!added) return false;
    for (ValueId id : *added) {
      if (id == graph::kNoValue) continue;
      const graph::Value& value = g.value(id);
      if (value.is_static() && !checked_elements(value.dims, value.dtype, kMostBytes)) return true;
      g.add_output(id);
    }
    const auto fast = run(g, asked, {kernels::best_isa(), &pool_});
    const auto reference = run(g, asked, {kernels::Isa::kReference, &pool_});
    EXPECT_EQ(fast.has_value(), reference.has_value());
    if (graph::op_of(g.nodes()[0]).is_inner_product()) run_with_foreign_products(g, asked);
    if (!fast) {
      ++errors_;
      return true;
    }
    for (size_t o = 0; o < fast->size(); ++o) {
      EXPECT_EQ((*fast)[o].dtype(), g.value(g.outputs()[o]).dtype);
      EXPECT_TRUE(may_have(g.value(g.outputs()[o]), (*fast)[o].shape()));
      EXPECT_TRUE(identical((*fast)[o], reference->at(o)));
    }
    return true;
  }

  Expected<std::vector<Tensor>> run(const Graph& g, const Asked& asked, const kernels::KernelContext& ctx) {
    Executor::Feeds feeds;
    for (size_t i = 0; i < asked.inputs.size(); ++i) {
      Tensor t = some_values(asked.inputs[i], i);
      if (t.dtype() == DType::kInt64) std::fill_n(t.data<int64_t>(), t.elements(), asked.integers);
      if (t.dtype() == DType::kInt32) {
        std::fill_n(t.data<int32_t>(), t.elements(), static_cast<int32_t>(asked.integers));
      }
      feeds.emplace_back(g.inputs()[i], std::move(t));
    }
    // What is larger than that is an error where shapes follow from data.
    return Executor(g, kernel_table(), {.tensor_bytes = kMostBytes}).run(ctx, std::move(feeds));
  }

  // What a platform or an arithmetic brings meets the same operands.
  void run_with_foreign_products(const Graph& g, const Asked& asked) {
    const kernels::KernelContext ordered{kernels::best_isa(), &pool_};
    const auto product = [&] { return std::make_unique<kernels::OrderedProduct>(ordered); };
    kernels::PlainInnerProducts<float> plain(product(), ordered);
    kernels::PlainInnerProducts<double> plain_f64(product(), ordered);
    kernels::correct::CorrectInnerProducts correct(ordered, product());
    kernels::KernelContext foreign = ordered;
    foreign.products_f32 = &plain;
    foreign.products_f64 = &plain_f64;
    EXPECT_TRUE(run(g, asked, foreign));
    foreign.products_f32 = &correct;
    EXPECT_TRUE(run(g, asked, foreign));
  }

  bool is_absent(size_t i) const {
    const auto& operands = GetParam().operands;
    return i < operands.size() && operands[i].kind == CaseOperand::Kind::kAbsent;
  }
  // Whether it has an operand of this kind, and a list of them.
  bool has(CaseOperand::Kind kind) const {
    return std::ranges::any_of(GetParam().operands,
                               [kind](const CaseOperand& o) { return o.kind == kind && !o.dims.empty(); });
  }

  std::vector<Type> types() const {
    std::vector<Type> types;
    for (const CaseOperand& o : GetParam().operands)
      types.push_back({values_of(o, DType::kFloat32, 1).dtype(), o.dims});
    return types;
  }
  size_t outputs() const { return OneOperator(GetParam(), DType::kFloat32).node().outputs.size(); }

  ThreadPool pool_{1};
  int errors_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Operators, Accepted, ::testing::ValuesIn(operator_cases()), name_of_case);

TEST_P(Accepted, AsItIs) { EXPECT_TRUE(run(types(), GetParam().attributes, outputs())); }

TEST_P(Accepted, WithInputsOfOtherTypes) {
  for (size_t i = 0; i < types().size(); ++i) {
    for (DType dtype : kTypes) {
      std::vector<Type> inputs = types();
      const DType before = inputs[i].dtype;
      inputs[i].dtype = dtype;
      const bool taken = run(inputs, GetParam().attributes, outputs());
      const auto reals = std::count_if(inputs.begin(), inputs.end(), [](const Type& t) {
        return t.dtype == DType::kFloat32 || t.dtype == DType::kFloat64;
      });
      // An operand of another type beside a real one is never computed with.
      if (before == DType::kFloat32 && dtype != before && reals > (dtype == DType::kFloat64 ? 1 : 0) &&
          !kOfSeveralTypes.contains(GetParam().op)) {
        EXPECT_FALSE(taken) << "input " << i << " as " << name_of(dtype);
      }
    }
  }
}

TEST_P(Accepted, WithInputsOfOtherShapes) {
  for (size_t i = 0; i < types().size(); ++i) {
    const auto with_dims = [&](const Ints& dims) {
      std::vector<Type> inputs = types();
      inputs[i].dims = dims;
      run(inputs, GetParam().attributes, outputs());
    };
    const Ints dims = types()[i].dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      for (int64_t extent : {int64_t{0}, int64_t{1}, std::max(dims[d] - 1, int64_t{0}), dims[d] + 1, 2 * dims[d]}) {
        Ints other = dims;
        other[d] = extent;
        with_dims(other);
      }
      Ints less = dims;
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(d));
      with_dims(less);
    }
    Ints more = dims;
    more.insert(more.begin(), 1);
    with_dims(more);
    with_dims({});
    // All inputs at once: these fit one another.
    for (int64_t extent : {0, 1}) {
      std::vector<Type> inputs = types();
      for (Type& t : inputs) std::fill(t.dims.begin(), t.dims.end(), extent);
      run(inputs, GetParam().attributes, outputs());
    }
  }
}

TEST_P(Accepted, WithFewerInputsAndOtherNumbersOfOutputs) {
  for (size_t n = 0; n <= types().size(); ++n) {
    const std::vector<Type> all = types();
    const std::vector<Type> inputs(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
    for (size_t o = 0; o < 6; ++o) run(inputs, GetParam().attributes, o);
  }
}

TEST_P(Accepted, WithAbsentInputsAndOutputs) {
  const Asked all = {.inputs = types(), .attributes = GetParam().attributes, .outputs = outputs()};
  for (size_t i = 0; i < all.inputs.size(); ++i) {
    Asked less = all;
    less.absent_input = i;
    run(less);
  }
  for (size_t o = 0; o < all.outputs; ++o) {
    Asked less = all;
    less.absent_output = o;
    run(less);
  }
}

TEST_P(Accepted, WithOtherAttributes) {
  const OperatorCase& c = GetParam();
  run(types(), {}, outputs());
  for (const auto& [name, attribute] : c.attributes.items()) {
    std::vector<Attribute> others;
    if (std::holds_alternative<int64_t>(attribute)) {
      for (int64_t x : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{2}, int64_t{5}, INT64_MIN, INT64_MAX}) {
        others.emplace_back(x);
      }
    }
    if (std::holds_alternative<double>(attribute)) {
      for (double x : {-1.0, 0.0, 0.5, 1.0, 1e300}) others.emplace_back(x);
    }
    if (const auto* list = std::get_if<Ints>(&attribute)) {
      for (size_t i = 0; i < list->size(); ++i) {
        for (int64_t x : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{2}, int64_t{7}, INT64_MIN, INT64_MAX}) {
          Ints other = *list;
          other[i] = x;
          others.emplace_back(other);
        }
        Ints less = *list;
        less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
        others.emplace_back(less);
      }
      Ints more = *list;
      more.push_back(1);
      others.emplace_back(more);
    }
    for (const Attribute& other : others) {
      Attributes attributes = c.attributes;
      attributes.set(name, other);
      run(types(), attributes, outputs());
    }
  }
}

// Labels and indices are data: those that do not fit are an error of the run.
TEST_P(Accepted, WithIntegersThatDoNotFit) {
  const bool picks = has(CaseOperand::Kind::kIndex) || has(CaseOperand::Kind::kGiven);
  for (int64_t x : {int64_t{-1}, int64_t{99}, int64_t{1} << 40, INT64_MIN, INT64_MAX}) {
    errors_ = 0;
    EXPECT_TRUE(run(types(), GetParam().attributes, outputs(), x));
    if (has(CaseOperand::Kind::kParameter)) continue;  // some make shapes
    // An index of -1 is the last row of a table, and no place of a plane.
    if (picks && x != -1) {
      EXPECT_EQ(errors_, 1) << x;
    }
    if (!picks) {
      EXPECT_EQ(errors_, 0) << x;
    }
  }
}

}  // namespace
}  // namespace isobit::runtime
