// Of reductions, running sums, ranks along an axis and norms over rows.
#include "isobit/runtime/operator_cases_for_test.h"

namespace isobit::runtime {
namespace {

using graph::Attributes;
using Ints = std::vector<int64_t>;
using Cases = std::vector<OperatorCase>;

Attributes one(const char* name, graph::Attribute value) { return {{name, std::move(value)}}; }

void add_reduce(Cases& cases) {
  for (const char* op : {"ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL2", "ReduceLogSumExp"}) {
    cases.push_back({op, {real({2, 3, 2})}});
    cases.push_back({op, {real({2, 3, 2})}, {{"axes", Ints{0, -1}}, {"keepdims", int64_t{0}}}});
  }
  // Two of the largest, or of the least, share the gradient.
  for (int64_t largest : {0, 1}) {
    cases.push_back({"isobit.ReduceMaxGrad", {twice({2, 6}), real({2, 1})}, {{"axes", Ints{1}}, {"largest", largest}}});
  }
  cases.push_back({"isobit.ReduceProdGrad", {real({2, 3}), real({2, 1})}, one("axes", Ints{1})});
  cases.push_back({"CumSum", {real({3, 4})}, one("axis", int64_t{1})});
  cases.push_back({"CumSum", {real({3, 4})}, {{"axis", Ints{-2}}, {"exclusive", int64_t{1}}, {"reverse", int64_t{1}}}});
}

void add_order(Cases& cases) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    cases.push_back({op, {real({3, 2, 2})}, one("axis", int64_t{0})});
    cases.push_back(
        {op, {real({2, 3, 2})}, {{"axis", int64_t{-2}}, {"keepdims", int64_t{0}}, {"select_last_index", int64_t{1}}}});
  }
  cases.push_back({"TopK", {real({3, 5})}, {{"k", int64_t{2}}, {"axis", int64_t{-1}}}});
  cases.push_back({"TopK", {real({5, 3})}, {{"k", Ints{3}}, {"axis", int64_t{0}}, {"largest", int64_t{0}}}});
  cases.push_back({"isobit.TopKGrad",
                   {real({3, 2}), given({3, 2}, {0, 3, 1, 2, 3, 0})},
                   {{"src_shape", Ints{3, 4}}, {"axis", int64_t{1}}}});
}

void add_norm(Cases& cases) {
  const CaseOperand x = real({2, 3, 2}), rows = real({2});
  cases.push_back({"LayerNormalization", {x, real({3, 2}), real({2})}, one("axis", int64_t{1})});
  cases.push_back({"LayerNormalization", {real({3, 5}), real({})}});
  cases.push_back({"isobit.LayerNormGrad", {x, rows, positive({2}), real({3, 2}), x}, one("axis", int64_t{-2})});
  cases.push_back({"RMSNormalization", {real({3, 5}), real({5})}, one("epsilon", 1e-3)});
  cases.push_back({"RMSNormalization", {x, real({3, 1})}, one("axis", int64_t{1})});
  cases.push_back({"isobit.RmsNormGrad", {real({3, 5}), real({5}), real({3, 5})}});
  cases.push_back({"isobit.RmsNormGrad", {x, real({3, 2}), x}, one("axis", int64_t{1})});
  cases.push_back({"LRN", {real({2, 5, 3})}, {{"size", int64_t{3}}, {"alpha", 0.5}, {"beta", 0.75}, {"bias", 1.0}}});
}

}  // namespace

void add_reductions_cases(Cases& cases) {
  add_reduce(cases);
  add_order(cases);
  add_norm(cases);
}

}  // namespace isobit::runtime
