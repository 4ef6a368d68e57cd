// Windows over images, images of other sizes, and boxes.
#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

constexpr const char* kCoordinates = "coordinate_transformation_mode";

// Empty tensors stand for what is absent.
void drop_empty(Operands& inputs, size_t from) {
  for (size_t i = from; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr && inputs[i]->is_constant() && inputs[i]->constant.elements() == 0) inputs[i] = nullptr;
  }
}

// Opset 11 and newer: (x, roi, scales, sizes).
Expected<Operands> resize(Conversion& c) {
  drop_empty(c.inputs(), 1);
  return same_as_onnx(c);
}

// Before opset 16 a region was not moved by half a pixel.
Expected<Operands> older_roi_align(Conversion& c) {
  ISOBIT_TRY(graph::Attributes attributes, c.same_attributes());
  if (attributes.has(kCoordinates)) return c.error(text_of("attribute '", kCoordinates, "' is of opset 16"));
  attributes.set(kCoordinates, std::string("output_half_pixel"));
  return c.last("RoiAlign", c.inputs(), std::move(attributes));
}

// Which neighbour a place between two has: Upsample, which only enlarges, has the one before. Resize of opset 10 has
// the one behind where it makes an image smaller, and says nothing of both at once.
Expected<std::string> nearest_of(Conversion& c, const std::string& mode, const std::vector<double>& scales) {
  const bool smaller = std::ranges::any_of(scales, [](double s) { return s < 1; });
  if (mode != "nearest" || c.op() == "Upsample" || !smaller) return "floor";
  if (std::ranges::none_of(scales, [](double s) { return s > 1; })) return "ceil";
  return c.error("it takes the nearest element and makes some axes larger and some smaller; opset 11 says how");
}

// Upsample, and Resize of opset 10: (x, scales), places are taken as they are multiplied.
Expected<Operands> upsample(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(std::string mode, c.text("mode", "nearest"));
  graph::Attributes attributes = {
      {"mode", mode}, {kCoordinates, std::string("asymmetric")}, {"nearest_mode", std::string("floor")}};
  if (const AttributeDef* a = c.attribute("scales")) {
    const auto* floats = std::get_if<std::vector<float>>(&a->value);
    if (floats == nullptr) return c.error("attribute 'scales' is no list of floats");
    attributes.set("scales", std::vector<double>(floats->begin(), floats->end()));
    return c.last("Resize", {c.in(0)}, std::move(attributes));
  }
  ISOBIT_RETURN_IF_ERROR(c.expect(1));
  if (const auto scales = c.reals(c.in(1))) {
    ISOBIT_TRY(std::string nearest, nearest_of(c, mode, *scales));
    attributes.set("nearest_mode", std::move(nearest));
    attributes.set("scales", *scales);
    return c.last("Resize", {c.in(0)}, std::move(attributes));
  }
  if (c.op() == "Resize" && mode == "nearest") return c.error("its scales have to be known before the run");
  return c.last("Resize", {c.in(0), nullptr, c.in(1)}, std::move(attributes));
}

}  // namespace

void add_window_rows(Table& table) {
  table.same("MaxPool").own_type(1);
  table.same("AveragePool");
  table.same("LpPool");
  table.same("GlobalAveragePool");
  table.same("GlobalMaxPool");
  table.same("GlobalLpPool");
  table.same("MaxUnpool").list(2, "output_shape");
  table.same("MaxRoiPool");
  table.own("RoiAlign", older_roi_align).to("RoiAlign").until(15);
  table.same("RoiAlign").since(16);
  table.same("GridSample");
  table.same("AffineGrid").list(1, "size");
  table.same("NonMaxSuppression").own_type(0);
  table.own("Upsample", upsample).to("Resize").until(9);
  table.own("Resize", upsample).to("Resize").until(10);
  table.own("Resize", resize).to("Resize").since(11).reals(1, "roi").reals(2, "scales").list(3, "sizes");
}

}  // namespace isobit::onnx
