// An ONNX model as a stranger may write it: read, surveyed and imported, within small limits; what was imported is
// written, if ONNX has it, and read again. The mutator knows what a model is: names that are used elsewhere, operators
// that there are, numbers that shapes go wrong with.
#include <algorithm>
#include <random>

#include "isobit/graph/op.h"
#include "isobit/onnx/encode.h"
#include "isobit/onnx/export.h"
#include "isobit/onnx/import.h"
#include "isobit/onnx/schema.pb.h"

using namespace isobit;
using namespace isobit::onnx;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const LoadOptions limits = {
      .max_file_bytes = 1 << 20, .max_message_bytes = 64 << 20, .max_tensor_bytes = 16 << 20, .max_depth = 100};
  const auto model = decode_model({data, size}, "input", limits);
  if (!model) {
    ISOBIT_CHECK(model.error().code == ErrorCode::kUnreadable);
    return 0;
  }
  (void)unsupported_operators(*model);
  (void)summary_of(*model);
  const auto imported = import_model(*model, {.max_nodes = 2000, .max_depth = 16});
  if (imported) {
    ISOBIT_CHECK(imported->graph.outputs().size() == model->graph.outputs.size());
    if (const auto written = export_model(imported->graph, {})) {
      const auto encoded = encode_model(*written);
      ISOBIT_CHECK(encoded && decode_model(encoded->whole_file(), "again"));
    }
  } else {
    ISOBIT_CHECK(imported.error().message.starts_with("input: "));
  }
  return 0;
}

#ifdef ISOBIT_LIBFUZZER
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

class Mutator {
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

  template <class Repeated>
  auto* some(Repeated& items) {
    return items.Mutable(static_cast<int>(below(static_cast<size_t>(items.size()))));
  }

 public:
  Mutator(schema::ModelProto& model, unsigned seed) : model_(model), random_(seed) {}

  void run() {
    schema::GraphProto* graph = model_.mutable_graph();
    // Now and then a body instead: of a function or of a node.
    while (below(4) == 0) {
      schema::GraphProto* inner = some_subgraph(*graph);
      if (inner == nullptr) break;
      graph = inner;
    }
    switch (below(8)) {
      case 0:
        return nodes(*graph->mutable_node());
      case 1:
        return initializer(*graph);
      case 2:
        return value(*graph->mutable_input());
      case 3:
        return value(*graph->mutable_output());
      case 4:
        if (model_.functions_size() > 0) return nodes(*some(*model_.mutable_functions())->mutable_node());
        [[fallthrough]];
      case 5:
        if (model_.opset_import_size() > 0) some(*model_.mutable_opset_import())->set_version(below(30));
        return;
      default:
        if (graph->node_size() > 0) node(*some(*graph->mutable_node()), *graph);
    }
  }

 private:
  int64_t number() {
    static constexpr int64_t kNumbers[] = {0,  1,  2,  3,   4,       5,         7,         8,        -1,
                                           -2, -3, 16, 255, 1 << 16, INT32_MAX, INT64_MAX, INT64_MIN};
    return kNumbers[below(std::size(kNumbers))];
  }

  schema::GraphProto* some_subgraph(schema::GraphProto& graph) {
    std::vector<schema::GraphProto*> found;
    for (auto& n : *graph.mutable_node()) {
      for (auto& a : *n.mutable_attribute()) {
        if (a.has_g()) found.push_back(a.mutable_g());
      }
    }
    return found.empty() ? nullptr : found[below(found.size())];
  }

  std::string some_name(const schema::GraphProto& graph) {
    std::vector<std::string> names = {""};
    for (const auto& i : graph.input()) names.push_back(i.name());
    for (const auto& i : graph.initializer()) names.push_back(i.name());
    for (const auto& n : graph.node()) names.insert(names.end(), n.output().begin(), n.output().end());
    return names[below(names.size())];
  }

  template <class Nodes>
  void nodes(Nodes& nodes) {
    if (nodes.size() == 0) return;
    const int at = static_cast<int>(below(static_cast<size_t>(nodes.size())));
    switch (below(3)) {
      case 0:
        nodes.DeleteSubrange(at, 1);
        return;
      case 1: {
        auto copy = nodes.Get(at);
        for (auto& o : *copy.mutable_output()) o += "'";
        *nodes.Add() = copy;
        return;
      }
      default:
        nodes.SwapElements(at, static_cast<int>(below(static_cast<size_t>(nodes.size()))));
    }
  }

  void node(schema::NodeProto& n, const schema::GraphProto& graph) {
    static const std::vector<std::string> kOperators = graph::op_names();
    switch (below(6)) {
      case 0:
        return n.set_op_type(graph::short_name(kOperators[below(kOperators.size())]));
      case 1:
        return n.add_input(some_name(graph));
      case 2:
        if (n.input_size() > 0)
          n.set_input(static_cast<int>(below(static_cast<size_t>(n.input_size()))), some_name(graph));
        return;
      case 3:
        if (n.input_size() > 0) n.mutable_input()->RemoveLast();
        return;
      case 4:
        if (n.attribute_size() > 0) return attribute(*some(*n.mutable_attribute()));
        [[fallthrough]];
      default: {
        static constexpr const char* kNames[] = {"axis", "axes",         "to",   "keepdims",
                                                 "pads", "kernel_shape", "perm", "alpha"};
        auto& a = *n.add_attribute();
        a.set_name(kNames[below(std::size(kNames))]);
        attribute(a);
      }
    }
  }

  void attribute(schema::AttributeProto& a) {
    switch (below(5)) {
      case 0:
        a.set_type(2);
        return a.set_i(number());
      case 1:
        a.set_type(7);
        return a.add_ints(number());
      case 2:
        if (a.ints_size() > 0) a.set_ints(static_cast<int>(below(static_cast<size_t>(a.ints_size()))), number());
        return;
      case 3:
        a.set_type(1);
        return a.set_f(static_cast<float>(number()));
      default:
        if (a.has_t()) return tensor(*a.mutable_t());
        a.set_type(static_cast<int>(below(16)));
    }
  }

  void initializer(schema::GraphProto& graph) {
    if (graph.initializer_size() > 0) tensor(*some(*graph.mutable_initializer()));
  }

  // Data that fit the shape, so that what comes behind the decoder is reached.
  void tensor(schema::TensorProto& t) {
    if (below(4) == 0) return t.add_dims(number());
    const size_t n = below(5);
    t.clear_dims();
    t.clear_raw_data();
    t.clear_float_data();
    t.clear_int64_data();
    t.add_dims(static_cast<int64_t>(n));
    t.set_data_type(below(2) == 0 ? 7 : 1);
    for (size_t i = 0; i < n; ++i) {
      if (t.data_type() == 7) {
        t.add_int64_data(number());
      } else {
        t.add_float_data(static_cast<float>(number()));
      }
    }
  }

  template <class Values>
  void value(Values& values) {
    if (values.size() == 0) return;
    auto* type = some(values)->mutable_type()->mutable_tensor_type();
    if (below(3) == 0) return type->set_elem_type(static_cast<int>(below(17)));
    auto* shape = type->mutable_shape();
    if (shape->dim_size() > 0 && below(2) == 0) return some(*shape->mutable_dim())->set_dim_value(number());
    if (shape->dim_size() < 8) shape->add_dim()->set_dim_value(number());
  }

  schema::ModelProto& model_;
  std::minstd_rand random_;
};

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  schema::ModelProto model;
  // One in eight is changed as bytes, so that the decoder has its share.
  if (seed % 8 == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, max_size);
  Mutator(model, seed).run();
  const std::string text = model.SerializeAsString();
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}
#endif
