// The network of a run as other tools open it.
#pragma once

#include <optional>
#include <string>

#include "isobit/data/data_shape.h"
#include "isobit/onnx/export.h"
#include "isobit/run/run_weights.h"

namespace isobit::run {

struct NetworkExportOptions {
  // Samples in a batch of the model's; nothing: any number, or where the network does not allow that as many as its
  // file is made for, or 1.
  std::optional<int64_t> batch = std::nullopt;
  int64_t opset = 0;  // onnx::ExportOptions::opset
  std::string producer_version = {};
};

struct ExportedNetwork {
  onnx::Model model;
  int64_t batch = 0;            // 0: any number, a dimension called "batch"
  std::string fixed_by{};       // why it is not, where any number was asked for
  bool has_only_batch = false;  // another number cannot be asked for
};

// The network in its form of inference with the parameters and buffers of `weights` in float32. Its output is the one
// that the network gives, of its own shape and type, and not what a loss makes of it. Determinism class: exact.
// REQUIRES make_ready(weights). Errors: as build_eval_graph and onnx::export_model; kUnreadable for a tensor that is
// missing or of another shape; kUsage for another batch than the only one of a network, or of a network from a file
// than those that its job root binds (train::committed_batches).
Expected<ExportedNetwork> exported_network(const Weights& weights, const data::DataShape& data,
                                           const NetworkExportOptions& options = {});

}  // namespace isobit::run
