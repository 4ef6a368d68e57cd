#include "isobit/lab/explain/part_run.h"

#include <algorithm>

#include "isobit/base/fp_env.h"
#include "isobit/base/text.h"
#include "isobit/base/thread_pool.h"
#include "isobit/kernels/vendor/child.h"
#include "isobit/lab/records/encoding.h"
#include "isobit/onnx/import.h"
#include "isobit/runtime/promises.h"
#include "isobit/runtime/specialise.h"
#include "isobit/runtime/stages/inner_product.h"

namespace isobit::lab::explain {
namespace {

constexpr int kPartSeconds = 300;  // of one process
constexpr uint64_t kMaxPartWords = 4096;

Bytes encode(const std::vector<PartResult>& results) {
  ByteWriter w;
  w.u64(results.size());
  for (const PartResult& r : results) {
    w.text(r.error.substr(0, kMaxPartWords));
    w.u64(r.outputs.size());
    for (const records::Hash128& hash : r.outputs) {
      w.u64(hash.high);
      w.u64(hash.low);
    }
  }
  return w.take();
}

Expected<std::vector<PartResult>> decode(ByteView bytes, size_t calls, const std::string& what) {
  ByteReader reader(bytes, what);
  ISOBIT_TRY(const uint64_t count, reader.u64("calls"));
  if (count != calls) return reader.fail("calls", "another number than was asked for");
  std::vector<PartResult> results(calls);
  for (PartResult& r : results) {
    ISOBIT_TRY(r.error, reader.text("error", kMaxPartWords));
    ISOBIT_TRY(const uint64_t outputs, reader.u64("outputs"));
    for (uint64_t o = 0; o < outputs; ++o) {
      records::Hash128 hash;
      ISOBIT_TRY(hash.high, reader.u64("hash"));
      ISOBIT_TRY(hash.low, reader.u64("hash"));
      r.outputs.push_back(hash);
    }
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return results;
}

PartResult result_of(const PartCall& call, platform::Engine& engine, const std::string& arithmetic,
                     backends::Backend& backend) {
  PartResult result;
  const auto outputs = run_part(call, engine, arithmetic, backend);
  if (!outputs) {
    result.error = outputs.error().message;
    return result;
  }
  for (const Tensor& tensor : *outputs) result.outputs.push_back(hash_of(tensor));
  return result;
}

}  // namespace

Bytes encode(const Feeds& feeds) {
  ByteWriter w;
  w.u64(feeds.size());
  for (const auto& [name, tensor] : feeds) {
    w.text(name);
    w.u8(static_cast<uint8_t>(tensor.dtype()));
    w.u64(tensor.shape().dims().size());
    for (const int64_t extent : tensor.shape().dims()) w.i64(extent);
    w.bytes({static_cast<const uint8_t*>(tensor.raw()), tensor.bytes()});
  }
  return w.take();
}

Expected<Feeds> decode_feeds(ByteView bytes, const std::string& what) {
  ByteReader reader(bytes, what);
  Feeds feeds;
  ISOBIT_TRY(const uint64_t count, reader.u64("tensors"));
  for (uint64_t t = 0; t < count; ++t) {
    ISOBIT_TRY(std::string name, reader.text("name", records::kMaxText));
    ISOBIT_TRY(const uint8_t type, reader.u8("type"));
    const auto dtype = dtype_of_number(type);
    if (!dtype) return reader.fail("type", "no type of ours");
    ISOBIT_TRY(const uint64_t rank, reader.u64("rank"));
    std::vector<int64_t> dims;
    for (uint64_t d = 0; d < rank; ++d) {
      ISOBIT_TRY(const int64_t extent, reader.i64("extent"));
      dims.push_back(extent);
    }
    ISOBIT_TRY(const ByteView data, reader.bytes("data", UINT64_MAX));
    if (!checked_elements(dims, *dtype, data.size())) return reader.fail("data", "too short for its dimensions");
    Tensor tensor(*dtype, Shape(dims));
    if (tensor.bytes() != data.size()) return reader.fail("data", "another length than its dimensions");
    std::copy(data.begin(), data.end(), static_cast<uint8_t*>(tensor.raw()));
    feeds.emplace(std::move(name), std::move(tensor));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return feeds;
}

records::Hash128 hash_of(const Tensor& tensor) {
  return records::hash_of({static_cast<const uint8_t*>(tensor.raw()), tensor.bytes()});
}

std::string arithmetic_of(const records::PlatformRecord& record) {
  const auto said = record.fields.find("arithmetic");
  return said != record.fields.end() && platform::find_arithmetic(said->second) != nullptr ? said->second : "float32";
}

Expected<graph::Graph> graph_of(const PartCall& call) {
  onnx::ImportOptions options;
  std::vector<Shape> shapes;
  for (const onnx::ValueDef& input : onnx::needed_inputs(*call.model)) {
    const auto fed = call.feeds->find(input.name);
    if (fed == call.feeds->end()) return unreadable(text_of(call.model->file, ": nothing to feed '", input.name, "'"));
    options.shapes[input.name] = fed->second.shape().dims();
    shapes.push_back(fed->second.shape());
  }
  ISOBIT_TRY(const onnx::Imported imported, onnx::import_model(*call.model, options));
  return runtime::specialise(imported.graph, shapes);
}

Expected<std::vector<Tensor>> run_part(const PartCall& call, platform::Engine& engine, const std::string& arithmetic,
                                       backends::Backend& backend, const runtime::Limits& limits) {
  ISOBIT_TRY(const platform::Arithmetic* chosen, platform::named_arithmetic(arithmetic));
  ISOBIT_TRY(const platform::Context context, engine.context_for(*chosen));
  ISOBIT_TRY(const graph::Graph graph, graph_of(call));
  ISOBIT_RETURN_IF_ERROR(runtime::check_promises(graph, *chosen));
  ISOBIT_RETURN_IF_ERROR(runtime::check_terms(graph, *chosen));
  ISOBIT_TRY(const auto program, backend.compile(graph, context, limits));
  std::vector<backends::Program::Feed> feeds;
  for (const onnx::ValueDef& input : onnx::needed_inputs(*call.model)) {
    feeds.emplace_back(graph.inputs()[feeds.size()], call.feeds->at(input.name));
  }
  std::vector<Tensor> outputs(graph.outputs().size());
  ISOBIT_RETURN_IF_ERROR(program->run(feeds, outputs));
  return outputs;
}

Expected<std::vector<PartResult>> run_parts_in_child(const std::vector<PartCall>& calls,
                                                     const platform::Platform& platform, const std::string& arithmetic,
                                                     backends::Backend& backend) {
  const auto work = [&]() -> Expected<Bytes> {
    pin_fp_environment();
    platform::Engine engine(platform);
    std::vector<PartResult> results;
    for (const PartCall& call : calls) results.push_back(result_of(call, engine, arithmetic, backend));
    return encode(results);
  };
  const std::string what = text_of("replay on ", platform.text());
  ISOBIT_TRY(const Bytes bytes, kernels::vendor::run_in_child(what, work, kPartSeconds, uint64_t{64} << 20));
  return decode(bytes, calls.size(), what);
}

Expected<Feeds> values_in_child(const InferenceRequest& request, const onnx::Model& model,
                                const std::vector<std::string>& names, const platform::Platform& platform,
                                const std::string& arithmetic, uint64_t most, backends::Backend& backend) {
  const auto work = [&]() -> Expected<Bytes> {
    pin_fp_environment();
    platform::Engine engine(platform);
    ThreadPool pool(1);
    // Drawn for the model as a whole.
    ISOBIT_TRY(const std::vector<NamedTensor> whole, inputs_of(request, model, pool));
    Feeds inputs, wanted;
    for (const NamedTensor& input : whole) inputs.emplace(input.name, input.tensor);
    std::vector<std::string> computed;
    for (const std::string& name : names) {
      const auto given = inputs.find(name);
      if (given == inputs.end())
        computed.push_back(name);
      else
        wanted.insert(*given);
    }
    if (!computed.empty()) {
      ISOBIT_TRY(const Part part, cut(model, computed, {}, SIZE_MAX));
      runtime::Limits limits;
      limits.total_bytes = std::min(limits.total_bytes, request.max_memory - std::min(request.max_memory, model.bytes));
      limits.tensor_bytes = std::min({limits.tensor_bytes, request.max_tensor, request.max_memory});
      limits.trips = request.max_trips;
      ISOBIT_TRY(const auto outputs, run_part({&part.model, &inputs}, engine, arithmetic, backend, limits));
      for (size_t i = 0; i < computed.size(); ++i) wanted.emplace(computed[i], outputs[i]);
    }
    uint64_t bytes = 0;
    for (const auto& [name, tensor] : wanted) bytes += tensor.bytes();
    if (bytes > most) {
      return unavailable(
          text_of("the inputs of what is to be replayed are ", human_bytes(bytes), ", more than ", human_bytes(most)));
    }
    return encode(wanted);
  };
  const std::string what = text_of("inputs of a replay on ", platform.text());
  // Names and dimensions beside the tensors.
  ISOBIT_TRY(const Bytes bytes, kernels::vendor::run_in_child(what, work, kPartSeconds, most + (uint64_t{64} << 20)));
  return decode_feeds(bytes, what);
}

}  // namespace isobit::lab::explain
