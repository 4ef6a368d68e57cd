// Every refusal of the importer, with its place.
#include <gtest/gtest.h>

#include "isobit/formats/malformed_for_test.h"
#include "isobit/onnx/model_for_test.h"

namespace isobit::onnx {
namespace {

using formats::expect_error;

struct Refused {
  const char* part;
  int64_t opset;
  void (*build)(ModelForTest&);
};

void relu(ModelForTest& m) {
  m.input("x", {2, 3});
  m.node("Relu", {"x"}, {"y"}).named("n");
  m.output("y");
}

Tensor truth(bool x) {
  Tensor t(DType::kBool, Shape{});
  *static_cast<uint8_t*>(t.raw()) = x ? 1 : 0;
  return t;
}

const Refused kRefused[] = {
    {"m.onnx: node 'n' (Nothing, opset 13): isobit does not have this operator", 13,
     [](ModelForTest& m) {
       relu(m);
       m.node("Nothing", {"y"}, {"z"}).named("n");
     }},
    {"node 'z' (Nothing, opset 13)", 13,
     [](ModelForTest& m) {
       relu(m);
       m.node("Nothing", {"y"}, {"z"});
     }},
    {"node 'n' (Relu, opset 13): input 0: 'absent' is no input, no initializer and no output of a node", 13,
     [](ModelForTest& m) {
       m.node("Relu", {"absent"}, {"y"}).named("n");
       m.output("y");
     }},
    {"input 0: 'b' is made by a node that does not come before it (node 'second'): nodes are out of order, or form a "
     "cycle",
     13,
     [](ModelForTest& m) {
       m.node("Relu", {"b"}, {"a"}).named("first");
       m.node("Relu", {"a"}, {"b"}).named("second");
       m.output("b");
     }},
    {"node 'n' (Relu, opset 13): input 0: 'y' is made by a node that does not come before it", 13,
     [](ModelForTest& m) {
       m.node("Relu", {"y"}, {"y"}).named("n");
       m.output("y");
     }},
    {"node 'n' (Relu, opset 13): 'x' is defined twice", 13,
     [](ModelForTest& m) {
       m.input("x", {2});
       m.node("Relu", {"x"}, {"x"}).named("n");
       m.output("x");
     }},
    {"m.onnx: 'x' is defined twice", 13,
     [](ModelForTest& m) {
       m.input("x", {2}).input("x", {2});
       relu(m);
     }},
    {"initializer 'w' is defined twice", 13,
     [](ModelForTest& m) {
       relu(m);
       m.initializer("w", ints({1})).initializer("w", ints({1}));
     }},
    {"an input has no name", 13, [](ModelForTest& m) { m.input("", {2}); }},
    {"input 's': is of type 'sequence', isobit has tensors only", 13,
     [](ModelForTest& m) {
       auto& s = *m.graph().add_input();
       s.set_name("s");
       s.mutable_type()->mutable_sequence_type();
     }},
    {"input 's': is string, which isobit does not have", 13, [](ModelForTest& m) { m.input("s", {2}, 8); }},
    {"input 's': dimensions overflow", 13,
     [](ModelForTest& m) {
       m.input("s", {int64_t{1} << 40, int64_t{1} << 40});
     }},
    {"the graph has no outputs", 13,
     [](ModelForTest& m) {
       m.input("x", {2});
       m.node("Relu", {"x"}, {"y"});
     }},
    {"output 'z': nothing makes it", 13,
     [](ModelForTest& m) {
       relu(m);
       m.output("z");
     }},
    {"output 'y': is float32, the file says int64", 13,
     [](ModelForTest& m) {
       relu(m);
       set_dims(*m.graph().mutable_output(0)->mutable_type(), kInt64, {2, 3});
     }},
    {"m.onnx: opset 26; this isobit reads 7 to 25", 26, relu},
    {"m.onnx: opset 0; this isobit reads", 0, relu},
    {"IR version 99", 13,
     [](ModelForTest& m) {
       relu(m);
       m.proto.set_ir_version(99);
     }},
    {"(Relu, opset 0): the file imports no version of domain ''", 13,
     [](ModelForTest& m) {
       relu(m);
       m.proto.clear_opset_import();
     }},
    {"(Scan, opset 8): isobit has this operator in opset 9 and newer", 8,
     [](ModelForTest& m) {
       m.input("x", {2});
       m.node("Scan", {"x"}, {"y"});
       m.output("y");
     }},
    {"(Relu, opset 13): attribute 'unknown' is not known", 13,
     [](ModelForTest& m) {
       m.input("x", {2});
       m.node("Relu", {"x"}, {"y"}).with("unknown", 1);
       m.output("y");
     }},
    {"attribute 'alpha' is given twice", 13,
     [](ModelForTest& m) {
       m.input("x", {2});
       m.node("LeakyRelu", {"x"}, {"y"}).with("alpha", 1.0f).with("alpha", 2.0f);
       m.output("y");
     }},
    {"attribute 'alpha' has the wrong type", 13,
     [](ModelForTest& m) {
       m.input("x", {2});
       m.node("LeakyRelu", {"x"}, {"y"}).with("alpha", 1);
       m.output("y");
     }},
    {"attribute 'alpha' is a type, which isobit does not take here", 13,
     [](ModelForTest& m) {
       m.input("x", {2});
       m.node("LeakyRelu", {"x"}, {"y"}).add("alpha", 13);
       m.output("y");
     }},
    {"attribute 'axis' has the wrong type", 13,
     [](ModelForTest& m) {
       m.input("x", {2, 3});
       m.node("Softmax", {"x"}, {"y"}).with("axis", 1.0f);
       m.output("y");
     }},
    {"expected 1 to 1", 13,
     [](ModelForTest& m) {
       m.node("Softmax", {}, {"y"});
       m.output("y");
     }},
    {"attribute 'to' asks for string, which isobit does not have", 13,
     [](ModelForTest& m) {
       m.input("x", {2});
       m.node("Cast", {"x"}, {"y"}).with("to", 8);
       m.output("y");
     }},
    {"attribute 'to' is missing", 13,
     [](ModelForTest& m) {
       m.input("x", {2});
       m.node("Cast", {"x"}, {"y"});
       m.output("y");
     }},
    {"do not broadcast", 13,
     [](ModelForTest& m) {
       m.input("a", {2}).input("b", {3});
       m.node("Add", {"a", "b"}, {"y"});
       m.output("y");
     }},
    {"'shape' is given as an input and as an attribute", 13,
     [](ModelForTest& m) {
       m.input("x", {2}).initializer("s", ints({2}));
       m.node("Reshape", {"x", "s"}, {"y"}).with("shape", std::vector<int64_t>{2});
       m.output("y");
     }},
    {"input 0 ('s'): is string, which isobit does not have", 13,
     [](ModelForTest& m) {
       auto& t = *m.graph().add_initializer();
       t.set_name("s");
       t.set_data_type(8);
       t.add_string_data("text");
       m.node("Identity", {"s"}, {"y"});
       m.output("y");
     }},
    {"input 0 ('s'): is a sparse tensor", 13,
     [](ModelForTest& m) {
       m.graph().add_sparse_initializer()->mutable_values()->set_name("s");
       m.node("Identity", {"s"}, {"y"});
       m.output("y");
     }},
    {"it draws random numbers", 13,
     [](ModelForTest& m) {
       m.node("RandomUniform", {}, {"y"});
       m.output("y");
     }},
    {"training_mode must be known before the run", 13,
     [](ModelForTest& m) {
       m.input("x", {2}).input("mode", {}, kBool);
       m.node("Dropout", {"x", "", "mode"}, {"y"});
       m.output("y");
     }},
    {"training_mode is true", 13,
     [](ModelForTest& m) {
       m.input("x", {2}).initializer("mode", truth(true));
       m.node("Dropout", {"x", "", "mode"}, {"y"});
       m.output("y");
     }},
    {"attribute 'input_forget' is not known, or given twice", 14,
     [](ModelForTest& m) {
       m.input("x", {3, 1, 2}).input("w", {1, 4, 2}).input("r", {1, 4, 4});
       m.node("RNN", {"x", "w", "r"}, {"y"}).with("hidden_size", 4).with("input_forget", 1);
       m.output("y");
     }},
    {"attribute 'linear_before_reset' is not known, or given twice", 14,
     [](ModelForTest& m) {
       m.input("x", {3, 1, 2}).input("w", {1, 16, 2}).input("r", {1, 16, 4});
       m.node("LSTM", {"x", "w", "r"}, {"y"}).with("hidden_size", 4).with("linear_before_reset", 1);
       m.output("y");
     }},
    {"attribute 'reduction' is not known, or given twice", 13,
     [](ModelForTest& m) {
       m.input("x", {2, 3}).input("t", {2}, kInt64);
       m.node("SoftmaxCrossEntropyLoss", {"x", "t"}, {"y"}).with("reduction", "sum").with("reduction", "mean");
       m.output("y");
     }},
    {"'spatial' is 0", 7,
     [](ModelForTest& m) {
       m.input("x", {2, 3});
       for (const char* name : {"s", "b", "m", "v"}) m.input(name, {3});
       m.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}).with("spatial", 0);
       m.output("y");
     }},
    {"output 1 is there in training only", 7,
     [](ModelForTest& m) {
       m.input("x", {2, 3});
       for (const char* name : {"s", "b", "m", "v"}) m.input(name, {3});
       m.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "mean"});
       m.output("y");
     }},
    {"input 0 ('s'): is a sequence, where a tensor is expected", 13,
     [](ModelForTest& m) {
       m.input("x", {2});
       m.node("SequenceConstruct", {"x"}, {"s"});
       m.node("Relu", {"s"}, {"y"});
       m.output("y");
     }},
    {"place 1 of a sequence of 1", 13,
     [](ModelForTest& m) {
       m.input("x", {2}).initializer("i", Tensor::scalar(int64_t{1}));
       m.node("SequenceConstruct", {"x"}, {"s"});
       m.node("SequenceAt", {"s", "i"}, {"y"});
       m.output("y");
     }},
    {"node 'n' (MatMul, opset 13): attribute 'nonsense' is not known", 13,
     [](ModelForTest& m) {
       m.input("x", {2, 2});
       m.node("MatMul", {"x", "x"}, {"y"}).named("n").with("nonsense", 1);
       m.output("y");
     }},
    {"node 'n' (Transpose, opset 13): input 1 is one too many", 13,
     [](ModelForTest& m) {
       m.input("x", {2, 2});
       m.node("Transpose", {"x", "x"}, {"y"}).named("n");
       m.output("y");
     }},
    {"m.onnx: imports domain '' as version 13 and as version 7", 13,
     [](ModelForTest& m) {
       relu(m);
       auto& again = *m.proto.add_opset_import();
       again.set_domain("ai.onnx");
       again.set_version(7);
     }},
    {"node 'n' (ai.onnx.ml.Binarizer, opset 99): is of opset 99; this isobit reads up to 5", 13,
     [](ModelForTest& m) {
       auto& ml = *m.proto.add_opset_import();
       ml.set_domain("ai.onnx.ml");
       ml.set_version(99);
       m.input("x", {2});
       m.node("Binarizer", {"x"}, {"y"}).named("n").in_domain("ai.onnx.ml");
       m.output("y");
     }},
    {"node 'n' (RoiAlign, opset 10): attribute 'coordinate_transformation_mode' is of opset 16", 10,
     [](ModelForTest& m) {
       m.input("x", {1, 1, 4, 4}).input("rois", {1, 4}).input("at", {1}, kInt64);
       m.node("RoiAlign", {"x", "rois", "at"}, {"y"}).named("n").with("coordinate_transformation_mode", "half_pixel");
       m.output("y");
     }},
    {"node 'n' (Resize, opset 10): it takes the nearest element and makes some axes larger and some smaller", 10,
     [](ModelForTest& m) {
       m.input("x", {1, 1, 4, 4}).initializer("s", floats({4}, {1, 1, 2, 0.5}));
       m.node("Resize", {"x", "s"}, {"y"}).named("n");
       m.output("y");
     }},
    {"node 'n' (Dropout, opset 6): isobit has this operator in opset 7 and newer", 6,
     [](ModelForTest& m) {
       m.input("x", {2});
       m.node("Dropout", {"x"}, {"y"}).named("n");
       m.output("y");
     }},
    {"a constant has one attribute, its value", 13,
     [](ModelForTest& m) {
       m.node("Constant", {}, {"y"});
       m.output("y");
     }},
    {"attribute 'value' is no value of a constant", 13,
     [](ModelForTest& m) {
       m.node("Constant", {}, {"y"}).with("value", 1);
       m.output("y");
     }},
};

TEST(Refused, EveryErrorNamesItsPlace) {
  for (const Refused& refused : kRefused) {
    SCOPED_TRACE(refused.part);
    ModelForTest m(refused.opset);
    refused.build(m);
    expect_error(m.imported(), refused.part);
    expect_error(m.imported(), "m.onnx: ");
  }
}

}  // namespace
}  // namespace isobit::onnx
