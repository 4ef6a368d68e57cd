// Of reductions, ranks along an axis and the norms over rows: nodes that shape inference takes and nodes that it must
// refuse.
#include "isobit/graph/refused_nodes_for_test.h"

namespace isobit::graph {
namespace {

const Type kX = f32({2, 3}), kRow = f32({3}), kRows = f32({2}), kImage = f32({2, 3, 4});
const Type kTruth = {DType::kBool, {2, 3}};
const Type kSmall = {DType::kUint8, {2, 3}};

Attributes one(const char* name, Attribute value) { return {{name, std::move(value)}}; }

void refused_over_axes(std::vector<Refused>& all) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceSumSquare"}) {
    all.push_back({op, {kTruth}, "is bool, expected one of float32, float64, int32, int64, uint32, uint64"});
    all.push_back({op, {kSmall}, "is uint8, expected one of float32, "});
  }
  for (const char* op : {"ReduceL2", "ReduceLogSumExp"}) {
    all.push_back({op, {i64({3})}, "is int64, expected one of float32, float64"});
  }
  for (const char* op : {"ReduceMax", "ReduceMin"}) {
    all.push_back({op, {{DType::kFloat16, {3}}}, "is float16, expected one of float32, float64, int8, "});
  }
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare",
                         "ReduceL2", "ReduceLogSumExp"}) {
    all.push_back({op, {kX}, "axis 2 is outside a tensor of rank 2", one("axes", Ints{2})});
    all.push_back({op, {kX}, "axis -1 appears twice", one("axes", Ints{1, -1})});
    all.push_back({op, {f32(Ints(65, 1))}, "a tensor of 65 axes, expected at most 64"});
    all.push_back({op, {kX, i64({1})}, "'axes' is both an attribute and input 1", one("axes", Ints{1})});
    all.push_back({op, {kX, f32({1})}, "expected int64 or int32"});
    all.push_back({op, {kX, i64({1, 1})}, "expected rank 0 or 1"});
  }
  for (const char* op : {"isobit.ReduceMaxGrad", "isobit.ReduceProdGrad"}) {
    all.push_back({op, {kX, f32({2, 2})}, "expected [2, 1]", one("axes", Ints{1})});
    all.push_back({op, {kX, kRows}, "expected [2, 1]", one("axes", Ints{1})});
    all.push_back({op, {kX, f64({2, 1})}, "has type float64", one("axes", Ints{1})});
    all.push_back({op, {i64({2, 3}), i64({2, 1})}, "expected float32 or float64", one("axes", Ints{1})});
    all.push_back({op, {kX, kX}, "axis 2 is outside", one("axes", Ints{2})});
    all.push_back({op, {f32(Ints(65, 1)), f32(Ints(65, 1))}, "a tensor of 65 axes"});
  }
  all.push_back({"isobit.SumTo", {f32(Ints(65, 1))}, "a tensor of 65 axes", one("shape", Ints{1})});
  all.push_back({"CumSum", {kX}, "'axis' is neither an attribute nor an input"});
  all.push_back({"CumSum", {kX}, "axis 2 is outside a tensor of rank 2", one("axis", int64_t{2})});
  all.push_back({"CumSum", {f32({})}, "axis 0 is outside a tensor of rank 0", one("axis", int64_t{0})});
  all.push_back({"CumSum", {kX}, "'axis' needs 1 number, found 2", one("axis", Ints{0, 1})});
  all.push_back({"CumSum", {kTruth}, "is bool, expected one of float32, ", one("axis", int64_t{0})});
}

void refused_order(std::vector<Refused>& all) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    all.push_back({op, {kTruth}, "is bool, expected one of float32, "});
    all.push_back({op, {kX}, "axis -3 is outside a tensor of rank 2", one("axis", int64_t{-3})});
    all.push_back({op, {f32({})}, "axis 0 is outside a tensor of rank 0"});
  }
  const Attributes two = {{"src_shape", Ints{2, 3}}, {"axis", int64_t{1}}};
  for (const Refused& r : std::vector<Refused>{
           {"TopK", {kX}, "'k' is neither an attribute nor an input"},
           {"TopK", {kTruth}, "is bool, expected one of float32, ", one("k", int64_t{1})},
           {"TopK", {kX}, "k is -1, expected 0 or more", one("k", int64_t{-1})},
           {"TopK", {kX}, "the largest 4 of 3 elements", one("k", int64_t{4})},
           {"TopK", {kX}, "'k' needs 1 number, found 0", one("k", Ints{})},
           {"TopK", {kX}, "axis 2 is outside", {{"k", int64_t{1}}, {"axis", int64_t{2}}}},
           {"isobit.TopKGrad", {i64({2, 1}), i64({2, 1})}, "expected float32 or float64", two},
           {"isobit.TopKGrad", {f32({2, 1}), i32({2, 1})}, "expected int64", two},
           {"isobit.TopKGrad", {f32({2, 1}), i64({2, 2})}, "expected [2, 1]", two},
           {"isobit.TopKGrad", {f32({2, 1}), i64({2, 1})}, "expected rank 0"},
           {"isobit.TopKGrad", {f32({2, 1}), i64({2, 1})}, "must not be negative", one("src_shape", Ints{2, -3})},
           {"isobit.TopKGrad", {f32({1, 1}), i64({1, 1})}, "expected [2, 1]", two},
           {"isobit.TopKGrad", {f32({2, 4}), i64({2, 4})}, "gradients of 4 values of 3", two},
           {"isobit.TopKGrad",
            {f32({2, 1}), i64({2, 1})},
            "axis 2 is outside",
            {{"src_shape", Ints{2, 3}}, {"axis", int64_t{2}}}},
       }) {
    all.push_back(r);
  }
}

void refused_norms(std::vector<Refused>& all) {
  for (const Refused& r : std::vector<Refused>{
           {"LayerNormalization", {kImage, f32({4, 3})}, "expected [3, 4] or what broadcasts", one("axis", int64_t{1})},
           {"LayerNormalization", {kX, f32({1, 3})}, "expected [3] or what broadcasts to it"},
           {"LayerNormalization", {kX, kRow}, "axis 2 is outside", one("axis", int64_t{2})},
           {"isobit.LayerNormGrad", {kX, kRows, kRows, kRow, kX}, "axis 2 is outside", one("axis", int64_t{2})},
           {"RMSNormalization", {i64({2, 3}), kRow}, "expected float32 or float64"},
           {"RMSNormalization", {f32({}), kRow}, "rank 1 or more"},
           {"RMSNormalization", {kX, kRows}, "expected [3] or what broadcasts to it"},
           {"RMSNormalization", {kX, f64({3})}, "has type float64"},
           {"RMSNormalization", {kX, kRow}, "axis -3 is outside", one("axis", int64_t{-3})},
           {"isobit.RmsNormGrad", {i64({2, 3}), kRow, kX}, "expected float32 or float64"},
           {"isobit.RmsNormGrad", {f32({}), kRow, f32({})}, "rank 1 or more"},
           {"isobit.RmsNormGrad", {kX, kRows, kX}, "expected [3]"},
           {"isobit.RmsNormGrad", {kX, f64({3}), kX}, "has type float64"},
           {"isobit.RmsNormGrad", {kX, kRow, kRow}, "expected [2, 3]"},
           {"isobit.RmsNormGrad", {kX, kRow, f64({2, 3})}, "has type float64"},
           {"isobit.RmsNormGrad", {kX, kRow, kX}, "axis 2 is outside", one("axis", int64_t{2})},
           {"LRN", {i64({2, 3})}, "expected float32 or float64", one("size", int64_t{3})},
           {"LRN", {kRow}, "rank 2 or more", one("size", int64_t{3})},
           {"LRN", {kImage}, "a window of 0 channels, expected 1 or more"},
       }) {
    all.push_back(r);
  }
}

}  // namespace

void add_refused_reductions(std::vector<Refused>& all) {
  refused_over_axes(all);
  refused_order(all);
  refused_norms(all);
}

void add_accepted_reductions(std::vector<Accepted>& all) {
  const auto as = [](DType dtype, Ints dims) { return Type{dtype, std::move(dims)}; };
  for (const char* op : {"ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL2", "ReduceLogSumExp"}) {
    all.push_back({op, {kImage}, {f32({1, 1, 1})}});
    all.push_back({op, {kImage}, {f32({3})}, {{"axes", Ints{0, -1}}, {"keepdims", int64_t{0}}}});
    all.push_back({op, {kImage}, {kImage}, one("noop_with_empty_axes", int64_t{1})});
    all.push_back({op, {f32({})}, {f32({})}});
  }
  for (DType dtype : {DType::kInt32, DType::kInt64, DType::kUint32, DType::kUint64}) {
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceSumSquare"}) {
      all.push_back({op, {as(dtype, {2, 3})}, {as(dtype, {2, 1})}, one("axes", Ints{1})});
    }
    all.push_back({"CumSum", {as(dtype, {2, 3})}, {as(dtype, {2, 3})}, one("axis", int64_t{-1})});
  }
  for (const char* op : {"ReduceMax", "ReduceMin"}) {
    all.push_back({op, {kTruth}, {as(DType::kBool, {1, 3})}, one("axes", Ints{0})});
    all.push_back({op, {kSmall}, {as(DType::kUint8, {1, 1})}});
  }
  // Axes that nobody knows yet.
  all.push_back({"ReduceSum", {kX, i64({1})}, {f32({-1, -1})}});
  all.push_back({"ReduceMax", {kX, i64({-1})}, {f32(kUnknownRank)}, one("keepdims", int64_t{0})});
  all.push_back({"isobit.ReduceMaxGrad", {kX, f32({2, 1})}, {kX}, {{"axes", Ints{1}}, {"largest", int64_t{0}}}});
  all.push_back({"isobit.ReduceProdGrad", {kX, f32({1, 1})}, {kX}, one("axes", Ints{0, -1})});
  all.push_back({"CumSum", {kX}, {kX}, {{"axis", int64_t{0}}, {"exclusive", int64_t{1}}, {"reverse", int64_t{1}}}});
  all.push_back({"CumSum", {kX, i32({})}, {kX}});

  for (const char* op : {"ArgMax", "ArgMin"}) {
    all.push_back({op, {kX}, {i64({1, 3})}});
    all.push_back({op,
                   {kSmall},
                   {i64({2})},
                   {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}, {"select_last_index", int64_t{1}}}});
  }
  all.push_back({"TopK", {kX}, {f32({2, 2}), i64({2, 2})}, one("k", int64_t{2})});
  all.push_back({"TopK",
                 {as(DType::kUint64, {2, 3})},
                 {as(DType::kUint64, {0, 3}), i64({0, 3})},
                 {{"k", Ints{0}}, {"axis", int64_t{0}}, {"largest", int64_t{0}}, {"sorted", int64_t{0}}}});
  all.push_back({"TopK", {kX, i64({1})}, {f32({2, -1}), i64({2, -1})}});
  all.push_back(
      {"isobit.TopKGrad", {f32({2, 2}), i64({2, 2})}, {kX}, {{"src_shape", Ints{2, 3}}, {"axis", int64_t{-1}}}});

  all.push_back({"LayerNormalization", {kX, f32({})}, {kX, kRows, kRows}});
  all.push_back(
      {"LayerNormalization", {kImage, f32({3, 4}), f32({4})}, {kImage, kRows, kRows}, one("axis", int64_t{1})});
  all.push_back({"LayerNormalization", {kX, kX, kX}, {kX, f32({}), f32({})}, one("axis", int64_t{0})});
  all.push_back({"isobit.LayerNormGrad",
                 {kImage, kRows, kRows, f32({3, 4}), kImage},
                 {kImage, f32({3, 4}), f32({3, 4})},
                 one("axis", int64_t{-2})});
  all.push_back({"RMSNormalization", {kX, kRow}, {kX}, one("epsilon", 1e-3)});
  all.push_back({"RMSNormalization", {kImage, f32({3, 1})}, {kImage}, one("axis", int64_t{1})});
  all.push_back({"isobit.RmsNormGrad", {kX, kRow, kX}, {kX, kRow}, {{"epsilon", 1e-3}, {"axis", int64_t{-1}}}});
  all.push_back({"LRN", {kImage}, {kImage}, {{"size", int64_t{3}}, {"alpha", 1e-3}, {"beta", 0.5}, {"bias", 2.0}}});
}

}  // namespace isobit::graph
