// What tests of the export share: a graph that is written, read again and run.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/onnx/encode.h"
#include "isobit/onnx/export.h"
#include "isobit/onnx/import.h"
#include "isobit/runtime/executor.h"

namespace isobit::onnx {

using Values = std::map<std::string, Tensor>;

// Small numbers of both signs (of `positive` all above 0), integers below 8, truths.
inline Tensor drawn(DType dtype, const std::vector<int64_t>& dims, uint64_t seed, bool positive = false) {
  std::mt19937_64 random(seed);
  Tensor t(dtype, Shape(dims));
  by_type(FloatTypes{}, dtype, [&]<class T>(T) {
    for (T& x : t.span<T>()) {
      const double r = static_cast<double>(random() >> 40) * 0x1p-24;
      x = static_cast<T>(positive ? r + 0.5 : 2 * r - 1);
    }
  });
  by_type(IntegerTypes{}, dtype, [&]<class T>(T) {
    for (T& x : t.span<T>()) x = static_cast<T>(random() % 8);
  });
  if (dtype == DType::kBool) {
    for (bool& x : t.span<bool>()) x = random() % 2 != 0;
  }
  return t;
}

// The outputs, of inputs by name; names that the graph does not have as inputs go nowhere.
inline std::vector<Tensor> run_graph(const graph::Graph& graph, const Values& values) {
  ThreadPool pool(1);
  runtime::Executor::Feeds feeds;
  for (const graph::ValueId id : graph.inputs()) {
    const auto found = values.find(graph.value(id).name);
    EXPECT_NE(found, values.end()) << graph.value(id).name;
    if (found != values.end()) feeds.emplace_back(id, found->second.clone());
  }
  runtime::Executor executor(graph);
  auto outputs = executor.run({kernels::best_isa(), &pool}, std::move(feeds));
  EXPECT_TRUE(outputs) << outputs.error().message;
  if (!outputs) return {};
  for (Tensor& t : *outputs) t = t.clone();
  return *std::move(outputs);
}

// The model as bytes, read and imported.
inline Expected<graph::Graph> read_again(const Model& model, const ImportOptions& options = {}) {
  ISOBIT_TRY(const Encoded encoded, encode_model(model));
  ISOBIT_TRY(const Model decoded, decode_model(encoded.whole_file(), "m.onnx"));
  ISOBIT_TRY(Imported imported, import_model(decoded, options));
  return std::move(imported.graph);
}

inline void expect_same(const std::vector<Tensor>& found, const std::vector<Tensor>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].shape(), expected[i].shape()) << "output " << i;
    EXPECT_TRUE(identical(found[i], expected[i])) << "output " << i << " has other bits";
  }
}

// Operators of the model's nodes.
inline std::vector<std::string> operators(const GraphDef& graph) {
  std::vector<std::string> ops;
  for (const NodeDef& n : graph.nodes) ops.push_back(n.op);
  return ops;
}

// Null when it is absent.
inline const AttributeDef* attribute_of(const NodeDef& node, std::string_view name) {
  const auto found = std::ranges::find(node.attributes, name, &AttributeDef::name);
  return found == node.attributes.end() ? nullptr : &*found;
}

// Writes the graph, reads it again and compares the outputs of both for drawn inputs. The model.
inline Model expect_round_trip(const graph::Graph& graph, const ExportOptions& options = {}) {
  auto model = export_model(graph, {}, options);
  EXPECT_TRUE(model) << model.error().message;
  if (!model) return {};
  const auto again = read_again(*model);
  EXPECT_TRUE(again) << again.error().message;
  if (!again) return *std::move(model);
  for (const uint64_t seed : {1, 2, 3}) {
    Values values;
    for (const graph::ValueId id : graph.inputs()) {
      const graph::Value& value = graph.value(id);
      values[value.name] = drawn(value.dtype, value.dims, seed * 100 + static_cast<uint64_t>(id));
    }
    expect_same(run_graph(*again, values), run_graph(graph, values));
  }
  return *std::move(model);
}

}  // namespace isobit::onnx
