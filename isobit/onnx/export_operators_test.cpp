// Every operator: written as ONNX's and read again it computes the same bits, or there is a reason why it is not.
#include <gtest/gtest.h>

#include <set>

#include "isobit/base/text.h"
#include "isobit/onnx/export_for_test.h"
#include "isobit/onnx/exporter_internal.h"
#include "isobit/runtime/operator_cases_for_test.h"

namespace isobit::onnx {
namespace {

using runtime::OneOperator;
using runtime::OperatorCase;

// What ONNX does not have of an operator that it has: part of the message, by operator.
const std::multimap<std::string, std::string>& gaps() {
  static const std::multimap<std::string, std::string> kGaps = {
      {"Celu", "ONNX does not have it for float64"},
      {"QuantizeLinear", "ONNX does not have it for float64"},
      {"DequantizeLinear", "ONNX does not have it for float64"},
      {"DynamicQuantizeLinear", "ONNX does not have it for float64"},
      {"QLinearConv", "ONNX does not have it for float64"},
      {"QLinearMatMul", "ONNX does not have it for float64"},
      {"NonMaxSuppression", "ONNX does not have it for float64"},
      {"LayerNormalization", "ONNX has its statistics in float32 only"},
      {"isobit.CrossEntropy", "ONNX has the mean loss only"},
      {"isobit.TreeEnsemble", "leaves with several votes"},
  };
  return kGaps;
}

bool is_gap(const std::string& op, const std::string& message) {
  const auto [first, last] = gaps().equal_range(op);
  return std::any_of(first, last, [&](const auto& g) { return message.find(g.second) != std::string::npos; });
}

// Real attributes as ONNX holds them.
OperatorCase in_float32(OperatorCase c) {
  const graph::Attributes given = c.attributes;
  for (const auto& [name, value] : given.items()) {
    if (const auto* x = std::get_if<double>(&value))
      c.attributes.set(name, static_cast<double>(static_cast<float>(*x)));
    if (const auto* xs = std::get_if<std::vector<double>>(&value)) {
      std::vector<double> narrow;
      for (const double y : *xs) narrow.push_back(static_cast<double>(static_cast<float>(y)));
      c.attributes.set(name, std::move(narrow));
    }
  }
  return c;
}

TEST(Writers, EveryOperatorIsWrittenOrRefusedWithAReason) {
  for (const std::string& op : graph::op_names()) {
    const Writer* writer = find_writer(op);
    ASSERT_NE(writer, nullptr) << op << ": add it to a table of isobit/onnx/exporters";
    EXPECT_NE(static_cast<bool>(writer->write), !writer->refusal.empty()) << op;
  }
}

// A form that is read as it is written: the importer knows it in every opset from there on.
TEST(Writers, WhatIsWrittenAsItIsCanBeRead) {
  for (const std::string& op : graph::op_names()) {
    const Writer& writer = *find_writer(op);
    if (!writer.refusal.empty() || op.starts_with("isobit.")) continue;
    for (int64_t opset = writer.since; opset <= kNewestOpset; ++opset) {
      EXPECT_TRUE(find_row("", op, opset)) << op << ", opset " << opset;
    }
  }
}

void check(const OperatorCase& c, DType dtype, std::set<std::string>& compared) {
  for (const uint64_t seed : {1, 2}) {
    const OneOperator one(c, dtype, seed);
    const Writer& writer = *find_writer(c.op);
    const auto model = export_model(one.graph, {});
    if (!model) {
      EXPECT_NE(model.error().message.find(text_of("(", c.op, "): ")), std::string::npos) << model.error().message;
      const bool is_refused =
          !writer.refusal.empty() && model.error().message.find(writer.refusal) != std::string::npos;
      EXPECT_TRUE(is_refused || is_gap(c.op, model.error().message)) << model.error().message;
      return;
    }
    const auto again = read_again(*model);
    ASSERT_TRUE(again) << again.error().message;
    Values values;
    for (size_t i = 0; i < one.feeds.size(); ++i) {
      values[one.graph.value(one.graph.inputs()[i]).name] = one.feeds[i];
    }
    expect_same(run_graph(*again, values), run_graph(one.graph, values));
    compared.insert(c.op);
  }
}

TEST(Writers, WhatIsWrittenAndReadAgainComputesTheSameBits) {
  std::set<std::string> compared;
  for (const OperatorCase& given : runtime::operator_cases()) {
    const OperatorCase c = in_float32(given);
    std::vector<DType> types = {DType::kFloat32};
    if (graph::find_op(c.op)->any_real_type && !graph::find_op(c.op)->runs_graphs) types.push_back(DType::kFloat64);
    for (const DType dtype : types) {
      SCOPED_TRACE(text_of(c.op, " in ", name_of(dtype)));
      check(c, dtype, compared);
    }
  }
  // Those that need a case of their own have one in export_test.cpp and export_trees_test.cpp.
  const std::set<std::string> elsewhere = {"isobit.CrossEntropy", "isobit.TreeEnsemble"};
  for (const std::string& op : graph::op_names()) {
    const bool is_written = find_writer(op)->refusal.empty();
    EXPECT_EQ(compared.contains(op), is_written && !elsewhere.contains(op)) << op;
  }
}

}  // namespace
}  // namespace isobit::onnx
