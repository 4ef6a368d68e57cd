// Families of operators through which nothing is trained: why.
#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {

void add_others(Rules& rules) {
  rules.none({"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "And", "Or", "Xor", "Not", "BitwiseAnd",
              "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift", "IsNaN", "IsInf"},
             kNotReal);
  rules.none({"QuantizeLinear", "MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv", "NonMaxSuppression",
              "Shape", "Size", "NonZero"},
             kNotReal);
  rules.none({"DequantizeLinear", "DynamicQuantizeLinear"},
             "it stands between reals and integers; a network is trained before it is quantized");
  rules.none({"EyeLike", "ConstantOfShape"}, "what it gives follows from shapes alone");
  rules.none({"Range"}, "it is a row of numbers of its own");
  rules.none({"Unique"}, "how many elements it leaves follows from data");
  rules.none({"isobit.Sgd", "isobit.Adam", "isobit.ClipFactor"}, "it is the step that a gradient is taken for");
}

}  // namespace isobit::graph::autograd
