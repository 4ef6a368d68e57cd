// Shape inference of every operator: what it says of the outputs, and every way in which it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "isobit/graph/op.h"
#include "isobit/graph/refused_nodes_for_test.h"

namespace isobit::graph {
namespace {

Expected<std::vector<Type>> infer(const std::string& op, const std::vector<Type>& inputs, const Attributes& attributes,
                                  size_t outputs) {
  Graph g;
  std::vector<ValueId> ids;
  for (const Type& t : inputs) ids.push_back(g.add_input("x", t.dtype, t.dims));
  ISOBIT_TRY(const auto added, g.add_node(op, ids, attributes, std::vector<std::string>(outputs, "y")));
  std::vector<Type> types;
  for (ValueId id : added) types.push_back({g.value(id).dtype, g.value(id).dims});
  return types;
}

// What the refusal of a node whose output 0 is absent says; "" if it is accepted.
template <class Case>
std::string refusal_with_first_output_absent(const Case& c) {
  Graph g;
  std::vector<ValueId> ids;
  for (const Type& t : c.inputs) ids.push_back(g.add_input("x", t.dtype, t.dims));
  std::vector<std::string> names(c.outputs.size(), "y");
  names[0] = "";
  const auto added = g.add_node(c.op, ids, c.attributes, names);
  return added ? "" : added.error().message;
}

const Attributes kSrc = {{"src_shape", Ints{2, 3, 4, 4}}, {"kernel_shape", Ints{2, 2}}};
const Attributes kWindow = {{"kernel_shape", Ints{2, 2}}};
const Attributes kBlock = {{"starts", Ints{1, 0}}, {"counts", Ints{2, 2}}};
const Attributes kBlockGrad = {{"starts", Ints{1, 0}}, {"counts", Ints{2, 2}}, {"src_shape", Ints{3, 2}}};

std::vector<Accepted> accepted() {
  const Type x = f32({2, 3}), row = f32({3}), scalar = f32({}), rate = f64({}), image = f32({2, 3, 4, 4});
  const Type half = f32({2, 3, 3, 3}), one = f32({2, 3, 1, 1}), kernel = f32({6, 3, 2, 2}), conv = f32({2, 6, 3, 3});
  std::vector<Accepted> all = {
      {"Cast", {x}, {f64({2, 3})}, {{"to", static_cast<int64_t>(DType::kFloat64)}}},
      {"Identity", {i64({4})}, {i64({4})}},
      {"Gelu", {x}, {x}, {{"approximate", std::string("tanh")}}},
      {"isobit.GeluGrad", {x, x}, {x}},
      {"LeakyRelu", {x}, {x}, {{"alpha", 0.2}}},
      {"isobit.LeakyReluGrad", {x, x}, {x}},
      {"isobit.Dropout",
       {x, i64({})},
       {x},
       {{"ratio", 0.25}, {"seed", int64_t{1}}, {"node", int64_t{2}}, {"first", int64_t{6}}}},
      {"MatMul", {f32({2, 3, 4}), f32({5, 1, 4, 6})}, {f32({5, 2, 3, 6})}},
      {"MatMul", {f32({4, 3}), f32({6, 4})}, {f32({3, 6})}, {{"transA", int64_t{1}}, {"transB", int64_t{1}}}},
      {"Gemm", {f32({2, 4}), f32({3, 4}), row}, {x}, {{"transB", int64_t{1}}}},
      {"Gemm", {f32({4, 2}), f32({4, 3})}, {x}, {{"transA", int64_t{1}}}},
      {"Conv", {image, kernel, f32({6})}, {conv}},
      {"Conv",
       {f32({2, 6, 5, 5}), f32({4, 3, 3, 3})},
       {f32({2, 4, 3, 1})},
       {{"group", int64_t{2}}, {"pads", Ints{1, 0, 1, 0}}, {"strides", Ints{2, 1}}, {"dilations", Ints{1, 2}}}},
      {"isobit.ConvGradSrc", {conv, kernel}, {image}, {{"src_shape", image.dims}}},
      {"isobit.ConvGradWeights", {image, conv}, {kernel}, {{"weights_shape", kernel.dims}}},
      {"Transpose", {f32({2, 3, 4})}, {f32({4, 2, 3})}, {{"perm", Ints{2, 0, 1}}}},
      {"Reshape", {f32({2, 6})}, {f32({2, 3, 2})}, {{"shape", Ints{0, -1, 2}}}},
      {"Flatten", {f32({2, 3, 4})}, {f32({6, 4})}, {{"axis", int64_t{2}}}},
      {"Concat", {x, f32({2, 5})}, {f32({2, 8})}, {{"axis", int64_t{-1}}}},
      {"isobit.Block", {f32({3, 2})}, {f32({2, 2})}, kBlock},
      {"isobit.BlockGrad", {f32({2, 2})}, {f32({3, 2})}, kBlockGrad},
      {"Gather", {f32({5, 3}), i64({2, 2})}, {f32({2, 2, 3})}},
      {"Gather", {f32({5, 3}), i32({4})}, {f32({5, 4})}, {{"axis", int64_t{1}}}},
      {"isobit.EmbeddingGrad", {i64({2, 2}), f32({2, 2, 3})}, {f32({5, 3})}, {{"table_shape", Ints{5, 3}}}},
      {"Expand", {f32({3, 1})}, {f32({2, 3, 4})}, {{"shape", Ints{2, 3, 4}}}},
      {"isobit.SumTo", {f32({2, 3, 4})}, {f32({3, 1})}, {{"shape", Ints{3, 1}}}},
      {"isobit.GlobalNorm", {x, row, f32({})}, {scalar}},
      {"BatchNormalization", {image, row, row, row, row}, {image}, {{"epsilon", 1e-3}, {"momentum", 0.9}}},
      {"isobit.BatchNormApply", {image, row, row, row, row}, {image}},
      {"isobit.BatchStatistics", {image}, {row, row}},
      {"isobit.RunningUpdate", {row, row}, {row}, {{"momentum", 0.9}, {"count", int64_t{2}}}},
      {"isobit.BatchNormGrad", {image, row, row, row, image}, {image, row, row}, {{"epsilon", 1e-3}}},
      {"LayerNormalization", {x, row, row}, {x, f32({2}), f32({2})}, {{"epsilon", 1e-3}}},
      {"isobit.LayerNormGrad", {x, f32({2}), f32({2}), row, x}, {x, row, row}},
      {"isobit.CrossEntropy", {x, i64({2})}, {scalar, f32({2}), f32({2}), f32({2})}},
      {"isobit.CrossEntropyGrad", {x, i64({2}), f32({2}), f32({2}), scalar}, {x}},
      {"isobit.CrossEntropyGrad", {x, i64({2}), f32({2}), f32({2}), f32({2})}, {x}},
      {"MaxPool", {image}, {half, i64({2, 3, 3, 3})}, kWindow},
      {"AveragePool", {image}, {f32({2, 3, 2, 2})}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
      {"GlobalAveragePool", {image}, {one}},
      {"isobit.MaxPoolGrad", {half, i64({2, 3, 3, 3})}, {image}, kSrc},
      {"isobit.AveragePoolGrad", {half}, {image}, kSrc},
      {"isobit.GlobalAveragePoolGrad", {one}, {image}, {{"src_shape", image.dims}}},
      {"isobit.ClipFactor", {scalar}, {scalar}, {{"max_norm", 1.0}}},
      {"isobit.Sgd", {x, x, rate}, {x}, {{"lr_factor", 0.5}}},
      {"isobit.Sgd", {x, x, rate, x, scalar}, {x, x}, {{"momentum", 0.9}, {"nesterov", int64_t{1}}}},
      {"isobit.Adam", {x, x, x, x, rate, rate, rate, scalar}, {x, x, x}, {{"beta1", 0.9}, {"lr_factor", 2.0}}},
  };
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) all.push_back({op, {f32({2, 1}), row}, {x}});
  for (const char* op : {"isobit.ReluGrad", "isobit.SigmoidGrad", "isobit.TanhGrad"}) all.push_back({op, {x, x}, {x}});
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax"}) {
    all.push_back({op, {f32({2, 3, 4})}, {f32({1, 1, 1})}});
    all.push_back({op, {f32({2, 3, 4})}, {f32({3})}, {{"axes", Ints{0, -1}}, {"keepdims", int64_t{0}}}});
  }
  for (const char* op : {"Softmax", "LogSoftmax"}) all.push_back({op, {x}, {x}, {{"axis", int64_t{1}}}});
  for (const char* op : {"isobit.SoftmaxGrad", "isobit.LogSoftmaxGrad"}) all.push_back({op, {x, x}, {x}});
  all.push_back({"isobit.CausalSoftmax", {f32({2, 3, 3})}, {f32({2, 3, 3})}});
  all.push_back({"isobit.CausalSoftmaxGrad", {f32({2, 3, 3}), f32({2, 3, 3})}, {f32({2, 3, 3})}});
  add_accepted_control(all);
  add_accepted_reductions(all);
  add_accepted_elementwise(all);
  add_accepted_movement(all);
  add_accepted_indexing(all);
  add_accepted_windows(all);
  add_accepted_composite(all);
  add_accepted_gradients(all);
  return all;
}

size_t outputs_of(const Refused& c) {
  const OpDef* def = find_op(c.op);
  return def == nullptr ? 1 : static_cast<size_t>(def->min_outputs);
}

TEST(Infer, SaysTheTypesOfTheOutputs) {
  for (const Accepted& c : accepted()) {
    SCOPED_TRACE(c.op);
    const auto types = infer(c.op, c.inputs, c.attributes, c.outputs.size());
    ASSERT_TRUE(types) << types.error().message;
    EXPECT_TRUE(*types == c.outputs);
    // Of as many outputs as a node must have it says the same; of fewer nothing.
    if (find_op(c.op)->updates_state) continue;  // these have the outputs that their inputs ask for
    if (c.op == "Split") continue;               // what each is follows from how many there are
    const auto least = static_cast<size_t>(find_op(c.op)->min_outputs);
    const auto fewer = infer(c.op, c.inputs, c.attributes, least);
    ASSERT_TRUE(fewer) << fewer.error().message;
    EXPECT_TRUE(fewer->front() == c.outputs.front());
    EXPECT_FALSE(infer(c.op, c.inputs, c.attributes, least - 1));
  }
}

TEST(Infer, RefusesWhatDoesNotFit) {
  for (const Refused& c : refused_nodes()) {
    SCOPED_TRACE(c.op + ": " + c.message);
    const auto types = infer(c.op, c.inputs, c.attributes, outputs_of(c));
    ASSERT_FALSE(types);
    EXPECT_EQ(types.error().code, ErrorCode::kUnreadable);
    EXPECT_NE(types.error().message.find(c.message), std::string::npos) << types.error().message;
    EXPECT_NE(types.error().message.find(c.op), std::string::npos) << types.error().message;
  }
}

// What the refusal of a node says; "" if it is accepted.
std::string refusal(const std::string& op, const std::vector<Type>& inputs, const Attributes& attributes,
                    size_t outputs) {
  const auto types = infer(op, inputs, attributes, outputs);
  return types ? "" : types.error().message;
}

void expect_refused(const std::string& message, const std::string& words) {
  EXPECT_NE(message.find(words), std::string::npos) << "'" << message << "' does not say '" << words << "'";
}

// What holds for every operator alike.
TEST(Infer, RefusesOtherNumbersOfInputsAndOutputs) {
  for (const Accepted& c : accepted()) {
    SCOPED_TRACE(c.op);
    const OpDef& def = *find_op(c.op);
    const Type first = c.inputs.empty() ? f32({}) : c.inputs[0];
    if (def.min_inputs > 0) {
      const std::vector<Type> few(static_cast<size_t>(def.min_inputs - 1), first);
      const std::string found = "found " + std::to_string(few.size()) + " inputs, expected ";
      expect_refused(refusal(c.op, few, c.attributes, c.outputs.size()), found);
    }
    if (def.max_inputs < 100) {
      const std::vector<Type> many(static_cast<size_t>(def.max_inputs + 1), first);
      expect_refused(refusal(c.op, many, c.attributes, c.outputs.size()), " inputs, expected ");
    }
    const auto most = static_cast<size_t>(def.max_outputs);
    expect_refused(refusal(c.op, c.inputs, c.attributes, most + 1), " outputs, expected at most ");
    expect_refused(refusal_with_first_output_absent(c), "output 0 is missing");
    if (def.min_inputs == 0) continue;
    Graph g;
    const std::vector<std::string> names(c.outputs.size(), "y");
    for (ValueId no_value : {kNoValue, ValueId{7}, ValueId{-2}}) {
      if (no_value == kNoValue && def.optional_inputs.contains(0)) continue;
      const std::vector<ValueId> ids(static_cast<size_t>(def.min_inputs), no_value);
      const auto added = g.add_node(c.op, ids, c.attributes, names);
      ASSERT_FALSE(added) << no_value;
      expect_refused(added.error().message, "input 0 is missing");
    }
  }
}

TEST(Infer, RefusesUnknownAttributesAndThoseOfAnotherType) {
  for (const Accepted& c : accepted()) {
    SCOPED_TRACE(c.op);
    Attributes more = c.attributes;
    more.set("colour", int64_t{1});
    expect_refused(refusal(c.op, c.inputs, more, c.outputs.size()), "'colour' is not known");
    for (const auto& [name, attribute] : c.attributes.items()) {
      Attributes other = c.attributes;
      const bool reals = std::holds_alternative<std::vector<double>>(attribute);
      other.set(name, reals ? Attribute(int64_t{1}) : Attribute(std::vector<double>{0.5}));
      const bool is_reals = std::holds_alternative<std::vector<double>>(attribute);
      other.set(name, is_reals ? Attribute(int64_t{1}) : Attribute(std::vector<double>{0.5}));
      expect_refused(refusal(c.op, c.inputs, other, c.outputs.size()), "'" + name + "' has the wrong type");
    }
  }
}

TEST(Infer, AnInputIsAbsentOnlyWhereItIsOptional) {
  int optional = 0;
  for (const Accepted& c : accepted()) {
    const OpDef& def = *find_op(c.op);
    for (size_t absent = 0; absent < c.inputs.size(); ++absent) {
      SCOPED_TRACE(c.op + " without input " + std::to_string(absent));
      Graph g;
      std::vector<ValueId> ids;
      for (const Type& t : c.inputs) ids.push_back(g.add_input("x", t.dtype, t.dims));
      ids[absent] = kNoValue;
      const auto added = g.add_node(c.op, ids, c.attributes, std::vector<std::string>(c.outputs.size(), "y"));
      if (def.optional_inputs.contains(absent)) {
        ++optional;
        // A loop without a number of trips, or without a condition, says so in its place.
        EXPECT_TRUE(absent >= static_cast<size_t>(def.min_inputs) || def.runs_graphs);
        continue;
      }
      ASSERT_FALSE(added);
      EXPECT_NE(added.error().message.find("input " + std::to_string(absent) + " is missing"), std::string::npos)
          << added.error().message;
    }
  }
  EXPECT_GE(optional, 4) << "of Gemm, Conv, Sgd and Adam";
}

// A name of nothing is an output that is not there, and does not count as one.
TEST(Infer, TheBufferOfMomentumIsNotUpdatedInAnAbsentOutput) {
  Graph g;
  std::vector<ValueId> ids;
  for (const Type& t : {f32({3}), f32({3}), f64({}), f32({3})}) ids.push_back(g.add_input("x", t.dtype, t.dims));
  const Attributes momentum = {{"momentum", 0.9}};
  EXPECT_TRUE(g.add_node("isobit.Sgd", ids, momentum, {"p", "m"}));
  const auto absent = g.add_node("isobit.Sgd", ids, momentum, {"p", ""});
  ASSERT_FALSE(absent);
  EXPECT_NE(absent.error().message.find("is updated in output 1"), std::string::npos) << absent.error().message;
  ids.pop_back();
  EXPECT_TRUE(g.add_node("isobit.Sgd", ids, {}, {"p", ""}));
}

// A dimension that is not known yet makes dimensions of outputs unknown, or an error, but none wrong.
TEST(Infer, KeepsWhatItKnowsWhereADimensionIsNotKnown) {
  int unknown_outputs = 0;
  for (const Accepted& c : accepted()) {
    SCOPED_TRACE(c.op);
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      for (size_t d = 0; d < c.inputs[i].dims.size(); ++d) {
        std::vector<Type> inputs = c.inputs;
        inputs[i].dims[d] = -1;
        const auto types = infer(c.op, inputs, c.attributes, c.outputs.size());
        if (!types) continue;
        for (size_t o = 0; o < c.outputs.size(); ++o) {
          EXPECT_EQ((*types)[o].dtype, c.outputs[o].dtype);
          if ((*types)[o].dims == kUnknownRank) continue;
          ASSERT_EQ((*types)[o].dims.size(), c.outputs[o].dims.size());
          for (size_t e = 0; e < c.outputs[o].dims.size(); ++e) {
            const int64_t found = (*types)[o].dims[e];
            EXPECT_TRUE(found == -1 || found == c.outputs[o].dims[e]) << i << " " << d << ": " << found;
            unknown_outputs += found == -1 ? 1 : 0;
          }
        }
      }
    }
  }
  EXPECT_GT(unknown_outputs, 100);
}

std::string text_of_file(const std::string& path) {
  std::ifstream in(std::string(std::getenv("ISOBIT_SOURCE_DIR")) + "/" + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Infer, ThePageOfTheTraceSchemaNamesEveryStatistic) {
  const std::string page = text_of_file("docs/formats/trace-schema.md");
  int found = 0;
  for (const Accepted& c : accepted()) {
    Graph g;
    std::vector<ValueId> ids;
    for (const Type& t : c.inputs) ids.push_back(g.add_input("x", t.dtype, t.dims));
    g.emit_all(c.op, ids, c.attributes, std::vector<std::string>(c.outputs.size(), "y"));
    const std::vector<Statistic> statistics = statistics_of(g, g.nodes()[0]);
    if (statistics.empty()) continue;
    ++found;
    std::string names;
    for (const Statistic& s : statistics) names += (names.empty() ? "" : ", ") + s.name;
    const std::regex row("\\n\\|[^|\n]*\\b" + c.op + "\\b[^|\n]*\\| " + names + " \\[");
    EXPECT_TRUE(std::regex_search(page, row)) << c.op << ": " << names;
  }
  EXPECT_GE(found, 10);
}

TEST(Infer, EveryOperatorIsAcceptedAndRefused) {
  std::set<std::string> taken, not_taken;
  for (const Accepted& c : accepted()) taken.insert(c.op);
  for (const Refused& c : refused_nodes()) not_taken.insert(c.op);
  for (const std::string& op : op_names()) {
    EXPECT_TRUE(taken.contains(op)) << op;
    // Identity takes whatever it is given.
    EXPECT_TRUE(not_taken.contains(op) || op == "Identity") << op;
  }
}

// Every message that the sources of shape inference have is the answer to one of the cases above.
TEST(Infer, EveryErrorIsMet) {
  std::vector<std::string> met;
  for (const Refused& c : refused_nodes())
    met.push_back(infer(c.op, c.inputs, c.attributes, outputs_of(c)).error().message);
  const std::filesystem::path folder = std::filesystem::path(std::getenv("ISOBIT_SOURCE_DIR")) / "isobit/graph/ops";
  const std::regex error("unreadable\\(\\s*(text_of\\(\\s*)?\"([^\"]*)\"");
  int errors = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (std::sregex_iterator m(text.begin(), text.end(), error), end; m != end; ++m, ++errors) {
      const std::string words = (*m)[2];
      EXPECT_TRUE(std::any_of(met.begin(), met.end(),
                              [&](const std::string& message) { return message.find(words) != std::string::npos; }))
          << file.path().filename() << ": no case is refused with '" << words << "'";
    }
  }
  EXPECT_GT(errors, 40);
}

}  // namespace
}  // namespace isobit::graph
