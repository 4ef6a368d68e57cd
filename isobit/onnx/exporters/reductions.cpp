// Sums, extremes and places along axes; norms, softmax and losses.
#include <algorithm>
#include <limits>
#include <numeric>

#include "isobit/base/text.h"
#include "isobit/onnx/exporter_internal.h"

namespace isobit::onnx {
namespace {

Status reduce_extreme(Writing& w) {
  if (w.in(0).dtype == DType::kBool) w.needs(20);
  return as_it_is(w);
}

// ONNX has k as a list of one.
Status top_k(Writing& w) {
  Names inputs = w.names_in();
  if (w.has(1) && w.in(1).has_rank() && w.in(1).dims.empty()) {
    inputs[1] = w.add("Unsqueeze", {w.name_in(1), w.integers({0}, "k_axes")}, {}, "k");
  }
  ISOBIT_TRY(AttributeDefs attributes, w.same_attributes(inputs));
  w.add_last("TopK", std::move(inputs), std::move(attributes));
  return {};
}

// The rows of operators over the axes from `axis` on; rank 0: not known.
struct Rows {
  int64_t axis = 0, rank = 0;
  std::vector<int64_t> dims = {};  // of a row
  bool is_static = false;
};

Rows rows_of(const Writing& w) {
  Rows rows;
  if (!w.in(0).has_rank()) return rows;
  const auto& dims = w.in(0).dims;
  rows.rank = static_cast<int64_t>(dims.size());
  const int64_t axis = w.attributes().integer("axis", -1);
  rows.axis = axis < 0 ? axis + rows.rank : axis;
  rows.dims.assign(dims.begin() + rows.axis, dims.end());
  rows.is_static = std::ranges::all_of(rows.dims, [](int64_t d) { return d >= 0; });
  return rows;
}

// A scale or a bias with an element for each of a row: many programs do not repeat the few that it may have.
std::string of_whole_row(Writing& w, int i, const Rows& rows) {
  if (!w.has(i) || !rows.is_static || w.in(i).dims == rows.dims) return w.name_in(i);
  const char* what = i == 1 ? "scale" : "bias";
  return w.add("Expand", {w.name_in(i), w.integers(rows.dims, text_of(what, "_shape"))}, {}, what);
}

// The first stage is computed in float32 unless something is said.
void add_stage(const Writing& w, AttributeDefs& attributes) {
  if (w.in(0).dtype == DType::kFloat64)
    attributes.push_back(attribute("stash_type", element_of_dtype(DType::kFloat64)));
}

// Means and deviations have 1 for the axes of a row, and ours do not have those axes.
Status layer_norm(Writing& w) {
  const Rows rows = rows_of(w);
  Names inputs = {w.name_in(0), of_whole_row(w, 1, rows), of_whole_row(w, 2, rows)}, outputs = {w.name_out(0)};
  ISOBIT_TRY(AttributeDefs attributes, w.same_attributes(inputs));
  add_stage(w, attributes);
  const auto kept_of = [&](int o) { return w.wants(o) ? w.inner_name(o == 1 ? "mean" : "inv_std") : std::string(); };
  const Names kept = {kept_of(1), kept_of(2)};
  outputs.insert(outputs.end(), kept.begin(), kept.end());
  w.add_last("LayerNormalization", std::move(inputs), std::move(attributes), without_trailing(std::move(outputs)));
  for (int o = 1; o < 3; ++o) {
    if (!w.wants(o)) continue;
    if (rows.rank == 0) return w.error("its statistics are asked for, and the rank of the source is not known");
    if (w.in(0).dtype != DType::kFloat32) return w.error("ONNX has its statistics in float32 only");
    std::vector<int64_t> axes;
    for (int64_t a = rows.axis; a < rows.rank; ++a) axes.push_back(a);
    const Names from = {kept[static_cast<size_t>(o) - 1], w.integers(axes, "axes")};
    w.add_last("Squeeze", from, {}, {w.name_out(o)});
  }
  return {};
}

Status rms_norm(Writing& w) {
  Names inputs = {w.name_in(0), of_whole_row(w, 1, rows_of(w))};
  ISOBIT_TRY(AttributeDefs attributes, w.same_attributes(inputs));
  add_stage(w, attributes);
  w.add_last("RMSNormalization", std::move(inputs), std::move(attributes));
  return {};
}

// Whether a query sees a key, [queries, keys]: the last query sees every key. Two lists say it, however long they are.
std::string mask_of(Writing& w, int64_t queries, int64_t keys) {
  return w.shared(text_of("seen_", queries, "x", keys), [&](const std::string& name) {
    Tensor places(DType::kInt64, {1, keys}), last(DType::kInt64, {queries, 1});
    std::iota(places.data<int64_t>(), places.data<int64_t>() + keys, int64_t{0});
    std::iota(last.data<int64_t>(), last.data<int64_t>() + queries, keys - queries);
    const std::string place = w.exporter().take_name(name + "/key"), last_seen = w.exporter().take_name(name + "/last");
    w.constant_named(place, std::move(places));
    w.constant_named(last_seen, std::move(last));
    w.add_named(name, "LessOrEqual", {place, last_seen}, {});
  });
}

std::string minus_infinity(Writing& w, DType dtype) {
  return w.shared(text_of("minus_infinity_", name_of(dtype)), [&](const std::string& name) {
    by_type(FloatTypes{}, dtype,
            [&]<class T>(T) { w.constant_named(name, Tensor::scalar(-std::numeric_limits<T>::infinity())); });
  });
}

// What a query does not see is -inf before the softmax: its share is exactly 0 there. A query that sees nothing has
// rows of 0, which a softmax would make NaN.
Status causal_softmax(Writing& w) {
  const auto& dims = w.in(0).dims;
  if (!w.in(0).has_rank() || dims[dims.size() - 2] < 0 || dims.back() < 0) {
    return w.error("the numbers of queries and keys have to be known before the run");
  }
  const int64_t queries = dims[dims.size() - 2], keys = dims.back();
  const DType dtype = w.in(0).dtype;
  const std::string mask = mask_of(w, queries, keys);  // every layer has the same
  const std::string masked = w.add("Where", {mask, w.name_in(0), minus_infinity(w, dtype)}, {}, "masked");
  const AttributeDefs last_axis = {attribute("axis", int64_t{-1})};
  if (keys >= queries) {
    w.add_last("Softmax", {masked}, last_axis);
    return {};
  }
  const std::string weights = w.add("Softmax", {masked}, last_axis, "weights");
  w.add_last("Where", {mask, weights, w.constant(Tensor::zeros(dtype, {}), "zero")}, {});
  return {};
}

Status cross_entropy(Writing& w) {
  for (int o = 1; o < w.output_count(); ++o) {
    if (w.wants(o)) return w.error(text_of("its output ", o, " is asked for; ONNX has the mean loss only"));
  }
  w.add_last("SoftmaxCrossEntropyLoss", w.names_in(), {attribute("reduction", std::string("mean"))}, {w.name_out(0)});
  return {};
}

}  // namespace

void add_reduction_writers(WriterTable& table) {
  table.same("ReduceSum");
  for (const char* op : {"ReduceMean", "ReduceProd", "ReduceSumSquare", "ReduceL2", "ReduceLogSumExp"}) {
    table.same(op).from(18);
  }
  for (const char* op : {"ReduceMax", "ReduceMin"}) {
    table.own(op, reduce_extreme).from(18).not_of(0, {DType::kInt16, DType::kUint16});
  }
  for (const char* op : {"ArgMax", "ArgMin", "CumSum", "Softmax", "LogSoftmax", "LRN"}) table.same(op);
  table.own("TopK", top_k).listed();
  table.same("BatchNormalization").by_default("epsilon", 1e-5);
  table.own("LayerNormalization", layer_norm).by_default("epsilon", 1e-5);
  table.own("RMSNormalization", rms_norm).from(23).by_default("epsilon", 1e-5);
  table.own("isobit.CausalSoftmax", causal_softmax);
  table.own("isobit.CrossEntropy", cross_entropy);
}

}  // namespace isobit::onnx
