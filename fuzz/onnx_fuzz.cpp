// An ONNX model as a stranger may write it: read, surveyed, imported and, where that succeeds, run, and written and
// read again, within small limits. The mutator knows what a model is (onnx_mutator.h).
#include <algorithm>
#include <chrono>

#include "isobit/base/thread_pool.h"
#include "isobit/onnx/encode.h"
#include "isobit/onnx/export.h"
#include "isobit/onnx/import.h"
#include "isobit/runtime/executor.h"

#ifdef ISOBIT_LIBFUZZER
#include "fuzz/onnx_mutator.h"
#include "isobit/onnx/full_schema.pb.h"
#endif

using namespace isobit;
using namespace isobit::onnx;

namespace {

constexpr int64_t kMostNodes = 200;
constexpr uint64_t kMostTensor = 16 << 10, kMostTotal = 4 << 20;

// Ends a run that takes too long: what a limit does not bound, time does.
class Clock final : public runtime::Observer {
 public:
  Status after_stage(const runtime::NodeRun&) override {
    if (std::chrono::steady_clock::now() < end_) return {};
    return unreadable("node: out of time");
  }

 private:
  const std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(5);
};

// Small numbers, some of them negative.
Tensor numbers(DType dtype, const Shape& shape) {
  Tensor tensor = Tensor::zeros(dtype, shape);
  const auto fill = [&]<class T>(T) {
    for (int64_t i = 0; i < tensor.elements(); ++i) tensor.data<T>()[i] = static_cast<T>(i % 7 - (i % 3));
  };
  if (!by_type(NumberTypes{}, dtype, fill)) {
    for (size_t i = 0; i < tensor.bytes(); i += 2) static_cast<uint8_t*>(tensor.raw())[i] = 1;
  }
  return tensor;
}

void run(const graph::Graph& graph) {
  runtime::Executor::Feeds feeds;
  uint64_t fed = 0;
  for (const graph::ValueId input : graph.inputs()) {
    const graph::Value& value = graph.value(input);
    std::vector<int64_t> dims = value.has_rank() ? value.dims : std::vector<int64_t>{};
    for (int64_t& d : dims) d = d < 0 ? 2 : d;
    const auto extents = checked_extents(dims, value.dtype, kMostTensor);
    if (!extents || (fed += static_cast<uint64_t>(*extents)) > kMostTensor) return;
    feeds.emplace_back(input, numbers(value.dtype, Shape(dims)));
  }
  ThreadPool pool(1);
  Clock clock;
  runtime::Executor executor(graph, runtime::kernel_table(),
                             {.tensor_bytes = kMostTensor, .total_bytes = kMostTotal, .trips = 20});
  const auto outputs = executor.run({kernels::Isa::kPortable, &pool}, std::move(feeds), {.observer = &clock});
  if (outputs) {
    ISOBIT_CHECK(outputs->size() == graph.outputs().size());
  } else {
    // Whoever is wrong is named.
    const std::string& message = outputs.error().message;
    ISOBIT_CHECK(outputs.error().code == ErrorCode::kUnreadable);
    ISOBIT_CHECK(message.find("node") != message.npos || message.find("input") != message.npos ||
                 message.find("the graph needs") != message.npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const LoadOptions limits = {
      .max_file_bytes = 1 << 20, .max_message_bytes = 64 << 20, .max_tensor_bytes = 16 << 20, .max_depth = 100};
  const auto model = decode_model({data, size}, "input", limits);
  if (!model) {
    ISOBIT_CHECK(model.error().code == ErrorCode::kUnreadable);
    return 0;
  }
  (void)unsupported_operators(*model);
  (void)summary_of(*model);
  const auto imported = import_model(*model, {.max_nodes = 2000, .max_depth = 16, .max_bytes = 16 << 20});
  if (!imported) {
    ISOBIT_CHECK(imported.error().message.starts_with("input: "));
    return 0;
  }
  ISOBIT_CHECK(imported->graph.outputs().size() == model->graph.outputs.size());
  if (static_cast<int64_t>(imported->graph.nodes().size()) <= kMostNodes) run(imported->graph);
  // Whatever ONNX has of it.
  if (const auto exported = export_model(imported->graph, {})) {
    const auto encoded = encode_model(*exported);
    ISOBIT_CHECK(encoded && decode_model(encoded->whole_file(), "again"));
  }
  return 0;
}

#ifdef ISOBIT_LIBFUZZER
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

// What was written; 0 where it is too long.
size_t written(const full::ModelProto& model, uint8_t* to, size_t max_size) {
  const std::string bytes = model.SerializePartialAsString();
  if (bytes.size() > max_size) return 0;
  std::copy(bytes.begin(), bytes.end(), to);
  return bytes.size();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // the mutator writes names that are no text, on purpose
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  full::ModelProto model;
  // One in ten is changed as bytes, so that the decoder has its share.
  if (seed % 10 == 0 || !model.ParsePartialFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  fuzz::OnnxMutator mutator(seed);
  for (unsigned i = 0; i < 1 + seed % 3; ++i) mutator.mutate(model, model);
  const size_t length = written(model, data, max_size);
  return length > 0 ? length : LLVMFuzzerMutate(data, size, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data, size_t size, const uint8_t* other, size_t other_size,
                                            uint8_t* out, size_t max_size, unsigned seed) {
  full::ModelProto model, from;
  if (!model.ParsePartialFromArray(data, static_cast<int>(size)) ||
      !from.ParsePartialFromArray(other, static_cast<int>(other_size))) {
    return 0;
  }
  fuzz::OnnxMutator mutator(seed);
  for (int i = 0; i < 4; ++i) mutator.mutate(model, from);
  return written(model, out, max_size);
}
#endif
