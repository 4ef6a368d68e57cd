// Sums, extremes and places along axes. Up to opset 12 (ReduceSum) and 17 (the others) axes were an attribute, which is
// the form that the graph has.
#include "isobit/base/text.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

Shape two_axes(const std::vector<int64_t>& dims, size_t axis) {
  int64_t rows = 1, columns = 1;
  for (size_t i = 0; i < dims.size(); ++i) (i < axis ? rows : columns) *= dims[i];
  return Shape{rows, columns};
}

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

Expected<Operands> softmax(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(const int64_t axis, c.integer("axis", -1));
  return c.last(c.row().target, {c.in(0)}, {{"axis", axis}});
}

// k was an attribute up to opset 9; it is a tensor of one element since.
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
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                         "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"}) {
    table.same(op).list(1, "axes").without("noop_with_empty_axes", 0);
  }
  table.same("ArgMax").own_type(0).without("select_last_index", 0);
  table.same("ArgMin").own_type(0).without("select_last_index", 0);
  table.same("TopK").whole(1, "k").own_type(1);
  table.same("CumSum").whole(1, "axis");
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    table.own(op, softmax_of_matrix).to(op).until(12);
    table.own(op, softmax).to(op).since(13);
  }
  table.own("MeanVarianceNormalization", mean_variance).to("ReduceMean");
}

}  // namespace isobit::onnx
