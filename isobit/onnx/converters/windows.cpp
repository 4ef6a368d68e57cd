// Windows over images, images of other sizes, and boxes.
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

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

// Upsample, and Resize of opset 10: (x, scales), places are taken as they are multiplied and rounded down.
Expected<Operands> upsample(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_TRY(std::string mode, c.text("mode", "nearest"));
  graph::Attributes attributes = {{"mode", mode},
                                  {"coordinate_transformation_mode", std::string("asymmetric")},
                                  {"nearest_mode", std::string("floor")}};
  if (const AttributeDef* a = c.attribute("scales")) {
    const auto* floats = std::get_if<std::vector<float>>(&a->value);
    if (floats == nullptr) return c.error("attribute 'scales' is no list of floats");
    attributes.set("scales", std::vector<double>(floats->begin(), floats->end()));
    return c.last("Resize", {c.in(0)}, std::move(attributes));
  }
  ISOBIT_RETURN_IF_ERROR(c.expect(1));
  if (const auto scales = c.reals(c.in(1))) {
    attributes.set("scales", *scales);
    return c.last("Resize", {c.in(0)}, std::move(attributes));
  }
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
  table.same("RoiAlign");
  table.same("GridSample");
  table.same("AffineGrid").list(1, "size");
  table.same("NonMaxSuppression").own_type(0);
  table.own("Upsample", upsample).to("Resize").until(9);
  table.own("Resize", upsample).to("Resize").until(10);
  table.own("Resize", resize).to("Resize").since(11).reals(1, "roi").reals(2, "scales").list(3, "sizes");
}

}  // namespace isobit::onnx
