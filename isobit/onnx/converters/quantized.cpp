// Whole numbers in place of real ones.
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {

void add_quantized_rows(Table& table) {
  table.same("QuantizeLinear").type_in("output_dtype").without("saturate").own_type(0);
  table.same("DequantizeLinear").type_in("output_dtype");
  table.same("DynamicQuantizeLinear").own_type(1);
  for (const char* op : {"QLinearConv", "QLinearMatMul", "MatMulInteger", "ConvInteger"}) table.same(op);
}

}  // namespace isobit::onnx
