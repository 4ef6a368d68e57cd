// Operators that move elements, and tensors that shapes decide.
#include <algorithm>

#include "isobit/graph/ops/movement_parameters.h"
#include "isobit/onnx/exporter_internal.h"

namespace isobit::onnx {
namespace {

// ONNX has no default.
Status concat(Writing& w) {
  w.add_last("Concat", w.names_in(), {attribute("axis", w.attributes().integer("axis", 0))});
  return {};
}

Status block(Writing& w) {
  if (!w.in(0).has_rank()) return w.error("the rank of the source has to be known before the run");
  const graph::Attributes cut = slice_of_block(w.in(0).dims, w.attributes());
  const auto numbers = [&](const char* name) { return cut.integers(name, {}); };
  if (numbers("axes").empty()) {
    w.add_last("Identity", {w.name_in(0)}, {});
    return {};
  }
  Names inputs = {w.name_in(0)};
  for (const char* name : {"starts", "ends", "axes"}) inputs.push_back(w.integers(numbers(name), name));
  w.add_last("Slice", std::move(inputs), {});
  return {};
}

// Equal parts are written by their sizes where these are known: their number as an attribute came late.
Status split(Writing& w) {
  Names inputs = w.names_in();
  ISOBIT_TRY(AttributeDefs attributes, w.same_attributes(inputs, {"num_outputs"}));
  if (!w.has(1) && !w.attributes().has("split")) {
    const auto rank = static_cast<int64_t>(w.in(0).dims.size());
    const int64_t given = w.attributes().integer("axis", 0), axis = given < 0 ? given + rank : given;
    const int64_t extent = w.in(0).has_rank() ? w.in(0).dims[static_cast<size_t>(axis)] : -1;
    if (extent < 0) {
      w.needs(18);
      attributes.push_back(attribute("num_outputs", int64_t{w.output_count()}));
    } else {
      ISOBIT_TRY(const auto sizes,
                 graph::ops::split_sizes(extent, static_cast<size_t>(w.output_count()), std::nullopt));
      inputs = {w.name_in(0), w.integers(sizes, "split")};
    }
  }
  w.add_last("Split", std::move(inputs), std::move(attributes));
  return {};
}

Status pad(Writing& w) {
  Names inputs = w.names_in();
  if (w.has(2)) inputs[2] = w.number_in(2, "value");
  if (w.has(3)) w.needs(18);
  ISOBIT_TRY(AttributeDefs attributes, w.same_attributes(inputs));
  w.add_last("Pad", std::move(inputs), std::move(attributes));
  return {};
}

Status range(Writing& w) {
  w.add_last("Range", {w.number_in(0, "start"), w.number_in(1, "limit"), w.number_in(2, "delta")}, {});
  return {};
}

// The value is a list of one.
Status constant_of_shape(Writing& w) {
  Names inputs = w.names_in();
  ISOBIT_TRY(AttributeDefs attributes, w.same_attributes(inputs));
  for (AttributeDef& a : attributes) {
    auto* value = std::get_if<TensorDef>(&a.value);
    if (value == nullptr) continue;
    value->tensor = value->tensor.reshaped({1});
    value->dims = {1};
  }
  w.add_last("ConstantOfShape", std::move(inputs), std::move(attributes));
  return {};
}

Status eye_like(Writing& w) {
  for (const DType dtype : {w.in(0).dtype, w.out(0).dtype}) {
    if (dtype == DType::kBfloat16) w.needs(22);
  }
  return as_it_is(w);
}

}  // namespace

graph::Attributes slice_of_block(const std::vector<int64_t>& dims, const graph::Attributes& block) {
  const auto starts = block.integers("starts", {}), counts = block.integers("counts", {});
  std::vector<int64_t> first, end, axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (starts[i] == 0 && counts[i] == dims[i]) continue;
    first.push_back(starts[i]);
    end.push_back(starts[i] + counts[i]);
    axes.push_back(static_cast<int64_t>(i));
  }
  return {{"starts", std::move(first)}, {"ends", std::move(end)}, {"axes", std::move(axes)}};
}

void add_movement_writers(WriterTable& table) {
  for (const char* op :
       {"Transpose", "Flatten", "Expand", "Reshape", "Squeeze", "Unsqueeze", "Tile", "Trilu", "DepthToSpace",
        "SpaceToDepth", "Slice", "Gather", "GatherElements", "GatherND", "NonZero", "Unique", "Shape", "Size"}) {
    table.same(op);
  }
  for (const char* op : {"ReverseSequence", "Compress"}) table.same(op).not_of(0, {DType::kBfloat16});
  for (const char* op : {"ScatterElements", "ScatterND"}) {
    table.same(op).from(18, "reduction", "max").from(18, "reduction", "min");
  }
  table.same("OneHot").not_of(2, {DType::kBfloat16});
  table.same("CenterCropPad").from(18);
  table.same("TensorScatter").from(24);
  table.own("Concat", concat);
  table.own("isobit.Block", block);
  table.own("Split", split);
  table.own("Pad", pad).from(18, "axes").from(19, "mode", "wrap");
  table.own("Range", range).not_of(0, {DType::kInt8, DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64});
  table.own("ConstantOfShape", constant_of_shape);
  table.own("EyeLike", eye_like);
}

}  // namespace isobit::onnx
