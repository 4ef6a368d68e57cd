// What has no meaning in ONNX, with the reason.
#include "isobit/onnx/exporter_internal.h"

namespace isobit::onnx {

void add_refused_writers(WriterTable& table) {
  constexpr const char* kTraining = "belongs to a training step; export the network of inference";
  for (const std::string& op : graph::op_names()) {
    if (op.starts_with("isobit.") && op.find("Grad") != op.npos) table.refuse({op.c_str()}, kTraining);
  }
  table.refuse({"isobit.SumTo", "isobit.Sgd", "isobit.Adam", "isobit.ClipFactor", "isobit.GlobalNorm"}, kTraining);
  table.refuse({"isobit.BatchStatistics", "isobit.BatchNormApply", "isobit.RunningUpdate", "isobit.Dropout"},
               kTraining);
  table.refuse({"isobit.Im2Col"},
               "ONNX has no operator that lays windows out as columns; it is written only where it is a part of a "
               "convolution along three axes");
  table.refuse({"isobit.DeformIm2Col"},
               "ONNX has no operator that lays windows out as columns; it is written only where it is a part of a "
               "deformable convolution");
}

}  // namespace isobit::onnx
