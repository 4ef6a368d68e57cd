// Operators that move elements.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

// ONNX reverses the axes where nothing is said.
Expected<Operands> transpose(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(graph::Attributes attributes, c.same_attributes());
  if (!attributes.has("perm")) {
    if (!c.has_rank(c.in(0))) return c.error("without 'perm', and the rank of the input is not known before the run");
    std::vector<int64_t> perm(c.dims(c.in(0)).size());
    for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(perm.size() - 1 - i);
    attributes.set("perm", std::move(perm));
  }
  return c.last("Transpose", {c.in(0)}, std::move(attributes));
}

// From the end where negative.
Expected<Operands> flatten(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(int64_t axis, c.integer("axis", 1));
  if (axis < 0) {
    if (!c.has_rank(c.in(0)))
      return c.error("a negative 'axis', and the rank of the input is not known before the run");
    axis += static_cast<int64_t>(c.dims(c.in(0)).size());
  }
  return c.last("Flatten", {c.in(0)}, {{"axis", axis}});
}

// Up to opset 10 the value was an attribute; pads already had the name that the input has now.
Expected<Operands> pad_by_attributes(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(const auto pads, c.integer_list("pads"));
  ISOBIT_TRY(const double value, c.real("value", 0));
  ISOBIT_TRY(std::string mode, c.text("mode", "constant"));
  Operands inputs = {c.in(0)};
  if (value != 0) {
    const DType type = c.dtype(c.in(0));
    if (!NumberTypes::contains(type)) return c.error(text_of("'value' is ", value, " for elements of ", name_of(type)));
    inputs = {c.in(0), nullptr, c.scalar(value, type, "value")};
  }
  return c.last("Pad", std::move(inputs), {{"pads", pads}, {"mode", std::move(mode)}});
}

// Before opset 18, without sizes: as many equal parts as there are outputs.
Expected<Operands> split_by_outputs(Conversion& c) {
  if (c.has(1) || c.has_attribute("split")) return same_as_onnx(c);
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(graph::Attributes attributes, c.same_attributes());
  attributes.set("num_outputs", static_cast<int64_t>(c.output_count()));
  return c.last("Split", {c.in(0)}, std::move(attributes));
}

// What adds, multiplies or compares is computed with; what replaces is not.
bool reduces(const Conversion& c) { return c.text("reduction", "none").value_or("none") != "none"; }

Expected<Operands> scatter(Conversion& c) {
  if (reduces(c)) {
    ISOBIT_TRY(const auto narrow_to, c.widen());
    ISOBIT_TRY(Operands outputs, same_as_onnx(c));
    return narrow_to ? c.narrow(std::move(outputs), *narrow_to) : Expected<Operands>(std::move(outputs));
  }
  return same_as_onnx(c);
}

// The values are (off, on) in one tensor; indices and depth may be of any type of numbers, and are whole.
Expected<Operands> one_hot(Conversion& c) {
  for (int i = 0; i < 3; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  for (int i = 0; i < 2; ++i) {
    const DType type = c.dtype(c.in(i));
    const bool fits = i == 0 ? IntegerTypes::contains(type) : type == DType::kInt64 || type == DType::kInt32;
    if (fits) continue;
    // Cast takes the whole part, as ONNX means it.
    ISOBIT_TRY(c.inputs()[static_cast<size_t>(i)],
               c.inner("Cast", {c.in(i)}, {{"to", static_cast<int64_t>(DType::kInt64)}}, i == 0 ? "indices" : "depth"));
  }
  return same_as_onnx(c);
}

}  // namespace

void add_movement_rows(Table& table) {
  table.own("Transpose", transpose).to("Transpose").moves();
  table.own("Flatten", flatten).to("Flatten").moves();
  table.same("Concat").moves();
  table.same("Expand").moves().list(1, "shape");
  table.same("Reshape").moves().list(1, "shape").without("allowzero", 0);
  table.same("Squeeze").moves().list(1, "axes");
  table.same("Unsqueeze").moves().list(1, "axes");
  table.same("Tile").moves().list(1, "repeats");
  table.same("Trilu").moves().whole(1, "k");
  table.same("DepthToSpace").moves();
  table.same("SpaceToDepth").moves();
  table.same("ReverseSequence").moves();
  table.same("Slice").moves().list(1, "starts").list(2, "ends").list(3, "axes").list(4, "steps");
  table.own("Split", split_by_outputs).to("Split").until(17).moves().list(1, "split");
  table.same("Split").since(18).moves().list(1, "split");
  table.own("Pad", pad_by_attributes).to("Pad").until(10).moves();
  table.same("Pad").since(11).moves().list(1, "pads").list(3, "axes");
  table.same("Gather").moves();
  table.same("GatherElements").moves();
  table.same("GatherND").moves();
  table.own("Scatter", scatter).to("ScatterElements").since(9).moves();
  table.own("ScatterElements", scatter).to("ScatterElements").moves();
  table.own("ScatterND", scatter).to("ScatterND").moves();
  table.same("TensorScatter").moves();
  table.same("Compress").moves();
  table.same("NonZero").own_type(0);
  table.same("Unique").own_type(1).own_type(2).own_type(3);
  table.own("OneHot", one_hot).to("OneHot").moves().whole(1, "depth");
  table.same("CenterCropPad").moves().list(1, "shape");
  table.same("Col2Im").list(1, "image_shape").list(2, "block_shape");
}

}  // namespace isobit::onnx
