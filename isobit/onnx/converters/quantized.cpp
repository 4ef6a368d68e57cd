// Whole numbers in place of real ones.
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {

void add_quantized_rows(Table& table) {
  // 'saturate' speaks of floats of 8 bits. 0 as a type is none.
  table.same("QuantizeLinear")
      .type_in("output_dtype")
      .type_in("precision")
      .without("saturate")
      .own_type(0)
      .without("output_dtype", 0)
      .without("precision", 0);
  table.same("DequantizeLinear").type_in("output_dtype").without("output_dtype", 0);
  table.same("DynamicQuantizeLinear").own_type(1);
  for (const char* op : {"QLinearConv", "QLinearMatMul", "MatMulInteger", "ConvInteger"}) table.same(op);
}

}  // namespace isobit::onnx
