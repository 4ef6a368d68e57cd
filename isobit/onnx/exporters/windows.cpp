// Windows over images, images of other sizes, and boxes.
#include "isobit/onnx/exporter_internal.h"

namespace isobit::onnx {
namespace {

// Older versions called two modes by other names.
Status grid_sample(Writing& w) {
  Names inputs = w.names_in();
  ISOBIT_TRY(AttributeDefs attributes, w.same_attributes(inputs, {"mode"}));
  std::string mode = w.attributes().text("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  attributes.push_back(attribute("mode", std::move(mode)));
  w.add_last("GridSample", std::move(inputs), std::move(attributes));
  return {};
}

// Scales are of float32 alone.
Status resize(Writing& w) {
  if (w.has(2) && w.in(2).dtype != DType::kFloat32) return w.error("ONNX has scales of float32 only");
  return as_it_is(w);
}

}  // namespace

void add_window_writers(WriterTable& table) {
  for (const char* op : {"MaxPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "MaxRoiPool", "RoiAlign"}) {
    table.same(op);
  }
  table.same("AveragePool").from(19, "dilations");
  table.same("LpPool").from(18, "dilations").from(18, "ceil_mode");
  table.same("MaxUnpool")
      .not_of(0, {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kUint8, DType::kUint16,
                  DType::kUint32, DType::kUint64, DType::kBool, DType::kBfloat16});
  table.same("Col2Im").from(18);
  table.same("AffineGrid").from(20);
  table.own("GridSample", grid_sample).from(20);
  table.same("NonMaxSuppression").not_of(0, {DType::kFloat64});
  table.own("Resize", resize)
      .from(18, "antialias")
      .from(18, "axes")
      .from(18, "keep_aspect_ratio_policy")
      .from(19, "coordinate_transformation_mode", "half_pixel_symmetric");
}

}  // namespace isobit::onnx
