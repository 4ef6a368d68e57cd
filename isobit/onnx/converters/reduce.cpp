// Sums, extremes and places along axes. Up to opset 12 (ReduceSum) and 17 (the others) axes were an attribute, which is
// the form that the graph has.
#include <numeric>
#include <utility>

#include "isobit/base/text.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

// Up to opset 12: over all axes from `axis` on, as one. The default was 1.
Expected<Operands> softmax_of_matrix(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  if (!c.has_rank(c.in(0))) return c.error("the rank of the input is not known before the run");
  const auto dims = c.dims(c.in(0));
  const auto rank = static_cast<int64_t>(dims.size());
  ISOBIT_TRY(int64_t axis, c.integer("axis", 1));
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return c.error(text_of("axis ", axis, " is outside a tensor of rank ", rank));
  if (axis == rank - 1) return c.last(c.row().target, {c.in(0)}, {{"axis", int64_t{-1}}});
  ISOBIT_TRY(Operand matrix, c.inner("Flatten", {c.in(0)}, {{"axis", axis}}, "matrix"));
  ISOBIT_TRY(Operand result, c.inner(c.row().target, {matrix}, {{"axis", int64_t{-1}}}, "rows"));
  if (c.is_static(c.in(0))) return c.last("Reshape", {result}, {{"shape", dims}});
  ISOBIT_TRY(Operand shape, c.inner("Shape", {c.in(0)}, {}, "shape"));
  return c.last("Reshape", {result, shape}, {});
}

// Over any axis: the last one, with the axes in another order.
Expected<Operands> softmax(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(const int64_t given, c.integer("axis", -1));
  if (given == -1) return c.last(c.row().target, {c.in(0)}, {{"axis", given}});
  if (!c.has_rank(c.in(0))) return c.error("the rank of the input is not known before the run");
  const auto rank = static_cast<int64_t>(c.dims(c.in(0)).size());
  const int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank) return c.error(text_of("axis ", given, " is outside a tensor of rank ", rank));
  if (axis == rank - 1) return c.last(c.row().target, {c.in(0)}, {{"axis", int64_t{-1}}});
  // Two axes change places, and again to go back.
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  ISOBIT_TRY(Operand turned, c.inner("Transpose", {c.in(0)}, {{"perm", perm}}, "turned"));
  ISOBIT_TRY(Operand result, c.inner(c.row().target, {turned}, {{"axis", int64_t{-1}}}, "rows"));
  return c.last("Transpose", {result}, {{"perm", perm}});
}

// 1 where the largest of an axis is for the first time, else 0.
Expected<Operands> largest_is_one(Conversion& c, const Operand& x, int64_t axis, const std::string& name) {
  const DType type = c.dtype(x);
  if (!FloatTypes::contains(type)) return c.error(text_of("input 0 is ", name_of(type), ", expected floats"));
  ISOBIT_TRY(Operand place, c.inner("ArgMax", {x}, {{"axis", axis}, {"keepdims", int64_t{0}}}, "place"));
  Operand values;
  if (type == DType::kFloat32) {
    values = c.constant(Tensor::of<float>(Shape{2}, std::vector<float>{0, 1}), "values");
  } else {
    values = c.constant(Tensor::of<double>(Shape{2}, std::vector<double>{0, 1}), "values");
  }
  const auto& dims = c.dims(x);
  const auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis);
  if (at >= dims.size()) return c.error(text_of("axis ", axis, " is outside the input"));
  Operands inputs = {place, nullptr, values};
  graph::Attributes attributes = {{"axis", axis}};
  if (dims[at] >= 0) {
    attributes.set("depth", dims[at]);
  } else {
    const auto begin = static_cast<int64_t>(at);
    ISOBIT_TRY(inputs[1], c.inner("Shape", {x}, {{"start", begin}, {"end", begin + 1}}, "depth"));
  }
  return c.emit_all("OneHot", std::move(inputs), std::move(attributes), {name});
}

Expected<Operands> hardmax(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  if (!c.has_rank(c.in(0))) return c.error("the rank of the input is not known before the run");
  if (c.opset() >= 13) {
    ISOBIT_TRY(const int64_t axis, c.integer("axis", -1));
    return largest_is_one(c, c.in(0), axis, c.output_name(0));
  }
  const std::vector<int64_t> dims = c.dims(c.in(0));
  ISOBIT_TRY(int64_t axis, c.integer("axis", 1));
  if (axis < 0) axis += static_cast<int64_t>(dims.size());
  ISOBIT_TRY(Operand matrix, c.inner("Flatten", {c.in(0)}, {{"axis", axis}}, "matrix"));
  ISOBIT_TRY(const Operands result, largest_is_one(c, matrix, 1, c.inner_name("rows")));
  if (c.is_static(c.in(0))) return c.last("Reshape", {result[0]}, {{"shape", dims}});
  ISOBIT_TRY(Operand shape, c.inner("Shape", {c.in(0)}, {}, "shape"));
  return c.last("Reshape", {result[0], shape}, {});
}

// A function of single elements before or behind the sum.
Expected<Operands> sum_of_magnitudes(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(c.inputs()[0], c.inner("Abs", {c.in(0)}, {}, "magnitudes"));
  return same_as_onnx(c);
}

Expected<Operands> logarithm_of_sum(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(graph::Attributes attributes, c.same_attributes());
  Operands inputs = {c.in(0)};
  if (const auto axes = c.integers(c.in(1))) {
    attributes.set("axes", *axes);
  } else if (c.has(1)) {
    inputs.push_back(c.in(1));
  }
  ISOBIT_TRY(Operand sum, c.inner("ReduceSum", std::move(inputs), std::move(attributes), "sum"));
  return c.last("Log", {sum}, {});
}

// (x - mean) / (deviation + 1e-9) over the axes
Expected<Operands> mean_variance(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(auto axes, c.integer_list("axes"));
  if (!c.has_attribute("axes")) axes = {0, 2, 3};
  const auto reduced = [&](const Operand& x, const char* what) {
    return c.inner("ReduceMean", {x}, {{"axes", axes}, {"keepdims", int64_t{1}}}, what);
  };
  const DType type = c.dtype(c.in(0));
  if (!FloatTypes::contains(type)) return c.error(text_of("input 0 is ", name_of(type), ", expected floats"));
  ISOBIT_TRY(Operand mean, reduced(c.in(0), "mean"));
  ISOBIT_TRY(Operand centred, c.inner("Sub", {c.in(0), mean}, {}, "centred"));
  ISOBIT_TRY(Operand squares, c.inner("Mul", {centred, centred}, {}, "squares"));
  ISOBIT_TRY(Operand variance, reduced(squares, "variance"));
  ISOBIT_TRY(Operand deviation, c.inner("Sqrt", {variance}, {}, "deviation"));
  ISOBIT_TRY(Operand guarded, c.inner("Add", {deviation, c.scalar(1e-9, type, "epsilon")}, {}, "guarded"));
  return c.last("Div", {centred, guarded}, {});
}

}  // namespace

void add_reduce_rows(Table& table) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2",
                         "ReduceLogSumExp", "ReduceSumSquare"}) {
    table.same(op).list(1, "axes").without("noop_with_empty_axes", 0);
  }
  table.own("ReduceL1", sum_of_magnitudes).to("ReduceSum").list(1, "axes").without("noop_with_empty_axes", 0);
  table.own("ReduceLogSum", logarithm_of_sum).to("ReduceSum").without("noop_with_empty_axes", 0);
  table.same("ArgMax").own_type(0).without("select_last_index", 0);
  table.same("ArgMin").own_type(0).without("select_last_index", 0);
  table.same("TopK").whole(1, "k").own_type(1);
  table.same("CumSum").whole(1, "axis");
  table.own("Hardmax", hardmax).to("OneHot");
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    table.own(op, softmax_of_matrix).to(op).until(12);
    table.own(op, softmax).to(op).since(13);
  }
  table.own("MeanVarianceNormalization", mean_variance).to("ReduceMean");
}

}  // namespace isobit::onnx
