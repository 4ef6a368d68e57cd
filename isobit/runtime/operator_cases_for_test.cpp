#include "isobit/runtime/operator_cases_for_test.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "isobit/runtime/executor.h"

namespace isobit::runtime {

using graph::Attributes;
using Ints = std::vector<int64_t>;
using Kind = CaseOperand::Kind;

CaseOperand real(Ints dims) { return {.kind = Kind::kReal, .dims = std::move(dims)}; }
CaseOperand positive(Ints dims) { return {.kind = Kind::kPositive, .dims = std::move(dims)}; }
CaseOperand index(Ints dims, int64_t below) { return {.kind = Kind::kIndex, .dims = std::move(dims), .below = below}; }
CaseOperand given(Ints dims, Ints values) {
  return {.kind = Kind::kGiven, .dims = std::move(dims), .given = std::move(values)};
}
CaseOperand rate() { return {.kind = Kind::kRate, .dims = {}}; }
CaseOperand twice(Ints dims) { return {.kind = Kind::kTwice, .dims = std::move(dims)}; }
CaseOperand integer(Ints dims, int64_t below, int64_t from) {
  return {.kind = Kind::kInteger, .dims = std::move(dims), .below = below, .given = {from}};
}
CaseOperand truth(Ints dims) { return {.kind = Kind::kTruth, .dims = std::move(dims)}; }
CaseOperand parameter(Ints values) {
  const auto n = static_cast<int64_t>(values.size());
  return {.kind = Kind::kParameter, .dims = {n}, .given = std::move(values)};
}
CaseOperand absent() { return {.kind = Kind::kAbsent, .dims = {}}; }
CaseOperand boolean(Ints dims) { return {.kind = Kind::kBool, .dims = std::move(dims)}; }
CaseOperand special(Ints dims) { return {.kind = Kind::kSpecial, .dims = std::move(dims)}; }
CaseOperand numbers(Ints dims, Ints values, DType dtype) {
  return {.kind = Kind::kNumbers, .dims = std::move(dims), .given = std::move(values), .dtype = dtype};
}
CaseOperand bytes(Ints dims, DType dtype, int64_t below) {
  return {.kind = Kind::kByte, .dims = std::move(dims), .below = below, .dtype = dtype};
}

CaseOperand wide(Ints dims) { return {.kind = Kind::kWide, .dims = std::move(dims)}; }

namespace {

using Cases = std::vector<OperatorCase>;

void add_elementwise(Cases& cases) {
  cases.push_back({"Identity", {real({4, 9})}});
  for (DType to : {DType::kFloat64, DType::kFloat32}) {
    cases.push_back({"Cast", {real({4, 9})}, {{"to", static_cast<int64_t>(to)}}});
  }
  for (const char* form : {"none", "tanh"}) {
    cases.push_back({"Gelu", {real({4, 9})}, {{"approximate", std::string(form)}}});
    cases.push_back({"isobit.GeluGrad", {real({20}), real({20})}, {{"approximate", std::string(form)}}});
  }
  cases.push_back({"LeakyRelu", {real({4, 9})}, {{"alpha", 0.3}}});
  cases.push_back({"isobit.LeakyReluGrad", {real({20}), real({20})}, {{"alpha", 0.3}}});
  for (const char* op : {"isobit.ReluGrad", "isobit.SigmoidGrad", "isobit.TanhGrad"}) {
    cases.push_back({op, {real({20}), real({20})}});
  }
  cases.push_back({"isobit.Dropout", {real({30}), index({}, 9)}, {{"seed", int64_t{5}}, {"ratio", 0.5}}});
}

void add_linear(Cases& cases) {
  const Attributes window = {{"pads", Ints{1, 0, 1, 1}}, {"strides", Ints{2, 1}}, {"group", int64_t{2}}};
  Attributes src = window, weights = window;
  src.set("src_shape", Ints{2, 4, 5, 4});
  weights.set("weights_shape", Ints{6, 2, 3, 2});
  cases.push_back({"MatMul", {real({2, 3, 4}), real({2, 4, 5})}});
  cases.push_back({"MatMul", {real({4, 3}), real({2, 5, 4})}, {{"transA", int64_t{1}}, {"transB", int64_t{1}}}});
  cases.push_back({"Gemm", {real({3, 4}), real({5, 4}), real({5})}, {{"transB", int64_t{1}}}});
  cases.push_back({"Conv", {real({2, 4, 5, 4}), real({6, 2, 3, 2}), real({6})}, window});
  cases.push_back({"isobit.ConvGradSrc", {real({2, 6, 3, 4}), real({6, 2, 3, 2})}, src});
  cases.push_back({"isobit.ConvGradWeights", {real({2, 4, 5, 4}), real({2, 6, 3, 4})}, weights});
}

void add_movement(Cases& cases) {
  cases.push_back({"Transpose", {real({2, 3, 4})}, {{"perm", Ints{2, 0, 1}}}});
  cases.push_back({"Reshape", {real({2, 6})}, {{"shape", Ints{3, -1}}}});
  cases.push_back({"Flatten", {real({2, 3, 2})}});
  cases.push_back({"Concat", {real({2, 3}), real({2, 1}), real({2, 2})}, {{"axis", int64_t{-1}}}});
  cases.push_back({"isobit.Block", {real({4, 5})}, {{"starts", Ints{1, 2}}, {"counts", Ints{2, 3}}}});
  cases.push_back({"isobit.BlockGrad",
                   {real({2, 3})},
                   {{"starts", Ints{1, 2}}, {"counts", Ints{2, 3}}, {"src_shape", Ints{4, 5}}}});
  // More places than rows, so that some row comes twice.
  cases.push_back({"Gather", {real({3, 2}), index({2, 2}, 3)}});
  cases.push_back({"isobit.EmbeddingGrad", {index({2, 2}, 3), real({2, 2, 2})}, {{"table_shape", Ints{3, 2}}}});
  cases.push_back({"Expand", {real({3, 1})}, {{"shape", Ints{2, 3, 2}}}});
  add_slicing_cases(cases);
  add_indexing_cases(cases);
}

void add_reduce(Cases& cases) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax"}) {
    cases.push_back({op, {real({2, 3, 2})}});
    cases.push_back({op, {real({2, 3, 2})}, {{"axes", Ints{0, -1}}, {"keepdims", int64_t{0}}}});
  }
  cases.push_back({"isobit.SumTo", {real({2, 3, 2})}, {{"shape", Ints{3, 1}}}});
  cases.push_back({"isobit.GlobalNorm", {real({5}), real({2, 3}), real({4})}});
}

void add_norm(Cases& cases) {
  const CaseOperand image = real({2, 3, 4}), channels = real({3}), var = positive({3});
  cases.push_back({"BatchNormalization", {image, channels, channels, channels, var}});
  cases.push_back({"isobit.BatchStatistics", {image}});
  cases.push_back({"isobit.RunningUpdate", {channels, channels}, {{"momentum", 0.9}}});
  cases.push_back({"isobit.RunningUpdate", {channels, channels}, {{"momentum", 0.9}, {"count", int64_t{3}}}});
  cases.push_back({"isobit.BatchNormApply", {image, channels, channels, channels, var}});
  cases.push_back({"isobit.BatchNormGrad", {image, channels, var, channels, image}});
  cases.push_back({"LayerNormalization", {real({3, 5}), real({5}), real({5})}});
  cases.push_back({"isobit.LayerNormGrad", {real({3, 5}), real({3}), positive({3}), real({5}), real({3, 5})}});
}

void add_softmax(Cases& cases) {
  for (const char* op : {"Softmax", "LogSoftmax", "isobit.CausalSoftmax"}) cases.push_back({op, {real({2, 3, 3})}});
  for (const char* op : {"isobit.SoftmaxGrad", "isobit.LogSoftmaxGrad", "isobit.CausalSoftmaxGrad"}) {
    cases.push_back({op, {real({2, 3, 3}), real({2, 3, 3})}});
  }
  const CaseOperand logits = real({4, 3}), labels = index({4}, 3), rows = real({4});
  cases.push_back({"isobit.CrossEntropy", {logits, labels}});
  cases.push_back({"isobit.CrossEntropyGrad", {logits, labels, rows, rows, real({})}});
  cases.push_back({"isobit.CrossEntropyGrad", {logits, labels, rows, rows, rows}});
}

void add_pool(Cases& cases) {
  const Ints shape = {1, 2, 3, 3};
  const Attributes window = {{"kernel_shape", Ints{2, 2}}};
  Attributes grad = window;
  grad.set("src_shape", shape);
  cases.push_back({"MaxPool", {real(shape)}, window});
  cases.push_back({"AveragePool", {real(shape)}, window});
  cases.push_back({"GlobalAveragePool", {real(shape)}});
  // The middle of a plane, which all four windows have; two borders.
  cases.push_back(
      {"isobit.MaxPoolGrad", {real({1, 2, 2, 2}), given({1, 2, 2, 2}, {4, 4, 4, 4, 10, 10, 16, 16})}, grad});
  cases.push_back({"isobit.AveragePoolGrad", {real({1, 2, 2, 2})}, grad});
  cases.push_back({"isobit.GlobalAveragePoolGrad", {real({1, 2, 1, 1})}, {{"src_shape", shape}}});
}

void add_optimizer(Cases& cases) {
  const CaseOperand x = real({7});
  cases.push_back({"isobit.ClipFactor", {positive({})}, {{"max_norm", 1.0}}});
  cases.push_back({"isobit.Sgd", {x, x, rate()}, {{"weight_decay", 0.01}}});
  // The decay of weights reaches the buffers, too, unless it is decoupled.
  const Attributes sgd = {{"momentum", 0.9}, {"nesterov", int64_t{1}}, {"weight_decay", 0.01}};
  cases.push_back({"isobit.Sgd", {x, x, rate(), x, positive({})}, sgd});
  for (int64_t decoupled : {0, 1}) {
    cases.push_back({"isobit.Adam",
                     {x, x, x, positive({7}), rate(), rate(), rate(), positive({})},
                     {{"weight_decay", 0.01}, {"decoupled", decoupled}}});
  }
}

}  // namespace

const std::vector<OperatorCase>& operator_cases() {
  static const Cases kCases = [] {
    Cases cases;
    add_elementwise(cases);
    add_linear(cases);
    add_movement(cases);
    add_reduce(cases);
    add_norm(cases);
    add_softmax(cases);
    add_pool(cases);
    add_optimizer(cases);
    add_reductions_cases(cases);
    add_control_cases(cases);
    add_elementwise_cases(cases);
    add_windows_cases(cases);
    add_composite_cases(cases);
    return cases;
  }();
  return kCases;
}

std::string name_of_case(const ::testing::TestParamInfo<OperatorCase>& info) {
  std::string name = info.param.op + "_" + std::to_string(info.index);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

namespace {

Tensor numbers_of(const CaseOperand& o) {
  Tensor t(o.dtype, Shape(o.dims));
  by_type(IntegerTypes{}, o.dtype, [&]<class T>(T) {
    for (int64_t i = 0; i < t.elements(); ++i) t.data<T>()[i] = static_cast<T>(o.given[static_cast<size_t>(i)]);
  });
  return t;
}

Tensor truths_of(const CaseOperand& o, uint64_t seed) {
  Tensor t(DType::kBool, Shape(o.dims));
  for (int64_t i = 0; i < t.elements(); ++i) {
    static_cast<uint8_t*>(t.raw())[i] = static_cast<uint8_t>((seed + static_cast<uint64_t>(i)) % 2);
  }
  return t;
}

// Of both signs: most between 2^-44 and 2^20, where functions have their branches, some over the range of the type,
// some evenly over that of the exponential function.
Tensor wide_of(const CaseOperand& o, DType dtype, std::mt19937_64& random) {
  Tensor t(dtype, Shape(o.dims));
  const bool doubled = dtype == DType::kFloat64;
  const uint64_t most = doubled ? 1000 : 120;
  for (int64_t i = 0; i < t.elements(); ++i) {
    const uint64_t bits = random(), place = random();
    const double fraction = static_cast<double>(bits >> 12) * 0x1p-52;
    const int exponent =
        i % 8 == 7 ? static_cast<int>(place % (2 * most)) - static_cast<int>(most) : static_cast<int>(place % 64) - 44;
    double x = i % 8 == 6 ? fraction * (doubled ? 800 : 110) : std::ldexp(1 + fraction, exponent);
    if (bits % 2 == 0) x = -x;
    if (doubled) {
      t.data<double>()[i] = x;
    } else {
      t.data<float>()[i] = static_cast<float>(x);
    }
  }
  return t;
}

}  // namespace

Tensor values_of(const CaseOperand& o, DType dtype, uint64_t seed) {
  if (o.kind == Kind::kGiven || o.kind == Kind::kParameter) return Tensor::of<int64_t>(Shape(o.dims), o.given);
  if (o.kind == Kind::kAbsent) return Tensor::scalar(int64_t{0});
  if (o.kind == Kind::kNumbers) return numbers_of(o);
  if (o.kind == Kind::kBool) return truths_of(o, seed);
  std::mt19937_64 random(seed);
  if (o.kind == Kind::kRate) return Tensor::scalar(0x1p-53 * static_cast<double>(random() >> 11));
  if (o.kind == Kind::kTruth) {
    Tensor t(DType::kBool, Shape(o.dims));
    for (bool& x : t.span<bool>()) x = random() % 2 != 0;
    return t;
  }
  if (o.kind == Kind::kByte) {
    Tensor t(o.dtype, Shape(o.dims));
    for (size_t i = 0; i < t.bytes(); ++i) {
      static_cast<uint8_t*>(t.raw())[i] = static_cast<uint8_t>(random() % static_cast<uint64_t>(o.below));
    }
    return t;
  }
  if (o.kind == Kind::kIndex || o.kind == Kind::kInteger) {
    Tensor t(DType::kInt64, Shape(o.dims));
    const int64_t from = o.given.empty() ? 0 : o.given[0];
    for (int64_t& x : t.span<int64_t>()) x = from + static_cast<int64_t>(random() % static_cast<uint64_t>(o.below));
    return t;
  }
  if (o.kind == Kind::kWide) return wide_of(o, dtype, random);
  Tensor t(dtype, Shape(o.dims));
  double before = 0;
  for (int64_t i = 0; i < t.elements(); ++i) {
    // 20 bits by chance and the place: no magnitude comes twice, and float32 holds them all.
    double x = (static_cast<double>(random() >> 44) * 8 + static_cast<double>(i % 8)) * 0x1p-22 + 0.0625;
    x += static_cast<double>(i / 8) * 0x1p-3;
    if (o.kind != Kind::kPositive && random() % 2 == 0) x = -x;
    if (o.kind == Kind::kSpecial && random() % 4 == 0) x = random() % 2 == 0 ? NAN : std::copysign(INFINITY, x);
    if (o.kind == Kind::kTwice && i % 2 == 1) x = before;
    before = x;
    if (dtype == DType::kFloat32) t.data<float>()[i] = static_cast<float>(x);
    if (dtype == DType::kFloat64) t.data<double>()[i] = x;
  }
  return t;
}

OneOperator::OneOperator(const OperatorCase& c, DType dtype, uint64_t seed) {
  std::vector<graph::ValueId> ids;
  for (const CaseOperand& o : c.operands) {
    feeds.push_back(values_of(o, dtype, seed * 1000 + feeds.size()));
    ids.push_back(graph.add_input("input", feeds.back().dtype(), o.dims));
    if (o.kind == Kind::kAbsent) ids.back() = graph::kNoValue;
  }
  // As many outputs as this use of the operator has: an optional buffer that is not there is not updated.
  const graph::OpDef* found = graph::find_op(c.op);
  ISOBIT_CHECK(found != nullptr);
  const size_t operands = c.operands.size();
  const int all = found->updates_state && operands < 4 ? 1 : found->max_outputs, outputs = c.outputs ? c.outputs : all;
  std::vector<std::string> names(static_cast<size_t>(outputs), "output");
  for (graph::ValueId id : graph.emit_all(c.op, ids, c.attributes, names)) graph.add_output(id);
}

std::vector<Tensor> OneOperator::run(const kernels::KernelContext& ctx) const {
  Executor::Feeds fresh;
  for (size_t i = 0; i < feeds.size(); ++i) fresh.emplace_back(graph.inputs()[i], feeds[i].clone());
  return Executor(graph).run(ctx, std::move(fresh)).value();
}

}  // namespace isobit::runtime
