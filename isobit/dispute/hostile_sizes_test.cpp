// Whoever makes up a receipt makes up the graph that it is of: operands of any size, windows of any size. Nothing that
// shows an element of such a node may take a referee more time or memory than any other does.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isobit/base/text.h"
#include "isobit/dispute/element.h"
#include "isobit/dispute/inference.h"
#include "isobit/verify/schema.h"

namespace isobit::dispute {
namespace {

using graph::Attributes;
using Dims = std::vector<int64_t>;

constexpr int64_t kHuge = int64_t{1} << 40;
constexpr int64_t kPlane = 46340;  // whose square is the largest plane that windows are computed on
constexpr DType F = DType::kFloat32, I = DType::kInt64, B = DType::kUint8;

struct Case {
  std::string op;
  std::vector<std::pair<DType, Dims>> inputs;
  Attributes attributes = {};
  int64_t outputs = 1, output = 0, element = 0;
};

// What opening an element comes to: of how many chunks it is, or why not.
std::string opened(const Case& c, const char* arithmetic, bool statistic) {
  ThreadPool pool(1);
  graph::Graph graph;
  std::vector<graph::ValueId> ids;
  for (const auto& [dtype, dims] : c.inputs) ids.push_back(graph.add_input("x", dtype, dims));
  const auto made =
      graph.add_node(c.op, ids, c.attributes, std::vector<std::string>(static_cast<size_t>(c.outputs), "y"));
  if (!made) return "no node: " + made.error().message;
  for (const graph::ValueId id : *made) graph.add_output(id);
  const train::StepGraph step = train::inference_step(graph);
  if (!step.disputable) return "no schema";
  const auto schema = train::inference_schema(step);
  const verify::GraphTree tree(graph, pool);
  verify::InferenceReceipt receipt;
  receipt.of.graph = tree.root();
  receipt.of.schema = verify::schema_root(schema);
  Subject subject{};
  subject.receipt = receipt;
  subject.arithmetic = *platform::named_arithmetic(arithmetic).value();
  auto node = resolve(show_node(graph, tree, 0, {}), 0, GraphParts::of(parts_of(subject)), schema);
  if (!node) return "not resolved: " + node.error().message;
  const auto kind = statistic ? train::TraceEntry::Kind::kStatistic : train::TraceEntry::Kind::kOutput;
  const auto entry = std::ranges::find_if(
      schema, [&](const auto& e) { return e.kind == kind && e.place == (statistic ? 0 : c.output); });
  if (entry == schema.end()) return "no entry";
  const std::vector<commit::Digest> roots(schema.size());
  const auto element = Element::open(subject, std::move(*node), schema, roots,
                                     static_cast<uint64_t>(entry - schema.begin()), c.element, {});
  if (!element) return "not opened: " + element.error().message;
  for (const int64_t chunk : {int64_t{0}, (*element)->chunks() - int64_t{1}})
    EXPECT_FALSE((*element)->values(chunk, std::vector<ShownPart>()));
  return text_of((*element)->chunks(), " chunks");
}

// In a process of its own, with half a gigabyte beside what it has and two seconds.
void expect_bounded(const Case& c, const char* arithmetic, bool statistic) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit seconds{2, 2};
    [[maybe_unused]] const rlimit memory{uint64_t{1} << 30, uint64_t{1} << 30};
#ifndef __SANITIZE_ADDRESS__  // which takes the address space for itself
    setrlimit(RLIMIT_AS, &memory);
#endif
    setrlimit(RLIMIT_CPU, &seconds);
    const std::string said = opened(c, arithmetic, statistic);
    _exit(said.starts_with("no node") ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << c.op << (statistic ? ", a statistic" : "") << ": ended by a signal";
  EXPECT_EQ(WEXITSTATUS(status), 0) << c.op << (statistic ? ", a statistic" : "");
}

std::vector<Case> cases() {
  const Attributes window = {{"kernel_shape", Dims{kPlane, kPlane}}};
  const Dims image = {1, 1, kPlane, kPlane}, line = {1, kHuge};
  return {
      {"MatMul", {{F, {1, kHuge}}, {F, {kHuge, 1}}}},
      {"Gemm", {{F, {1, kHuge}}, {F, {kHuge, 1}}}},
      {"ReduceSum", {{F, {kHuge}}}},
      {"ReduceMax", {{F, {kHuge}}}},
      {"ReduceProd", {{F, {kHuge}}}},
      {"ReduceLogSumExp", {{F, {kHuge}}}},
      {"ArgMax", {{F, {kHuge}}}},
      {"Softmax", {{F, line}}},
      {"LogSoftmax", {{F, line}}},
      {"CumSum", {{F, {kHuge}}}, {{"axis", int64_t{0}}}, 1, 0, kHuge - 1},
      {"TopK", {{F, {kHuge}}}, {{"k", int64_t{1}}}, 2},
      {"GlobalAveragePool", {{F, image}}},
      {"GlobalMaxPool", {{F, image}}},
      {"MaxPool", {{F, image}}, window},
      {"MaxPool", {{F, image}}, window, 2, 1},
      {"AveragePool", {{F, image}}, window},
      {"LpPool", {{F, image}}, window},
      {"Conv", {{F, image}, {F, image}}, window},
      {"ConvTranspose", {{F, {1, kHuge, 2, 2}}, {F, {kHuge, 1, 2, 2}}}},
      {"LayerNormalization", {{F, line}, {F, {kHuge}}, {F, {kHuge}}}, {}, 3},
      {"RMSNormalization", {{F, line}, {F, {kHuge}}}},
      {"LRN", {{F, {1, kHuge, 1, 1}}}, {{"size", (int64_t{1} << 30) + 1}}, 1, 0, kHuge / 2},
      {"Gather", {{F, {kHuge}}, {I, {kHuge}}}},
      {"GatherND", {{F, {kHuge}}, {I, {kHuge, 1}}}},
      {"ScatterElements", {{F, {kHuge}}, {I, {kHuge}}, {F, {kHuge}}}},
      {"ScatterND", {{F, {kHuge}}, {I, {kHuge, 1}}, {F, {kHuge}}}},
      {"Concat", {{F, {kHuge}}, {F, {kHuge}}}, {{"axis", int64_t{0}}}},
      {"isobit.GlobalNorm", {{F, {kHuge}}}},
      {"isobit.SumTo", {{F, {kHuge, 2}}}, {{"shape", Dims{2}}}},
      {"isobit.EmbeddingGrad", {{I, {kHuge}}, {F, {kHuge, 2}}}, {{"table_shape", Dims{4, 2}}}},
      {"MatMulInteger", {{B, {1, kHuge}}, {B, {kHuge, 1}}}},
      {"GridSample", {{F, image}, {F, {1, 1, 1, 2}}}},
  };
}

TEST(HostileSizes, TakeNoMoreThanOthersDo) {
  for (const Case& c : cases()) {
    for (const char* arithmetic : {"ordered-1", "correct-1"}) {
      for (const bool statistic : {false, true}) expect_bounded(c, arithmetic, statistic);
    }
  }
}

// A sum that has its terms by number is one of very many chunks, each of which is shown alone.
TEST(HostileSizes, SumsOfManyTermsAreOfManyChunks) {
  const std::string chunks = text_of(kHuge / judge::Reduction::kMostTerms, " chunks");
  EXPECT_EQ(opened({"ReduceSum", {{F, {kHuge}}}}, "ordered-1", false), chunks);
  EXPECT_EQ(opened({"isobit.GlobalNorm", {{F, {kHuge}}}}, "correct-1", true), chunks);
  const int64_t terms = int64_t{1} << 32;
  EXPECT_EQ(opened({"MatMul", {{F, {1, terms}}, {F, {terms, 1}}}}, "ordered-1", false),
            text_of(terms / judge::Reduction::kMostTerms, " chunks"));
  EXPECT_NE(
      opened({"MatMul", {{F, {1, 2 * terms}}, {F, {2 * terms, 1}}}}, "ordered-1", false).find("more than are listed"),
      std::string::npos);
  EXPECT_NE(opened({"Softmax", {{F, {1, kHuge}}}}, "ordered-1", true).find("more than are listed"), std::string::npos);
}

}  // namespace
}  // namespace isobit::dispute
