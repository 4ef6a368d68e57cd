#include "isobit/graph/expansions/build.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"

namespace isobit::graph::expansions {
namespace {

// In a shape that is not resolved: the source's extent in this place, and what remains.
constexpr int64_t kAsInSource = -2, kWhatRemains = -1;

}  // namespace

Status NodeArguments::expect(int least, int most, int most_outputs,
                             std::initializer_list<std::pair<const char*, size_t>> attributes_and_types) const {
  const int given = static_cast<int>(inputs.size()), asked = static_cast<int>(outputs.size());
  if (given < least || given > most) {
    return unreadable(text_of("found ", given, " inputs, expected ", least, " to ", most));
  }
  for (int i = 0; i < given; ++i) {
    const ValueId id = inputs[static_cast<size_t>(i)];
    if (id < kNoValue || id >= graph.value_count() || (id == kNoValue && i < least)) {
      return unreadable(text_of("input ", i, " is missing"));
    }
  }
  if (asked > most_outputs) return unreadable(text_of("found ", asked, " outputs, expected at most ", most_outputs));
  if (output(0).empty()) return unreadable("output 0 is missing");
  return InferContext(graph, inputs, attributes, outputs).expect_attributes(attributes_and_types);
}

Expected<int> NodeArguments::rank(size_t i) const {
  if (!value(i).has_rank()) return unreadable(text_of("the rank of '", value(i).name, "' is not known"));
  return static_cast<int>(value(i).dims.size());
}

ValueId Builder::fail(std::string message) {
  if (!op_.empty()) message = text_of("node '", name_, "' (", op_, "): ", message);
  if (!failed_) error_ = {ErrorCode::kUnreadable, std::move(message)};
  failed_ = true;
  return kNoValue;
}

bool Builder::require(bool condition, const std::string& message) {
  if (!condition) fail(message);
  return !failed_;
}

bool Builder::require_ranks(std::initializer_list<ValueId> values) {
  for (ValueId v : values) {
    if (v != kNoValue && !graph_.value(v).has_rank()) {
      fail(text_of("the rank of '", graph_.value(v).name, "' must be known before the run"));
    }
  }
  return !failed_;
}

Expected<std::vector<ValueId>> Builder::finish(std::vector<ValueId> outputs) const {
  if (failed_) return tl::unexpected<Error>(error_);
  return outputs;
}

DType Builder::dtype(ValueId v) const { return v == kNoValue ? DType::kFloat32 : graph_.value(v).dtype; }

const std::vector<int64_t>& Builder::dims(ValueId v) const {
  static const std::vector<int64_t> kNone;
  return v == kNoValue ? kNone : graph_.value(v).dims;
}

int64_t Builder::dim(ValueId v, int axis) const {
  const int place = axis < 0 ? axis + rank(v) : axis;
  return place < 0 || place >= rank(v) ? -1 : dims(v)[static_cast<size_t>(place)];
}

int64_t Builder::times(int64_t a, int64_t b) {
  int64_t product = -1;
  if (a < 0 || b < 0 || failed_) return -1;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  fail(text_of("extents of ", a, " times ", b, " are too large"));
  return -1;
}

bool Builder::is_float(ValueId v) const { return v != kNoValue && FloatTypes::contains(dtype(v)); }

bool Builder::is_integer(ValueId v) const { return v != kNoValue && IntegerTypes::contains(dtype(v)); }

const Tensor* Builder::constant_of(ValueId v) const { return v == kNoValue ? nullptr : graph_.initializer(v); }

ValueId Builder::node(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                      const std::string& what) {
  return nodes(op, std::move(inputs), std::move(attributes), {what})[0];
}

std::vector<ValueId> Builder::nodes(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                                    const std::vector<std::string>& outputs) {
  const std::vector<ValueId> none(outputs.size(), kNoValue);
  if (failed_) return none;
  std::vector<std::string> names;
  for (const std::string& what : outputs) names.push_back(named(what));
  auto added = graph_.add_node(op, std::move(inputs), std::move(attributes), std::move(names));
  if (added) return *std::move(added);
  fail(added.error().message);
  return none;
}

ValueId Builder::constant(Tensor tensor, const std::string& what) {
  return failed_ ? kNoValue : graph_.add_initializer(named(what), std::move(tensor));
}

ValueId Builder::scalar(DType dtype, double value) {
  const std::pair<DType, uint64_t> key(dtype, std::bit_cast<uint64_t>(value));
  const auto found = scalars_.find(key);
  if (failed_ || found != scalars_.end()) return failed_ ? kNoValue : found->second;
  Tensor tensor;
  by_type(FloatTypes{}, dtype, [&]<class T>(T) { tensor = Tensor::scalar(static_cast<T>(value)); });
  by_type(IntegerTypes{}, dtype, [&]<class T>(T) {
    const double least = static_cast<double>(std::numeric_limits<T>::min());
    const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (value >= least && value < above) tensor = Tensor::scalar(static_cast<T>(value));
  });
  if (!tensor.defined()) return fail(text_of("there is no constant ", value, " of type ", name_of(dtype)));
  return scalars_[key] = constant(std::move(tensor), "constant");
}

ValueId Builder::integers(const std::vector<int64_t>& values) {
  const auto found = integers_.find(values);
  if (failed_ || found != integers_.end()) return failed_ ? kNoValue : found->second;
  const Shape shape({static_cast<int64_t>(values.size())});
  return integers_[values] = constant(Tensor::of<int64_t>(shape, values), "constant");
}

ValueId Builder::integer(int64_t value) {
  const auto found = whole_.find(value);
  if (failed_ || found != whole_.end()) return failed_ ? kNoValue : found->second;
  return whole_[value] = constant(Tensor::scalar(value), "constant");
}

ValueId Builder::numbers(DType dtype, const std::vector<double>& values, std::vector<int64_t> dims,
                         const std::string& what) {
  if (failed_) return kNoValue;
  Tensor tensor(dtype, Shape(std::move(dims)));
  ISOBIT_CHECK(tensor.elements() == static_cast<int64_t>(values.size()));
  by_type(FloatTypes{}, dtype, [&]<class T>(T) {
    std::transform(values.begin(), values.end(), tensor.data<T>(), [](double x) { return static_cast<T>(x); });
  });
  return constant(std::move(tensor), what);
}

ValueId Builder::matmul_transposed(ValueId a, ValueId b, const std::string& what) {
  return node("MatMul", {a, b}, {{"transB", int64_t{1}}}, what);
}

ValueId Builder::cast(ValueId v, DType to, const std::string& what) {
  if (failed_ || dtype(v) == to) return v;
  return node("Cast", {v}, {{"to", static_cast<int64_t>(to)}}, what);
}

ValueId Builder::transpose(ValueId v, const std::vector<int64_t>& permutation, const std::string& what) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return v;
  return node("Transpose", {v}, {{"perm", permutation}}, what);
}

ValueId Builder::reshape(ValueId v, std::vector<int64_t> shape, const std::string& what) {
  if (failed_) return kNoValue;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 0) continue;
    const int64_t known = dim(v, static_cast<int>(i));
    shape[i] = known < 0 ? kAsInSource : known;
  }
  return reshape_resolved(v, std::move(shape), what);
}

ValueId Builder::reshape_to(ValueId v, std::vector<int64_t> extents, const std::string& what, int leading) {
  if (failed_) return kNoValue;
  std::vector<int64_t> shape;
  for (int i = 0; i < leading; ++i) shape.push_back(dim(v, i) < 0 ? kAsInSource : dim(v, i));
  shape.insert(shape.end(), extents.begin(), extents.end());
  return reshape_resolved(v, std::move(shape), what);
}

// Where everything is known the shape is written out, so that an extent of 0 means what it says.
ValueId Builder::reshape_resolved(ValueId v, std::vector<int64_t> shape, const std::string& what) {
  const auto total = checked_elements(dims(v), DType::kUint8, INT64_MAX);
  const auto open = std::find(shape.begin(), shape.end(), kWhatRemains);
  if (total && open != shape.end()) {
    *open = 1;
    const auto others = checked_elements(shape, DType::kUint8, INT64_MAX);
    *open = others && *others > 0 && *total % *others == 0 ? *total / *others : kWhatRemains;
  }
  if (total && shape == dims(v)) return v;
  const auto has = [&](int64_t x) { return std::find(shape.begin(), shape.end(), x) != shape.end(); };
  const bool is_empty = has(0), is_open = has(kAsInSource) || has(kWhatRemains);
  if (is_empty && is_open) return fail(text_of("an extent of 0 beside one that is not known, in ", named(what)));
  std::replace(shape.begin(), shape.end(), kAsInSource, int64_t{0});
  Attributes attributes = {{"shape", std::move(shape)}};
  if (is_empty) attributes.set("allowzero", int64_t{1});
  return node("Reshape", {v}, std::move(attributes), what);
}

ValueId Builder::reshape_like(ValueId v, ValueId like, bool first_kept, const std::string& what) {
  if (failed_) return kNoValue;
  std::vector<int64_t> shape = dims(like);
  const bool has_zero = std::count(shape.begin(), shape.end(), 0) > 0;
  // In the attribute 0 stands for a dimension that is there already, and one -1 is inferred.
  if (first_kept && !shape.empty() && shape[0] < 0) shape[0] = 0;
  const auto unknown = std::count_if(shape.begin(), shape.end(), [](int64_t d) { return d < 0; });
  if (rank(like) < 0 || unknown > 1 || (has_zero && !graph_.value(like).is_static())) {
    return node("Reshape", {v, unary("Shape", like, "Shape")}, {}, what);
  }
  Attributes attributes = {{"shape", std::move(shape)}};
  if (has_zero) attributes.set("allowzero", int64_t{1});
  return node("Reshape", {v}, std::move(attributes), what);
}

ValueId Builder::unsqueeze(ValueId v, const std::vector<int64_t>& axes, const std::string& what) {
  return node("Unsqueeze", {v}, {{"axes", axes}}, what);
}

ValueId Builder::squeeze(ValueId v, const std::vector<int64_t>& axes, const std::string& what) {
  return node("Squeeze", {v}, {{"axes", axes}}, what);
}

ValueId Builder::slice(ValueId v, int64_t axis, int64_t start, int64_t end, int64_t step, const std::string& what) {
  using Ints = std::vector<int64_t>;
  if (start == 0 && step == 1 && dim(v, static_cast<int>(axis)) == end) return v;
  return node("Slice", {v}, {{"starts", Ints{start}}, {"ends", Ints{end}}, {"axes", Ints{axis}}, {"steps", Ints{step}}},
              what);
}

std::vector<ValueId> Builder::split(ValueId v, int64_t axis, const std::vector<int64_t>& sizes,
                                    const std::string& what) {
  if (sizes.size() == 1) return {v};
  std::vector<std::string> names;
  for (size_t i = 0; i < sizes.size(); ++i) names.push_back(text_of(what, "_", i));
  return nodes("Split", {v}, {{"axis", axis}, {"split", sizes}}, names);
}

ValueId Builder::concat(const std::vector<ValueId>& parts, int64_t axis, const std::string& what) {
  return parts.size() == 1 ? parts[0] : node("Concat", parts, {{"axis", axis}}, what);
}

ValueId Builder::gather(ValueId v, ValueId indices, int64_t axis, const std::string& what) {
  return node("Gather", {v, indices}, {{"axis", axis}}, what);
}

ValueId Builder::reduce(const std::string& op, ValueId v, const std::vector<int64_t>& axes, bool keep,
                        const std::string& what) {
  return node(op, {v}, {{"axes", axes}, {"keepdims", int64_t{keep ? 1 : 0}}}, what);
}

ValueId Builder::extent(ValueId v, int axis, const std::string& what) {
  const int64_t known = dim(v, axis);
  if (known >= 0 || failed_) return integer(known);
  const int64_t place = axis < 0 ? axis + rank(v) : axis;
  const ValueId alone = node("Shape", {v}, {{"start", place}, {"end", place + 1}}, what);
  return squeeze(alone, {0}, what);
}

ValueId Builder::range(ValueId count, const std::string& what) {
  const Tensor* known = constant_of(count);
  if (known == nullptr || failed_) return node("Range", {integer(0), count, integer(1)}, {}, what);
  constexpr int64_t kMost = int64_t{1} << 20;  // 8 MiB
  const int64_t n = known->data<int64_t>()[0];
  if (!require(n >= 0 && n <= kMost, text_of("an axis of ", n, " places, expected 0 to ", kMost))) return kNoValue;
  std::vector<int64_t> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return integers(values);
}

}  // namespace isobit::graph::expansions
