#include <gtest/gtest.h>

#include "isobit/formats/malformed_for_test.h"
#include "isobit/onnx/model_for_test.h"
#include "isobit/onnx/wire_internal.h"

namespace isobit::onnx {
namespace {

using formats::expect_error;

ModelForTest small_model() {
  ModelForTest m(13);
  m.proto.set_producer_name("somebody");
  m.input("x", {2, -1}).initializer("w", floats({2}, {1, 2}));
  m.node("Add", {"x", "w"}, {"y"}).named("sum");
  m.output("y");
  return m;
}

template <class F>
Expected<Model> decoded(ModelForTest m, F&& change, LoadOptions options = {}) {
  change(m);
  return decode_model(m.bytes(), "some.file", options);
}

TEST(Decode, GivesWhatTheFileSays) {
  const auto model = decode_model(small_model().bytes(), "m.onnx");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->ir_version, 8);
  EXPECT_EQ(model->producer, "somebody");
  EXPECT_EQ(model->opset(""), 13);
  EXPECT_EQ(model->opset("ai.onnx.ml"), std::nullopt);
  ASSERT_EQ(model->graph.inputs.size(), 1u);
  EXPECT_EQ(model->graph.inputs[0].type.text(), "float32 [2, ?]");
  ASSERT_EQ(model->graph.nodes.size(), 1u);
  EXPECT_EQ(model->graph.nodes[0].op, "Add");
  EXPECT_EQ(model->graph.nodes[0].inputs, (std::vector<std::string>{"x", "w"}));
  EXPECT_TRUE(identical(model->graph.initializers[0].tensor, floats({2}, {1, 2})));
}

TEST(Decode, EveryTruncationIsAnErrorOrAModelOfLess) {
  const Bytes whole = small_model().bytes();
  for (size_t n = 0; n < whole.size(); ++n) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    const auto model = decode_model(cut, "some.file");
    // A file may end between two fields of the model itself: what is behind is then absent.
    if (model) continue;
    EXPECT_NE(model.error().message.find("some.file"), std::string::npos) << model.error().message;
  }
}

TEST(Decode, SurvivesEveryFlippedBit) {
  formats::survive_every_flipped_bit(small_model().bytes(), [](ByteView data) {
    auto model = decode_model(data, "some.file");
    if (model) (void)import_model(*model);
    return model;
  });
}

TEST(Decode, NamesTheFieldThatIsCutShort) {
  // The last bytes are the output's name behind its length, which is made longer.
  schema::ModelProto only_graph;
  *only_graph.mutable_graph() = small_model().graph();
  std::string text = only_graph.SerializeAsString();
  text[text.size() - 2] = 5;
  expect_error(decode_model(as_bytes(text), "some.file"),
               "some.file: graph.output[0].name: 5 bytes are announced, 1 are left");
}

TEST(Decode, RefusesWhatIsNoModel) {
  expect_error(decode_model({}, "some.file"), "is empty");
  expect_error(decode_model(as_bytes("PK\x03\x04 not a model"), "some.file"), "some.file");
  schema::ModelProto no_graph;
  no_graph.set_ir_version(8);
  expect_error(decode_model(as_bytes(no_graph.SerializeAsString()), "some.file"), "holds no graph");
}

TEST(Decode, RefusesAFieldOfAnotherWireType) {
  // Field 7 (graph) as a number; field 1 (ir_version) as bytes; a group.
  expect_error(decode_model(as_bytes("\x38\x01"), "some.file"), "graph: has the wire type of another kind");
  expect_error(decode_model(as_bytes(std::string_view("\x0a\x01\x01", 3)), "some.file"),
               "ir_version: has the wire type");
  expect_error(decode_model(as_bytes("\x0b\x0c"), "some.file"), "wire type 3");
  expect_error(decode_model(as_bytes(std::string_view("\x02\x00", 2)), "some.file"), "there is no field 0");
}

TEST(Decode, StepsOverFieldsThatItDoesNotKnow) {
  ModelForTest m = small_model();
  Bytes bytes = m.bytes();
  for (const uint8_t b : {0xa2, 0x06, 0x02, 0x01, 0x02}) bytes.push_back(b);  // field 100, two bytes
  EXPECT_TRUE(decode_model(bytes, "some.file"));
}

TEST(Decode, BoundsTheSizeOfTheFileAndOfWhatItBecomes) {
  const Bytes bytes = small_model().bytes();
  expect_error(decode_model(bytes, "some.file", {.max_file_bytes = bytes.size() - 1}), "over the limit");
  EXPECT_TRUE(decode_model(bytes, "some.file", {.max_file_bytes = bytes.size()}));
  // Two bytes for each node, each of which takes hundreds.
  schema::ModelProto many;
  for (int i = 0; i < 1000; ++i) many.mutable_graph()->add_node();
  const std::string text = many.SerializeAsString();
  EXPECT_LT(text.size(), 3000u);
  expect_error(decode_model(as_bytes(text), "some.file", {.max_message_bytes = 100'000}), "graph.node[");
  EXPECT_TRUE(decode_model(as_bytes(text), "some.file", {.max_message_bytes = 1'000'000}));
}

TEST(Decode, BoundsTheLengthOfNames) {
  for (const bool fits : {true, false}) {
    ModelForTest m(13);
    m.input("x", {2}).output("y");
    m.node("Relu", {"x"}, {"y"}).named(std::string((4 << 20) + (fits ? 0 : 1), 'n'));
    const auto model = decode_model(m.bytes(), "m.onnx");
    EXPECT_EQ(model.has_value(), fits);
    if (!fits) expect_error(model, "m.onnx: graph.node[0].name: a name of ");
  }
}

TEST(Decode, BoundsHowDeepGraphsLie) {
  schema::GraphProto inner;
  for (int i = 0; i < 40; ++i) {
    schema::GraphProto outer;
    add_node(outer, "If", {"c"}, {"y"}).with("then_branch", inner);
    inner = outer;
  }
  schema::ModelProto model;
  *model.mutable_graph() = inner;
  const std::string text = model.SerializeAsString();
  expect_error(decode_model(as_bytes(text), "some.file"), "deep");
  expect_error(decode_model(as_bytes(text), "some.file", {.max_depth = 20}), "messages lie more than 20 deep");
}

TEST(Decode, BoundsTheBytesOfAllTensors) {
  const auto two = [](ModelForTest& m) { m.initializer("v", floats({3}, {1, 2, 3})); };
  // What the rest of the file takes counts, too.
  uint64_t least = 20;
  while (!decoded(small_model(), two, {.max_tensor_bytes = least}) && least < (1 << 20)) ++least;
  EXPECT_TRUE(decoded(small_model(), two, {.max_tensor_bytes = least}));
  expect_error(decoded(small_model(), two, {.max_tensor_bytes = least - 1}), "initializer 'v': asks for 12 bytes");
}

// One initializer after another, each wrong in one way.
struct WrongTensor {
  const char* part;
  void (*change)(schema::TensorProto&);
};

TEST(Decode, RefusesTensorsWhoseDataDoNotFit) {
  const WrongTensor cases[] = {
      {"raw_data has 8 bytes, the shape asks for 12", [](auto& t) { t.set_dims(0, 3); }},
      {"raw_data has 8 bytes, the shape asks for 0", [](auto& t) { t.set_dims(0, 0); }},
      {"dimension -1 is negative", [](auto& t) { t.set_dims(0, -1); }},
      {"dimensions",
       [](auto& t) {
         t.set_dims(0, INT64_MAX);
         t.add_dims(4);
       }},
      {"asks for", [](auto& t) { t.set_dims(0, int64_t{1} << 40); }},
      {"several fields", [](auto& t) { t.add_float_data(1); }},
      {"float_data has 1 elements, the shape asks for 2",
       [](auto& t) {
         t.clear_raw_data();
         t.add_float_data(1);
       }},
      {"float_data has 0 elements",
       [](auto& t) {
         t.clear_raw_data();
         t.add_int64_data(1);
         t.add_int64_data(2);
       }},
      {"int32_data[1] is 256, which is no uint8",
       [](auto& t) {
         t.clear_raw_data();
         t.set_data_type(2);
         t.add_int32_data(255);
         t.add_int32_data(256);
       }},
      {"int32_data[0] is -129, which is no int8",
       [](auto& t) {
         t.clear_raw_data();
         t.set_data_type(3);
         t.add_int32_data(-129);
         t.add_int32_data(0);
       }},
      {"fewer elements",
       [](auto& t) {
         t.clear_raw_data();
         t.set_dims(0, 1 << 20);
         t.add_float_data(1);
       }},
      {"data_location is 2", [](auto& t) { t.set_data_location(2); }},
      {"in the file and outside of it", [](auto& t) { t.set_data_location(1); }},
      {"only a model that is read from a folder",
       [](auto& t) {
         t.clear_raw_data();
         t.set_data_location(1);
         auto& e = *t.add_external_data();
         e.set_key("location");
         e.set_value("data");
       }},
  };
  for (const WrongTensor& wrong : cases) {
    const auto model =
        decoded(small_model(), [&](ModelForTest& m) { wrong.change(*m.graph().mutable_initializer(0)); });
    expect_error(model, "some.file: initializer 'w': ");
    expect_error(model, wrong.part);
  }
}

TEST(Decode, RefusesAnAttributeOfNoType) {
  expect_error(decoded(small_model(), [](ModelForTest& m) { m.node("Relu", {"y"}, {"z"}).add("a", 99); }),
               "attribute 'a': its type is 99");
}

// Every type, from the typed field and from raw bytes, is the same tensor.
template <class T, class Add>
void expect_type(const std::vector<T>& values, Add add) {
  const Tensor wanted = Tensor::of<T>(Shape{static_cast<int64_t>(values.size())}, values);
  schema::TensorProto raw, typed;
  set_tensor(raw, "t", wanted);
  typed = raw;
  typed.clear_raw_data();
  for (const T v : values) add(typed, v);
  for (const auto* proto : {&raw, &typed}) {
    const auto tensor = decode_tensor(as_bytes(proto->SerializeAsString()), "t.pb");
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_TRUE(identical(tensor->tensor, wanted)) << name_of(wanted.dtype());
  }
}

TEST(DecodeTensor, ReadsEveryTypeFromEitherField) {
  using P = schema::TensorProto;
  expect_type<float>({1, -0.0f, 3e38f}, [](P& p, float v) { p.add_float_data(v); });
  expect_type<double>({1, 1e300}, [](P& p, double v) { p.add_double_data(v); });
  expect_type<int64_t>({INT64_MIN, 7}, [](P& p, int64_t v) { p.add_int64_data(v); });
  expect_type<uint64_t>({UINT64_MAX, 7}, [](P& p, uint64_t v) { p.add_uint64_data(v); });
  expect_type<uint32_t>({UINT32_MAX, 7}, [](P& p, uint32_t v) { p.add_uint64_data(v); });
  expect_type<int32_t>({INT32_MIN, 7}, [](P& p, int32_t v) { p.add_int32_data(v); });
  expect_type<int16_t>({INT16_MIN, 7}, [](P& p, int16_t v) { p.add_int32_data(v); });
  expect_type<uint16_t>({UINT16_MAX, 7}, [](P& p, uint16_t v) { p.add_int32_data(v); });
  expect_type<int8_t>({-128, 7}, [](P& p, int8_t v) { p.add_int32_data(v); });
  expect_type<uint8_t>({255, 7}, [](P& p, uint8_t v) { p.add_int32_data(v); });
  expect_type<Float16>({Float16{0x3c00}, Float16{0x8001}}, [](P& p, Float16 v) { p.add_int32_data(v.bits); });
  expect_type<Bfloat16>({Bfloat16{0x3f80}, Bfloat16{0xff80}}, [](P& p, Bfloat16 v) { p.add_int32_data(v.bits); });
}

TEST(DecodeTensor, AnyByteButZeroIsTrue) {
  schema::TensorProto proto;
  proto.set_data_type(kBool);
  proto.add_dims(3);
  proto.set_raw_data(std::string("\x00\x02\xff", 3));
  const auto tensor = decode_tensor(as_bytes(proto.SerializeAsString()), "t.pb");
  ASSERT_TRUE(tensor);
  const auto* bytes = static_cast<const uint8_t*>(tensor->tensor.raw());
  EXPECT_EQ(std::vector<uint8_t>(bytes, bytes + 3), (std::vector<uint8_t>{0, 1, 1}));
}

TEST(DecodeTensor, TypesThatIsobitDoesNotHaveAreNamedAndHaveNoData) {
  schema::TensorProto proto;
  proto.set_data_type(8);
  proto.add_dims(1);
  proto.add_string_data("text");
  const auto tensor = decode_tensor(as_bytes(proto.SerializeAsString()), "t.pb");
  ASSERT_TRUE(tensor);
  EXPECT_FALSE(tensor->tensor.defined());
  EXPECT_EQ(element_name(tensor->element), "string");
  EXPECT_EQ(element_name(10), "float16");
  EXPECT_EQ(element_name(99), "type 99");
}

}  // namespace
}  // namespace isobit::onnx
