// The bits of every operator under the arithmetics that are frozen, on every instruction set, against
// tests/golden/operators.txt.
//
// A line: operator, question, type, arithmetic, answer, answer to odd numbers. The question is the node as a graph
// root and its operands as tensor roots (the first 64 bits of the SHA-256 of both), the answer the same of its
// statistics and outputs. So a case that is added adds lines, one that is changed has other questions, and an answer
// that differs is another arithmetic: no line of the file changes but with a new name for it.
// With ISOBIT_TEST_GOLDEN_OUT=FILE what is found is written there, in the form of the table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "isobit/base/text.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/judge/judged_for_test.h"
#include "isobit/platform/platform.h"
#include "isobit/runtime/traits_for_test.h"
#include "isobit/verify/graph_tree.h"
#include "tests/golden/long_cases.h"

namespace isobit::golden {
namespace {

using runtime::OneOperator;
using runtime::OperatorCase;
using Table = std::map<std::string, std::string>;  // what stands before the answers of a line -> the answers

constexpr size_t kDigits = 16;  // of a digest
constexpr const char* kHead =
    "# operator, question, type, arithmetic, answer, answer to odd numbers: tests/golden/operators_test.cpp\n";

// Some tensors, of which some may be absent, as a few digits.
class Digits {
 public:
  explicit Digits(ThreadPool& pool) : pool_(pool) {}
  Digits& add(const commit::Digest& digest) {
    sha_.update(digest);
    return *this;
  }
  Digits& add(const std::vector<Tensor>& tensors) {
    for (const Tensor& t : tensors) {
      const commit::TensorLayout layout = {.split = t.defined() && t.shape().rank() > 0 ? 1 : 0};
      add(t.defined() ? commit::tensor_root("", t, layout, pool_).digest() : commit::Digest{});
    }
    return *this;
  }
  std::string text() const { return commit::hex_of(sha_.digest()).substr(0, kDigits); }

 private:
  commit::Sha256 sha_;
  ThreadPool& pool_;
};

std::vector<OperatorCase> all_cases() {
  std::vector<OperatorCase> cases = runtime::operator_cases();
  for (OperatorCase& c : long_cases()) cases.push_back(std::move(c));
  return cases;
}

std::string answer(const OneOperator& one, const kernels::KernelContext& ctx) {
  const judge::RanNode ran = judge::run_watched(one.graph, one.feeds, ctx);
  return Digits(*ctx.pool).add(ran.statistics).add(ran.outputs).text();
}

std::string path_of_table() { return std::string(std::getenv("ISOBIT_SOURCE_DIR")) + "/tests/golden/operators.txt"; }

Table read_table() {
  Table table;
  std::ifstream file(path_of_table());
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t answers = line.size() - (2 * kDigits + 1);
    table[line.substr(0, answers - 1)] = line.substr(answers);
  }
  return table;
}

// Every case under this arithmetic, as this platform has it.
Table found_on(platform::Engine& engine, const platform::Arithmetic& arithmetic) {
  Table found;
  const auto context = engine.context_for(arithmetic);
  EXPECT_TRUE(context) << context.error().message;
  if (!context) return found;
  for (const OperatorCase& c : all_cases()) {
    const graph::OpDef& def = *graph::find_op(c.op);
    if (arithmetic.corrects && !def.is_inner_product()) continue;  // that of ordered-1
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      if (dtype == DType::kFloat64 && (arithmetic.corrects || !def.any_real_type)) continue;
      OneOperator one(c, dtype);
      const commit::Digest node = verify::graph_root(one.graph, engine.pool());
      const std::string question = Digits(engine.pool()).add(node).add(one.feeds).text();
      const std::string plain = answer(one, context->kernels());
      runtime::make_odd(one);
      const std::string odd = answer(one, context->kernels());
      found[text_of(c.op, " ", question, " ", name_of(dtype), " ", arithmetic.name)] = text_of(plain, " ", odd);
    }
  }
  return found;
}

void expect_in(const Table& table, const Table& found) {
  for (const auto& [question, answers] : found) {
    const auto expected = table.find(question);
    if (expected == table.end()) {
      ADD_FAILURE() << "not in the table: " << question << " " << answers;
    } else {
      EXPECT_EQ(answers, expected->second) << question << ": these bits are not those of the arithmetic";
    }
  }
}

class GoldenOperators : public ::testing::TestWithParam<kernels::Isa> {};
INSTANTIATE_TEST_SUITE_P(Isas, GoldenOperators, ::testing::ValuesIn(kernels::available_isas()),
                         [](const auto& isa) { return std::string(kernels::name_of(isa.param)); });

TEST_P(GoldenOperators, HaveTheBitsOfTheTable) {
  const Table table = read_table();
  for (const int threads : {1, 2}) {
    platform::Engine engine({.isa = GetParam(), .threads = threads});
    for (const char* name : {"ordered-1", "correct-1"}) {
      SCOPED_TRACE(engine.platform().text());
      expect_in(table, found_on(engine, platform::arithmetic_of(name)));
    }
  }
}

// No line without its case, and no operator without a line.
TEST(GoldenTable, IsOfTheCases) {
  platform::Engine engine({.isa = kernels::best_isa(), .threads = 1});
  Table found = found_on(engine, platform::arithmetic_of("ordered-1"));
  found.merge(found_on(engine, platform::arithmetic_of("correct-1")));
  if (const char* out = std::getenv("ISOBIT_TEST_GOLDEN_OUT")) {
    std::ofstream file(out);
    file << kHead;
    for (const auto& [question, answers] : found) file << question << " " << answers << "\n";
  }
  std::set<std::string> operators;
  for (const auto& [question, answers] : read_table()) {
    EXPECT_TRUE(found.contains(question)) << question << ": no case asks this any more";
    operators.insert(question.substr(0, question.find(' ')));
  }
  const std::vector<std::string> all = graph::op_names();
  EXPECT_EQ(operators, std::set<std::string>(all.begin(), all.end()));
}

// What adds any number of terms is tried with many.
TEST(GoldenTable, HasLongSums) {
  std::set<std::string> with_many;
  for (const OperatorCase& c : long_cases()) with_many.insert(c.op);
  const std::set<std::string> few = {"AffineGrid", "isobit.PadGrad"};  // terms: the axes; the elements of one place
  for (const std::string& name : graph::op_names()) {
    const graph::ElementRule rule = graph::find_op(name)->output(0).rule;
    const bool adds = rule == graph::ElementRule::kInnerProduct || rule == graph::ElementRule::kSum ||
                      rule == graph::ElementRule::kStatistics || rule == graph::ElementRule::kProduct;
    if (adds && name != "DynamicQuantizeLinear") EXPECT_EQ(with_many.contains(name), !few.contains(name)) << name;
  }
}

// What is a formula of one or two real numbers is tried over all magnitudes: small examples meet few of the branches
// that functions have.
TEST(GoldenTable, HasWideArguments) {
  std::set<std::string> of_reals, wide;
  const auto is_wide = [](const runtime::CaseOperand& o) { return o.kind == runtime::CaseOperand::Kind::kWide; };
  for (const OperatorCase& c : runtime::operator_cases()) {
    const bool pointwise = graph::find_op(c.op)->output(0).rule == graph::ElementRule::kPointwise;
    const bool few = c.operands.size() <= 2 && std::ranges::all_of(c.operands, &runtime::CaseOperand::is_real);
    if (pointwise && few) of_reals.insert(c.op);
  }
  for (const OperatorCase& c : long_cases()) {
    if (std::ranges::any_of(c.operands, is_wide)) wide.insert(c.op);
  }
  // Extents alone; some products, quotients and sums, which the small examples have.
  const std::set<std::string> others = {"ConstantOfShape",
                                        "EyeLike",
                                        "Shape",
                                        "Size",
                                        "QuantizeLinear",
                                        "isobit.ClipFactor",
                                        "isobit.GlobalAveragePoolGrad",
                                        "isobit.RunningUpdate"};
  for (const std::string& op : of_reals) EXPECT_NE(wide.contains(op), others.contains(op)) << op;
}

}  // namespace
}  // namespace isobit::golden
