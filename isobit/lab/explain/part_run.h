// Parts of a model, run on a platform of this machine by the one executor.
//
// Determinism class: that of the platform.
#pragma once

#include "isobit/backends/backend.h"
#include "isobit/lab/explain/cut.h"
#include "isobit/lab/inference.h"
#include "isobit/lab/records/record.h"

namespace isobit::lab::explain {

using Feeds = std::map<std::string, Tensor>;  // by name

// What a record's field "arithmetic" says, or else float32.
std::string arithmetic_of(const records::PlatformRecord& record);

// A part and what it is fed: all of its inputs.
struct PartCall {
  const onnx::Model* model = nullptr;
  const Feeds* feeds = nullptr;
};

// The graph of a part for what it is fed: every shape is known, and what follows from shapes is computed. Its inputs
// are onnx::needed_inputs() of the part. kUnreadable for what cannot be imported.
Expected<graph::Graph> graph_of(const PartCall& call);

// The part's outputs, in its order. `backend` runs it, within `limits`. Errors: graph_of; as platform::Engine.
Expected<std::vector<Tensor>> run_part(const PartCall& call, platform::Engine& engine, const std::string& arithmetic,
                                       backends::Backend& backend = backends::native(),
                                       const runtime::Limits& limits = {});

// Each call in one fresh process, one after another: hashes of their outputs. A call that fails has its words in their
// place. Errors: the process's (kernels/vendor/child.h), where nothing at all came of it.
struct PartResult {
  std::vector<records::Hash128> outputs;
  std::string error;
};
Expected<std::vector<PartResult>> run_parts_in_child(const std::vector<PartCall>& calls,
                                                     const platform::Platform& platform, const std::string& arithmetic,
                                                     backends::Backend& backend = backends::native());

// The tensors of these names, in one fresh process on that platform: inputs of the model are those of the request,
// given or drawn; other values are computed from them, within the limits of the request. `model` was loaded from
// request.model. kUnavailable where they are more than `most` bytes; kUnreadable beyond the limits.
Expected<Feeds> values_in_child(const InferenceRequest& request, const onnx::Model& model,
                                const std::vector<std::string>& names, const platform::Platform& platform,
                                const std::string& arithmetic, uint64_t most,
                                backends::Backend& backend = backends::native());

// Tensors by name, as one process hands them to another. kUnreadable: they are not that.
Bytes encode(const Feeds& feeds);
Expected<Feeds> decode_feeds(ByteView bytes, const std::string& what);

records::Hash128 hash_of(const Tensor& tensor);

}  // namespace isobit::lab::explain
