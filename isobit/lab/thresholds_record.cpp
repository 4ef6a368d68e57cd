// What each platform does for a calibration, and how it comes out of its child process.
#include <set>

#include "isobit/base/fp_env.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/kernels/vendor/child.h"
#include "isobit/lab/thresholds.h"
#include "isobit/numerics/philox.h"
#include "isobit/run/network.h"
#include "isobit/runtime/stages/inner_product.h"
#include "isobit/train/trainer.h"

namespace isobit::lab {
namespace {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::ValueId;

constexpr int kMostSeconds = 1000000;
constexpr uint64_t kMostBytes = uint64_t{4} << 30;

// What tells two products of a graph apart, but for the numbers in them.
std::string shape_of(const Graph& graph, const Node& node) {
  std::string text = node.op;
  for (ValueId id : node.inputs) text += id == kNoValue ? " -" : text_of(" ", graph.value(id).shape().text());
  for (const auto& [name, attribute] : node.attributes.items()) {
    text += text_of(" ", name, "=");
    if (const auto* one = std::get_if<int64_t>(&attribute)) text += text_of(*one);
    if (const auto* real = std::get_if<double>(&attribute)) text += text_of(*real);
    if (const auto* name_of = std::get_if<std::string>(&attribute)) text += *name_of;
    if (const auto* many = std::get_if<std::vector<int64_t>>(&attribute)) {
      for (int64_t v : *many) text += text_of(v, ",");
    }
  }
  return text;
}

// Standard normal numbers of the job's bits.
Tensor normal_numbers(const numerics::Stream& stream, uint64_t number, const std::vector<int64_t>& dims, int bits) {
  Tensor tensor(DType::kFloat64, Shape(dims));
  std::vector<float> narrow(static_cast<size_t>(tensor.elements()));
  numerics::fill_normal_f32(stream, number << 40, narrow.data(), tensor.elements());
  double* to = tensor.data<double>();
  for (float x : narrow) *to++ = kernels::rounding::round_to_bits(static_cast<double>(x), bits);
  return tensor;
}

// The product of one node, by itself, on normal numbers.
Status run_drawn(const Graph& graph, size_t index, uint64_t seed, uint64_t pass, const kernels::KernelContext& ctx,
                 ExactRounding& rounding, Calibration& calibration) {
  const Node& node = graph.nodes()[index];
  const numerics::Stream stream{seed, numerics::Purpose::kSyntheticData, static_cast<uint32_t>(pass)};
  Graph one;
  runtime::Executor::Feeds feeds;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) {
      inputs.push_back(kNoValue);
      continue;
    }
    const graph::Value& value = graph.value(node.inputs[i]);
    inputs.push_back(one.add_input(text_of("x", i), DType::kFloat64, value.dims));
    feeds.emplace_back(inputs.back(), normal_numbers(stream, index * 8 + i, value.dims, rounding.bits()));
  }
  one.add_output(one.emit(node.op, std::move(inputs), node.attributes, "y"));
  calibration.begin(pass, index);
  return runtime::Executor(one)
      .run(ctx, std::move(feeds), {.observer = &calibration, .stage = &rounding})
      .map([](auto&&) {});
}

void write(ByteWriter& w, const CalibrationRecord& r) {
  w.u64(r.pass);
  w.u32(r.node);
  w.i64(r.k);
  w.u64(r.outputs);
  w.u64(r.operands);
  w.u64(r.samples.size());
  for (const CalibrationSample& s : r.samples) {
    w.u64(s.position);
    for (double x : {s.value, s.magnitude, s.exact.high, s.exact.low}) w.f64(x);
  }
  w.u64(r.ties.size());
  for (const CalibrationTie& t : r.ties) {
    w.u64(t.position);
    w.f64(t.value);
  }
}

Expected<CalibrationRecord> read(ByteReader& r) {
  CalibrationRecord record;
  ISOBIT_TRY(record.pass, r.u64("pass"));
  ISOBIT_TRY(record.node, r.u32("node"));
  ISOBIT_TRY(record.k, r.i64("k"));
  ISOBIT_TRY(record.outputs, r.u64("outputs"));
  ISOBIT_TRY(record.operands, r.u64("operands"));
  ISOBIT_TRY(const uint64_t samples, r.u64("samples"));
  for (uint64_t n = 0; n < samples; ++n) {
    CalibrationSample s;
    ISOBIT_TRY(s.position, r.u64("position"));
    for (double* x : {&s.value, &s.magnitude, &s.exact.high, &s.exact.low}) {
      ISOBIT_TRY(*x, r.f64("sample"));
    }
    record.samples.push_back(s);
  }
  ISOBIT_TRY(const uint64_t ties, r.u64("ties"));
  for (uint64_t n = 0; n < ties; ++n) {
    CalibrationTie t;
    ISOBIT_TRY(t.position, r.u64("position"));
    ISOBIT_TRY(t.value, r.f64("value"));
    record.ties.push_back(t);
  }
  return record;
}

}  // namespace

Expected<std::vector<CalibrationRecord>> record_inner_products(const ThresholdsRequest& request,
                                                               std::shared_ptr<const data::Dataset> dataset,
                                                               const platform::Platform& platform) {
  train::Job job = request.job;
  job.arithmetic = "logged-1";
  platform::Engine engine(platform);
  ISOBIT_TRY(auto network, run::open_network(job, {}));
  ISOBIT_TRY(const auto trainer,
             train::Trainer::create(job, std::move(dataset), engine, backends::native(), std::move(network)));
  ExactRounding rounding(static_cast<int>(job.rounding.bits));
  Calibration calibration(rounding, job.seed, request.samples);
  uint64_t pass = 0;
  while (trainer->step() < request.steps) {
    calibration.begin(++pass);
    ISOBIT_RETURN_IF_ERROR(trainer->advance({.observer = &calibration, .stage = &rounding}).map([](auto&&) {}));
  }
  const Graph& graph = trainer->step_graph().graph;
  for (int64_t draw = 0; draw < request.draws; ++draw) {
    ++pass;
    std::set<std::string> seen;
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
      const Node& node = graph.nodes()[n];
      if (!graph::op_of(node).is_inner_product() || !seen.insert(shape_of(graph, node)).second) continue;
      ISOBIT_RETURN_IF_ERROR(run_drawn(graph, n, job.seed, pass, trainer->context().kernels(), rounding, calibration));
    }
  }
  return calibration.records();
}

Expected<std::vector<CalibrationRecord>> record_in_child(const ThresholdsRequest& request,
                                                         std::shared_ptr<const data::Dataset> dataset,
                                                         const platform::Platform& platform) {
  auto work = [&]() -> Expected<Bytes> {
    pin_fp_environment();
    ISOBIT_TRY(const auto records, record_inner_products(request, dataset, platform));
    ByteWriter w;
    w.u64(records.size());
    for (const CalibrationRecord& record : records) write(w, record);
    return w.take();
  };
  ISOBIT_TRY(const Bytes bytes, kernels::vendor::run_in_child(text_of("platform '", platform.text(), "'"), work,
                                                              kMostSeconds, kMostBytes));
  ByteReader reader(bytes, text_of("records of ", platform.text()));
  ISOBIT_TRY(const uint64_t count, reader.u64("count"));
  std::vector<CalibrationRecord> records;
  for (uint64_t n = 0; n < count; ++n) {
    ISOBIT_TRY(CalibrationRecord record, read(reader));
    records.push_back(std::move(record));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return records;
}

}  // namespace isobit::lab
