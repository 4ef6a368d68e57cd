// Einsum against a sum over all values of all letters.
#include <algorithm>
#include <map>

#include "isobit/graph/expansions/einsum.h"
#include "isobit/graph/expansions/einsum_equation.h"
#include "isobit/runtime/expansions_for_test.h"

namespace isobit::runtime {
namespace {

using graph::expansions::einsum;
using graph::expansions::EinsumEquation;
using graph::expansions::parse_einsum;
using Labels = std::vector<int>;

// What a term of letters and "..." says of an operand: letters as they are, the axes of "..." as 256 and more from the
// right.
Labels labels(const std::string& letters) {
  Labels all;
  for (char c : letters) all.push_back(c >= '0' && c <= '9' ? 256 + (c - '0') : c);
  return all;
}

TEST(EinsumEquation, IsReadWithAndWithoutAnOutput) {
  const EinsumEquation product = parse_einsum("bij, bjk -> bik", {3, 3}).value();
  EXPECT_EQ(product.operands, (std::vector<Labels>{labels("bij"), labels("bjk")}));
  EXPECT_EQ(product.output, labels("bik"));
  EXPECT_EQ(parse_einsum("bj,aB", {2, 2})->output, labels("Babj"));
  EXPECT_EQ(parse_einsum("ij,jk", {2, 2})->output, labels("ik"));
  EXPECT_EQ(parse_einsum("ii", {2})->output, labels(""));
  EXPECT_EQ(parse_einsum("->", {0})->operands, std::vector<Labels>{Labels{}});
  EXPECT_EQ(parse_einsum(",i", {0, 1})->operands, (std::vector<Labels>{{}, labels("i")}));
  EXPECT_EQ(parse_einsum("", {0})->output, labels(""));
}

TEST(EinsumEquation, AxesOfAnEllipsisAreAlignedAtTheLastOne) {
  const EinsumEquation read = parse_einsum("...ii, i...j -> ...j", {4, 3}).value();
  EXPECT_EQ(read.operands, (std::vector<Labels>{labels("10ii"), labels("i0j")}));
  EXPECT_EQ(read.output, labels("10j"));
  EXPECT_EQ(parse_einsum("b...a", {4})->output, labels("10ab"));
  EXPECT_EQ(parse_einsum("i...->...i", {1})->output, labels("i"));
}

TEST(EinsumEquation, RefusesWhatIsNone) {
  const auto refused = [](const std::string& equation, const std::vector<int>& ranks, const std::string& words) {
    const auto read = parse_einsum(equation, ranks);
    ASSERT_FALSE(read) << equation;
    EXPECT_NE(read.error().message.find(words), std::string::npos) << read.error().message;
  };
  refused("i1", {2}, "has more than letters");
  refused("i..j", {2}, "has more than letters");
  refused("...i...", {2}, "has more than letters");
  refused("i->i->i", {1}, "has more than letters");
  refused("ij,jk", {2}, "2 terms for 1 operands");
  refused("ij", {2, 2}, "1 terms for 2 operands");
  refused("ij", {3}, "operand 0 has rank 3, its term 2 letters");
  refused("i,ijk...", {1, 2}, "operand 1 has rank 2, its term 3 letters");
  refused("ij->ijk", {2}, "a letter 'k' that no operand has");
  refused("ij->ii", {2}, "the letter 'i' twice");
  refused("...i->i", {2}, "the output has no '...'");
}

// The sum over all values of all letters that the output does not have; an extent of 1 stands for every place.
Array oracle(const EinsumEquation& equation, const std::vector<Array>& operands) {
  std::map<int, int64_t> extents;
  for (size_t o = 0; o < operands.size(); ++o) {
    for (size_t i = 0; i < equation.operands[o].size(); ++i) {
      int64_t& extent = extents.emplace(equation.operands[o][i], 1).first->second;
      if (operands[o].dims[i] != 1) extent = operands[o].dims[i];
    }
  }
  Ints dims;
  for (int label : equation.output) dims.push_back(extents.at(label));
  Array out = Array::zeros(dims);
  std::map<int, int64_t> at;
  int64_t all = 1;
  for (const auto& [label, extent] : extents) all *= extent;
  const auto place = [&](const Labels& labels, const Ints& shape) {
    size_t index = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      index = index * static_cast<size_t>(shape[i]) + static_cast<size_t>(shape[i] == 1 ? 0 : at[labels[i]]);
    }
    return index;
  };
  for (int64_t n = 0; n < all; ++n) {
    int64_t rest = n;
    for (const auto& [label, extent] : extents) {
      at[label] = rest % extent;
      rest /= extent;
    }
    double product = 1;
    for (size_t o = 0; o < operands.size(); ++o) {
      product *= operands[o].values[place(equation.operands[o], operands[o].dims)];
    }
    out.values[place(equation.output, dims)] += product;
  }
  return out;
}

void check(const std::string& equation, const std::vector<Ints>& dims, const std::vector<std::set<int>>& unknown = {},
           DType dtype = DType::kFloat64) {
  SCOPED_TRACE(equation);
  Expanded e(dtype);
  std::vector<Array> operands;
  Values ids;
  std::vector<int> ranks;
  for (size_t o = 0; o < dims.size(); ++o) {
    operands.push_back(dtype == DType::kInt64 ? e.random_integers(dims[o], 7) : e.random(dims[o]));
    ids.push_back(e.fed(operands.back(), unknown.empty() ? std::set<int>{} : unknown[o]));
    ranks.push_back(static_cast<int>(dims[o].size()));
  }
  const auto found = e.run("Einsum", einsum(e.g, {"n", equation, ids}));
  ASSERT_EQ(found.size(), 1U);
  expect_near(oracle(parse_einsum(equation, ranks).value(), operands), found[0],
              dtype == DType::kFloat64 ? 1e-12 : 1e-5);
}

TEST(Einsum, MovesSumsAndTakesDiagonals) {
  check("ij->ji", {{3, 4}});
  check("ij->ij", {{3, 4}});
  check("ij->i", {{3, 4}});
  check("ij->", {{3, 4}});
  check("ba", {{3, 4}});
  check("->", {{}});
  check("ii->i", {{4, 4}});
  check("ii", {{4, 4}});
  check("iji->ij", {{3, 4, 3}});
  check("iii->i", {{3, 3, 3}});
  check("ijij->ji", {{3, 2, 3, 2}});
  check("...ii->...i", {{3, 5, 5}});
  check("i...i", {{3, 2, 4, 3}});
  check("ii->i", {{1, 1}});
}

TEST(Einsum, MultipliesMatrices) {
  check("ij,jk->ik", {{3, 4}, {4, 5}});
  check("ij,jk->ki", {{3, 4}, {4, 5}});
  check("ji,jk->ik", {{4, 3}, {4, 5}});
  check("ij,kj->ik", {{3, 4}, {5, 4}});
  check("ji,kj->ik", {{4, 3}, {5, 4}});
  check("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}});
  check("bhqd,bhkd->bhqk", {{2, 3, 4, 5}, {2, 3, 6, 5}});
  check("bqhd,bkhd->bhqk", {{2, 4, 3, 5}, {2, 6, 3, 5}});
  check("bhqk,bkhd->bqhd", {{2, 3, 4, 6}, {2, 6, 3, 5}});
  check("abc,cbd->ad", {{2, 3, 4}, {4, 3, 5}});
  check("abcd,cdef->abef", {{2, 3, 2, 2}, {2, 2, 3, 4}});
  check("i,i", {{5}, {5}});
  check("i,i->i", {{5}, {5}});
  check("ij,j->i", {{3, 4}, {4}});
  check("j,ij->i", {{4}, {3, 4}});
}

TEST(Einsum, MultipliesWithoutSums) {
  check("i,j->ij", {{3}, {4}});
  check("i,j->ji", {{3}, {4}});
  check("ij,i->ij", {{3, 4}, {3}});
  check(",ij->ji", {{}, {3, 4}});
  check(",", {{}, {}});
  check("ij,jk->ijk", {{3, 4}, {4, 2}});
}

TEST(Einsum, SumsWhatOneOperandHasAlone) {
  check("ij,k->i", {{3, 4}, {5}});
  check("ijx,jky->ik", {{3, 4, 2}, {4, 5, 3}});
}

TEST(Einsum, TakesSeveralOperandsFromTheLeft) {
  check("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}});
  check("ij,jk,kl,li", {{2, 3}, {3, 4}, {4, 5}, {5, 2}});
  check("bi,bij,bj->b", {{3, 2}, {3, 2, 4}, {3, 4}});
  check("ab,ab,ab->a", {{3, 2}, {3, 2}, {3, 2}});
}

TEST(Einsum, BroadcastsExtentsOfOne) {
  check("...ij,...jk->...ik", {{2, 3, 4, 5}, {5, 6}});
  check("...ij,...jk->...ik", {{2, 1, 4, 5}, {3, 5, 6}});
  check("...i,...i->...", {{4, 1, 3}, {5, 3}});
  check("ij,jk->ik", {{3, 1}, {4, 5}});
  check("ij,ij->ij", {{1, 4}, {3, 1}});
  check("ij,ij->", {{1, 1}, {1, 1}});
  check("...,...", {{2, 3}, {3}});
}

TEST(Einsum, ComputesIntegersAndFloat32) {
  check("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}, {}, DType::kInt64);
  check("ii,i->", {{4, 4}, {4}}, {}, DType::kInt64);
  check("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}, {}, DType::kFloat32);
}

TEST(Einsum, ExtentsNeedNotBeKnown) {
  check("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}, {{0, 1}, {0}});
  check("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}, {{2}, {1}});
  check("bhqd,bhkd->bhqk", {{2, 3, 4, 5}, {2, 3, 6, 5}}, {{0, 2}, {0, 2}});
  check("abc,cbd->ad", {{2, 3, 4}, {4, 3, 5}}, {{0}, {2}});
  check("...ii->...i", {{3, 5, 5}}, {{0}});
  check("i,j->ij", {{3}, {4}}, {{0}, {0}});
}

TEST(Einsum, TheOutputOfNoOperationIsAValueOfItsOwn) {
  Expanded e;
  const ValueId x = e.fed(e.random({2, 3}));
  EXPECT_NE(einsum(e.g, {"n", "ij->ij", {x}})->at(0), x);
}

TEST(Einsum, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& equation, const std::vector<Ints>& dims, const std::string& words,
                          const std::vector<std::set<int>>& unknown = {}) {
    Expanded e;
    Values ids;
    for (size_t o = 0; o < dims.size(); ++o) {
      ids.push_back(e.fed(e.random(dims[o]), unknown.empty() ? std::set<int>{} : unknown[o]));
    }
    Expanded::refused(einsum(e.g, {"n", equation, ids}), "Einsum", words);
  };
  refused("", {}, "there are no operands");
  refused("ij", {{2, 3, 4}}, "operand 0 has rank 3");
  refused("ij,jk", {{2, 3}, {4, 5}}, "extents of 3 and 4 under one letter");
  refused("ii", {{2, 1}}, "needs one extent, known before the run");
  refused("ii", {{2, 2}}, "needs one extent, known before the run", {{0}});
  refused("abcd,cdef->abef", {{2, 3, 2, 2}, {2, 2, 3, 4}}, "not known before the run", {{0, 1, 2, 3}, {}});
  Expanded e;
  const ValueId x = e.fed(e.random({2})), y = e.fed(DType::kFloat32, e.random({2}));
  Expanded::refused(einsum(e.g, {"n", "i,i", {x, y}}), "Einsum", "differ in type");
  const ValueId truth = e.fed(DType::kBool, e.random({2}));
  Expanded::refused(einsum(e.g, {"n", "i", {truth}}), "Einsum", "are no numbers");
  const ValueId unknown = e.g.add_input("x", DType::kFloat64, graph::kUnknownRank);
  Expanded::refused(einsum(e.g, {"n", "i", {unknown}}), "Einsum", "must be known before the run");
}

}  // namespace
}  // namespace isobit::runtime
