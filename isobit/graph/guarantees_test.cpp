// The table of operators in docs/guarantees.md is what the operator set says of itself.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "isobit/graph/autograd/autograd.h"
#include "isobit/graph/op.h"

namespace isobit::graph {
namespace {

const char* words_for(ElementRule rule) {
  switch (rule) {
    case ElementRule::kInnerProduct:
      return "an inner product";
    case ElementRule::kSum:
      return "a sum or a mean";
    case ElementRule::kStatistics:
      return "a formula of elements and statistics";
    case ElementRule::kPointwise:
      return "a formula of one element of each input";
    case ElementRule::kMaximum:
      return "the largest of some elements";
    case ElementRule::kMinimum:
      return "the least of some elements";
    case ElementRule::kRanked:
      return "the element of a rank";
    case ElementRule::kProduct:
      return "a product of elements";
    case ElementRule::kMoved:
      return "an element of an input, or zero";
    case ElementRule::kPlace:
      return "the place of the largest or least element";
    case ElementRule::kFormula:
      return "a formula of some elements";
    case ElementRule::kSampled:
      return "some elements of an input, scaled";
    case ElementRule::kWhole:
      return "judged with all others";
    case ElementRule::kNone:
      break;
  }
  return "not said";
}

const char* guarantee(const OpDef& def) {
  if (def.is_inner_product()) return "the arithmetic's";
  if (!def.platform_independent) return "none";
  return def.output(0).rule == ElementRule::kMoved ? "exact" : "ordered-1";
}

struct Row {
  std::vector<std::string> with, without;  // a gradient
  std::string line(const OpDef& def) const {
    return std::string("| ") + words_for(def.output(0).rule) + " | " + joined(with) + " | " + joined(without) + " | " +
           guarantee(def) + " | " + (def.any_real_type || def.retyped ? "yes" : "no") + " |\n";
  }
  static std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }
};

std::string table() {
  std::string text =
      "| an element of output 0 is | operators with a gradient | without | promise | in float64 arithmetics |\n"
      "|---|---|---|---|---|\n";
  std::vector<std::tuple<const OpDef*, Row>> rows;
  for (const std::string& name : op_names()) {
    const OpDef& def = *find_op(name);
    auto row = rows.begin();
    while (row != rows.end() && Row().line(*std::get<0>(*row)) != Row().line(def)) ++row;
    if (row == rows.end()) row = rows.insert(rows.end(), {&def, Row()});
    auto& names = find_gradient(name) != nullptr ? std::get<1>(*row).with : std::get<1>(*row).without;
    names.push_back(short_name(name));
  }
  for (const auto& [def, row] : rows) text += row.line(*def);
  return text;
}

TEST(Guarantees, ThePageHasTheTableOfTheOperatorSet) {
  const std::string path = std::string(std::getenv("ISOBIT_SOURCE_DIR")) + "/docs/guarantees.md";
  std::ifstream in(path);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(page.find("\n\n" + table() + "\n"), std::string::npos) << path << ": the table of operators is to be\n\n"
                                                                   << table();
}

}  // namespace
}  // namespace isobit::graph
