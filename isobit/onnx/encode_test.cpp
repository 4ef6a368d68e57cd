// Models as bytes, and tensors in a second file.
#include "isobit/onnx/encode.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <regex>

#include "isobit/formats/malformed_for_test.h"

namespace isobit::onnx {
namespace {

TensorDef tensor(const std::string& name, Tensor t) {
  return {name, element_of_dtype(t.dtype()), t.shape().dims(), std::move(t)};
}

Tensor counting(int64_t n) {
  Tensor t(DType::kFloat32, {n});
  for (int64_t i = 0; i < n; ++i) t.data<float>()[i] = static_cast<float>(i);
  return t;
}

ValueDef value(const std::string& name, std::vector<DimDef> dims, int64_t element = 1) {
  ValueDef v{name, {}};
  v.type.kind = TypeDef::Kind::kTensor;
  v.type.element = element;
  v.type.has_shape = true;
  v.type.dims = std::move(dims);
  return v;
}

// Something of everything.
Model example() {
  auto body = std::make_shared<GraphDef>();
  body->name = "body";
  body->nodes.push_back({"inner", "Relu", "", "", {"x"}, {"r"}, {}});
  body->outputs.push_back(value("r", {}));
  NodeDef node{"node", "Op", "com.example", "", {"x", "", "w"}, {"y", "", "z"}, {}};
  node.attributes = {{"f", "", 1.5f},
                     {"floats", "", std::vector<float>{1, 2}},
                     {"graph", "", std::shared_ptr<const GraphDef>(body)},
                     {"i", "", int64_t{-7}},
                     {"ints", "", std::vector<int64_t>{1, -2}},
                     {"s", "", std::string("text")},
                     {"strings", "", std::vector<std::string>{"a", ""}},
                     {"t", "", tensor("", Tensor::scalar(int64_t{9}))}};
  Model m;
  m.ir_version = 9;
  m.producer = "somebody";
  m.producer_version = "2";
  m.metadata = {{"key", "value"}, {"other", ""}};
  m.opsets = {{"", 19}, {"com.example", 1}};
  m.graph.name = "graph";
  m.graph.nodes = {node};
  m.graph.initializers = {tensor("w", counting(400)), tensor("small", counting(3)), tensor("none", counting(0)),
                          tensor("v", counting(300))};
  m.graph.inputs = {value("x", {{2, ""}, {-1, "batch"}, {-1, ""}}), value("any", {}, 7)};
  m.graph.inputs[1].type.has_shape = false;
  m.graph.outputs = {value("y", {})};
  return m;
}

void expect_equal(const GraphDef& found, const GraphDef& wanted);

void expect_equal(const TensorDef& found, const TensorDef& wanted) {
  EXPECT_EQ(found.name, wanted.name);
  EXPECT_EQ(found.dims, wanted.dims);
  EXPECT_TRUE(identical(found.tensor, wanted.tensor)) << wanted.name;
}

void expect_equal(const AttributeDef& found, const AttributeDef& wanted) {
  EXPECT_EQ(found.name, wanted.name);
  ASSERT_EQ(found.value.index(), wanted.value.index()) << wanted.name;
  if (const auto* t = std::get_if<TensorDef>(&wanted.value)) {
    expect_equal(std::get<TensorDef>(found.value), *t);
  } else if (const auto* g = std::get_if<std::shared_ptr<const GraphDef>>(&wanted.value)) {
    expect_equal(*std::get<std::shared_ptr<const GraphDef>>(found.value), **g);
  } else if (const auto* s = std::get_if<std::vector<std::string>>(&wanted.value)) {
    EXPECT_EQ(std::get<std::vector<std::string>>(found.value), *s);
  } else if (const auto* f = std::get_if<std::vector<float>>(&wanted.value)) {
    EXPECT_EQ(std::get<std::vector<float>>(found.value), *f);
  } else if (const auto* i = std::get_if<std::vector<int64_t>>(&wanted.value)) {
    EXPECT_EQ(std::get<std::vector<int64_t>>(found.value), *i);
  } else if (const auto* text = std::get_if<std::string>(&wanted.value)) {
    EXPECT_EQ(std::get<std::string>(found.value), *text);
  } else if (const auto* x = std::get_if<float>(&wanted.value)) {
    EXPECT_EQ(std::get<float>(found.value), *x);
  } else {
    EXPECT_EQ(std::get<int64_t>(found.value), std::get<int64_t>(wanted.value));
  }
}

void expect_equal(const ValueDef& found, const ValueDef& wanted) {
  EXPECT_EQ(found.name, wanted.name);
  EXPECT_EQ(found.type.text(), wanted.type.text());
}

void expect_equal(const NodeDef& found, const NodeDef& wanted) {
  EXPECT_EQ(found.name, wanted.name);
  EXPECT_EQ(found.op, wanted.op);
  EXPECT_EQ(found.domain, wanted.domain);
  EXPECT_EQ(found.inputs, wanted.inputs);
  EXPECT_EQ(found.outputs, wanted.outputs);
  ASSERT_EQ(found.attributes.size(), wanted.attributes.size());
  for (size_t i = 0; i < found.attributes.size(); ++i) expect_equal(found.attributes[i], wanted.attributes[i]);
}

template <class Defs>
void expect_all_equal(const Defs& found, const Defs& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) expect_equal(found[i], wanted[i]);
}

void expect_equal(const GraphDef& found, const GraphDef& wanted) {
  EXPECT_EQ(found.name, wanted.name);
  expect_all_equal(found.nodes, wanted.nodes);
  expect_all_equal(found.initializers, wanted.initializers);
  expect_all_equal(found.inputs, wanted.inputs);
  expect_all_equal(found.outputs, wanted.outputs);
}

void expect_equal(const Model& found, const Model& wanted) {
  EXPECT_EQ(found.ir_version, wanted.ir_version);
  EXPECT_EQ(found.producer, wanted.producer);
  EXPECT_EQ(found.producer_version, wanted.producer_version);
  EXPECT_EQ(found.metadata, wanted.metadata);
  ASSERT_EQ(found.opsets.size(), wanted.opsets.size());
  for (size_t i = 0; i < found.opsets.size(); ++i)
    EXPECT_EQ(found.opset(wanted.opsets[i].domain), wanted.opsets[i].version);
  expect_equal(found.graph, wanted.graph);
}

TEST(Encode, WhatIsReadIsWhatWasWritten) {
  const Model model = example();
  const auto encoded = encode_model(model);
  ASSERT_TRUE(encoded) << encoded.error().message;
  EXPECT_TRUE(encoded->data.empty());
  const auto decoded = decode_model(encoded->whole_file(), "m.onnx");
  ASSERT_TRUE(decoded) << decoded.error().message;
  expect_equal(*decoded, model);
  EXPECT_EQ(encode_model(*decoded)->whole_file(), encoded->whole_file());
}

TEST(Encode, EveryTypeOfElement) {
  for (uint64_t number = 1; const auto dtype = dtype_of_number(number); ++number) {
    Model model = example();
    Tensor t = Tensor::zeros(*dtype, {3});
    static_cast<uint8_t*>(t.raw())[0] = 1;
    model.graph.initializers = {tensor("t", t)};
    const auto decoded = decode_model(encode_model(model)->whole_file(), "m.onnx");
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_TRUE(identical(decoded->graph.initializers[0].tensor, t)) << name_of(*dtype);
  }
}

TEST(Encode, WhatPlainDataDoNotHoldIsRefused) {
  const auto refused = [](const char* part, auto change) {
    Model model = example();
    change(model);
    formats::expect_error(encode_model(model), part);
  };
  refused("functions", [](Model& m) { m.functions.emplace_back(); });
  refused("'s' is sparse", [](Model& m) { m.graph.sparse_initializers = {"s"}; });
  refused("initializer 't' is string", [](Model& m) { m.graph.initializers = {{"t", 8, {2}, {}}}; });
  refused("of type 'sequence'", [](Model& m) { m.graph.inputs[0].type.kind = TypeDef::Kind::kSequence; });
  refused("attribute 'a' is a type", [](Model& m) {
    m.graph.nodes[0].attributes = {{"a", "", OtherAttribute{"a type"}}};
  });
  refused("attribute 'a' refers to a caller's", [](Model& m) {
    m.graph.nodes[0].attributes = {{"a", "b", int64_t{1}}};
  });
}

class Write : public ::testing::Test {
 protected:
  Write() : folder_(fs::temp_directory_path() / ("isobit_encode_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~Write() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  // Tensors of 1,024 bytes and more lie outside beyond that many in all.
  Expected<WrittenModel> write(uint64_t most_tensor_bytes, bool replace = false) const {
    return write_model(path(), example(), {.replace = replace}, {.most_tensor_bytes = most_tensor_bytes});
  }
  fs::path path() const { return folder_ / "m.onnx"; }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(Write, LargeTensorsLieInASecondFile) {
  const auto written = write(2000);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_TRUE(std::regex_match(written->data_file, std::regex("m\\.onnx\\.[0-9a-f]{16}\\.data"))) << written->data_file;
  EXPECT_EQ(files(), 2u);
  const uint64_t data = fs::file_size(folder_ / written->data_file);
  EXPECT_EQ(data, kDataAlignment + 300 * 4) << "1,600 bytes, up to a page, 1,200";
  EXPECT_EQ(written->bytes, fs::file_size(path()) + data);
  EXPECT_LT(fs::file_size(path()), 1600u);
  const auto model = load_model(path());
  ASSERT_TRUE(model) << model.error().message;
  expect_equal(*model, example());
}

TEST_F(Write, SmallModelsAreOneFile) {
  const auto written = write(1 << 20);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_TRUE(written->data_file.empty());
  EXPECT_EQ(files(), 1u);
  expect_equal(*load_model(path()), example());
}

TEST_F(Write, NothingIsReplacedUnasked) {
  ASSERT_TRUE(write(2000));
  EXPECT_EQ(write(2000).error().code, ErrorCode::kUsage);
  EXPECT_EQ(write(1 << 20).error().code, ErrorCode::kUsage);
  EXPECT_EQ(files(), 2u);
  EXPECT_TRUE(write(2000, true));
}

// Who is killed at any moment leaves the old model with its tensors or the new one with its own.
TEST_F(Write, AModelThatIsReplacedIsWholeAtAnyTime) {
  const auto first = write(2000);
  ASSERT_TRUE(first);
  const Bytes model = read_file(path(), 1 << 20).value();
  const Bytes data = read_file(folder_ / first->data_file, 1 << 20).value();
  fs::permissions(path(), fs::perms::owner_read | fs::perms::owner_write);
  Model other = example();
  for (TensorDef& t : other.graph.initializers) {
    if (t.tensor.dtype() == DType::kFloat32) t.tensor = Tensor::zeros(DType::kFloat32, t.tensor.shape());
  }
  const auto second = write_model(path(), other, {.replace = true}, {.most_tensor_bytes = 2000});
  ASSERT_TRUE(second) << second.error().message;
  ASSERT_NE(second->data_file, first->data_file);
  EXPECT_EQ(files(), 2u) << "the old tensors are gone";
  expect_equal(*load_model(path()), other);
  EXPECT_EQ(fs::status(folder_ / second->data_file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  // Killed before the model was replaced: both second files, and the old model.
  ASSERT_TRUE(write_file_durably(folder_ / first->data_file, data));
  ASSERT_TRUE(write_file_durably(path(), model));
  expect_equal(*load_model(path()), example());
  // What is left then is nobody's, and what the model has goes with it.
  const std::string kept = "m.onnx.0123456789abcdef.data";
  ASSERT_TRUE(write_file_durably(folder_ / kept, as_bytes("of a model that has another name now")));
  EXPECT_TRUE(write(1 << 20, true));
  EXPECT_FALSE(fs::exists(folder_ / first->data_file));
  EXPECT_TRUE(fs::exists(folder_ / second->data_file));
  EXPECT_TRUE(fs::exists(folder_ / kept));
}

}  // namespace
}  // namespace isobit::onnx
