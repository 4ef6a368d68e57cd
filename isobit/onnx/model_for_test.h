// Models that tests write, field by field.
#pragma once

#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

#include "isobit/onnx/import.h"
#include "isobit/onnx/schema.pb.h"

namespace isobit::onnx {

inline void set_dims(schema::TypeProto& type, int element, const std::vector<int64_t>& dims) {
  auto* tensor = type.mutable_tensor_type();
  tensor->set_elem_type(element);
  auto* shape = tensor->mutable_shape();
  for (const int64_t d : dims) {
    auto* dim = shape->add_dim();
    if (d >= 0) dim->set_dim_value(d);
  }
}

inline void set_tensor(schema::TensorProto& proto, const std::string& name, const Tensor& tensor) {
  proto.set_name(name);
  proto.set_data_type(static_cast<int>(element_of_dtype(tensor.dtype())));
  for (const int64_t d : tensor.shape().dims()) proto.add_dims(d);
  proto.set_raw_data(tensor.raw(), tensor.bytes());
}

inline Tensor ints(const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values);
}
inline Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(std::move(shape), values);
}

// Of every node, in order.
inline std::vector<std::string> operators(const graph::Graph& g) {
  std::vector<std::string> names;
  for (const graph::Node& node : g.nodes()) names.push_back(node.op);
  return names;
}

// Attributes of a node, one call each.
class NodeForTest {
 public:
  explicit NodeForTest(schema::NodeProto& proto) : proto_(&proto) {}
  NodeForTest& named(const std::string& name) { return proto_->set_name(name), *this; }
  NodeForTest& in_domain(const std::string& domain) { return proto_->set_domain(domain), *this; }
  NodeForTest& with(const std::string& name, int64_t value) { return add(name, 2).set_i(value), *this; }
  NodeForTest& with(const std::string& name, int value) { return with(name, static_cast<int64_t>(value)); }
  NodeForTest& with(const std::string& name, float value) { return add(name, 1).set_f(value), *this; }
  NodeForTest& with(const std::string& name, const char* text) { return add(name, 3).set_s(text), *this; }
  NodeForTest& with(const std::string& name, const std::vector<int64_t>& values) {
    auto& a = add(name, 7);
    for (const int64_t v : values) a.add_ints(v);
    return *this;
  }
  NodeForTest& with(const std::string& name, const std::vector<float>& values) {
    auto& a = add(name, 6);
    for (const float v : values) a.add_floats(v);
    return *this;
  }
  NodeForTest& with(const std::string& name, const Tensor& tensor) {
    set_tensor(*add(name, 4).mutable_t(), "", tensor);
    return *this;
  }
  NodeForTest& with(const std::string& name, const schema::GraphProto& graph) {
    *add(name, 5).mutable_g() = graph;
    return *this;
  }
  NodeForTest& refers(const std::string& name, const std::string& to, int type) {
    add(name, type).set_ref_attr_name(to);
    return *this;
  }

  schema::AttributeProto& add(const std::string& name, int type) {
    auto& a = *proto_->add_attribute();
    a.set_name(name);
    a.set_type(type);
    return a;
  }

 private:
  schema::NodeProto* proto_;
};

template <class Body>
NodeForTest add_node(Body& body, const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs) {
  schema::NodeProto& node = *body.add_node();
  node.set_op_type(op);
  for (const std::string& i : inputs) node.add_input(i);
  for (const std::string& o : outputs) node.add_output(o);
  return NodeForTest(node);
}

inline constexpr int kFloat = 1, kInt64 = 7, kBool = 9, kFloat16 = 10;  // ONNX's numbers

class ModelForTest {
 public:
  explicit ModelForTest(int64_t opset = kNewestOpset) {
    proto.set_ir_version(8);
    auto& opset_import = *proto.add_opset_import();
    opset_import.set_domain("");
    opset_import.set_version(opset);
    graph().set_name("graph");
  }
  schema::GraphProto& graph() { return *proto.mutable_graph(); }
  ModelForTest& input(const std::string& name, const std::vector<int64_t>& dims, int element = kFloat) {
    auto& value = *graph().add_input();
    value.set_name(name);
    set_dims(*value.mutable_type(), element, dims);
    return *this;
  }
  ModelForTest& output(const std::string& name) { return graph().add_output()->set_name(name), *this; }
  ModelForTest& initializer(const std::string& name, const Tensor& tensor) {
    set_tensor(*graph().add_initializer(), name, tensor);
    return *this;
  }
  NodeForTest node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs) {
    return add_node(graph(), op, inputs, outputs);
  }
  Bytes bytes() const {
    const std::string text = proto.SerializeAsString();
    return Bytes(text.begin(), text.end());
  }
  void write(const fs::path& path) const {
    const Bytes whole = bytes();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(whole.data()), static_cast<std::streamsize>(whole.size()));
  }
  Expected<Imported> imported(const ImportOptions& options = {}) const {
    ISOBIT_TRY(const Model model, decode_model(bytes(), "m.onnx"));
    return import_model(model, options);
  }

  schema::ModelProto proto;
};

}  // namespace isobit::onnx
