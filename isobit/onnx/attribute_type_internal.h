// ONNX's numbers of the types of attributes (AttributeProto.type). Internal.
#pragma once

namespace isobit::onnx::attribute_type {

enum Number : int {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kType = 13,
  kTypes = 14
};

}  // namespace isobit::onnx::attribute_type
