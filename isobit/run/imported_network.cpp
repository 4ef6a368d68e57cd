#include "isobit/run/imported_network.h"

#include <algorithm>
#include <numeric>

#include "isobit/base/text.h"
#include "isobit/runtime/specialise.h"

namespace isobit::run {
namespace {

using models::ModelInput;
using onnx::ValueDef;

// Of a float initializer: what is smaller stays with the network, so that constants are at hand.
constexpr uint64_t kMostKeptBytes = 64 << 10;
constexpr size_t kNone = SIZE_MAX;
constexpr size_t kNamesShown = 6;

template <class Values>
std::string names_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto& value : values) names.push_back(value.name);
  return join_quoted(names, kNamesShown);
}

// The extent of the first axis that the file says; 0: it leaves it open.
int64_t fixed_batch(const std::vector<ValueDef>& inputs) {
  for (const ValueDef& input : inputs) {
    if (input.type.has_shape && !input.type.dims.empty() && input.type.dims[0].extent > 0) {
      return input.type.dims[0].extent;
    }
  }
  return 0;
}

models::Init given() { return {models::Init::Kind::kGiven, 0}; }

void add_remarks(const onnx::Imported& imported, models::Model& model) {
  const auto say = [&](const std::vector<std::string>& names, std::string_view what) {
    if (!names.empty()) model.remarks.push_back(text_of(what, join_quoted(names, kNamesShown)));
  };
  say(imported.report.batch_norms, "batch norm by the statistics of the batch: ");
  say(imported.report.dropouts, "dropout as in training: ");
  for (const auto& [node, reason] : imported.report.inference) {
    model.remarks.push_back(text_of("'", node, "' stays as in inference: ", reason));
  }
  say(imported.constants, "numbers of the file that stay constant: ");
}

}  // namespace

ImportedNetwork::ImportedNetwork(fs::path file, std::string output, onnx::LoadOptions load, onnx::Model model)
    : file_(std::move(file)),
      output_(std::move(output)),
      load_(load),
      model_(std::move(model)),
      inputs_(onnx::needed_inputs(model_, {output_})),
      only_batch_(fixed_batch(inputs_)) {}

Expected<std::shared_ptr<const models::Network>> ImportedNetwork::open(const fs::path& file,
                                                                       const std::vector<std::string>& outputs,
                                                                       const Limits& limits) {
  const onnx::LoadOptions load = onnx::load_options_within(limits.max_memory);
  ISOBIT_TRY(onnx::Model model, onnx::load_model(file, load));
  if (model.graph.outputs.empty()) return unreadable(text_of(file.string(), ": the graph has no outputs"));
  const std::string output = outputs.empty() ? model.graph.outputs[0].name : outputs[0];
  if (std::ranges::find(model.graph.outputs, output, &ValueDef::name) == model.graph.outputs.end()) {
    return unreadable(text_of("model.outputs: ", file.string(), " has no output '", output, "', but ",
                              names_of(model.graph.outputs)));
  }
  onnx::lift_weights(model);
  // Messages hold the data once more until they are taken apart.
  const auto bytes = static_cast<uint64_t>(onnx::summary_of(model).bytes);
  onnx::drop_weights(model, kMostKeptBytes);
  std::shared_ptr<ImportedNetwork> network(new ImportedNetwork(file, output, load, std::move(model)));
  network->given_bytes_ = 2 * bytes;
  return network;
}

Expected<std::vector<size_t>> ImportedNetwork::matched(const models::ModelConfig& config) const {
  std::vector<size_t> places(inputs_.size(), kNone);
  std::vector<size_t> free;  // inputs of a sample that no input of the file is named after
  for (size_t i = 0; i < config.inputs.size(); ++i) {
    const auto found = std::ranges::find(inputs_, config.inputs[i].name, &ValueDef::name);
    const auto place = static_cast<size_t>(found - inputs_.begin());
    // The target comes last: data that have an input of its name come first to it.
    if (found == inputs_.end() || places[place] != kNone) {
      free.push_back(i);
    } else {
      places[place] = i;
    }
  }
  const auto left = static_cast<size_t>(std::ranges::count(places, kNone));
  // One may have another name, and so may the target behind it, which the data do not name.
  const size_t targets = !free.empty() && config.inputs[free.back()].is_target ? 1 : 0;
  if (left != free.size() || free.size() > targets + 1) {
    return unreadable(text_of(file_.string(), ": for output '", output_, "' it takes ", names_of(inputs_),
                              "; the data have ", names_of(config.inputs),
                              "; name them alike (data.inputs), or choose another output (model.outputs)"));
  }
  size_t next = 0;
  for (size_t& place : places) {
    if (place == kNone) place = free[next++];
  }
  return places;
}

Status ImportedNetwork::fit_input(const ValueDef& wanted, const ModelInput& found, int64_t batch,
                                  onnx::ImportOptions& options) const {
  std::vector<int64_t> dims = {batch};
  dims.insert(dims.end(), found.shape.begin(), found.shape.end());
  const auto misfit = [&](const std::string& why) {
    return unreadable(text_of(file_.string(), ": input '", wanted.name, "' is ", wanted.type.text(),
                              "; the data have '", found.name, "', ", name_of(found.dtype), " ", Shape(dims).text(),
                              why));
  };
  const auto& type = wanted.type;
  if (type.kind != onnx::TypeDef::Kind::kTensor) return misfit("");
  if (type.has_shape) {
    bool fits = type.dims.size() == dims.size();
    for (size_t axis = 1; fits && axis < dims.size(); ++axis) {
      fits = type.dims[axis].extent < 0 || type.dims[axis].extent == dims[axis];
    }
    if (!fits) return misfit("");
    if (type.dims[0].extent >= 0 && type.dims[0].extent != batch) {
      return misfit(text_of(": the file is made for batches of ", type.dims[0].extent, ", and a step takes ", batch,
                            "; set data.batch = ", type.dims[0].extent, ", or export it with an open batch"));
    }
  }
  options.shapes[wanted.name] = dims;
  const auto dtype = onnx::dtype_of_element(type.element);
  if (dtype == found.dtype) return {};
  if (!dtype || !RealTypes::contains(*dtype) || !RealTypes::contains(found.dtype)) return misfit("; convert the data");
  options.types[wanted.name] = found.dtype;
  return {};
}

Expected<onnx::ImportOptions> ImportedNetwork::options_for(const models::ModelConfig& config,
                                                           const std::vector<size_t>& places) const {
  onnx::ImportOptions options;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    ISOBIT_RETURN_IF_ERROR(fit_input(inputs_[i], config.inputs[places[i]], config.batch, options));
  }
  options.max_bytes = std::min(options.max_bytes, load_.max_tensor_bytes);
  options.outputs = {output_};
  options.opens_parameters = true;
  options.form.form = config.training ? onnx::Form::kTraining : onnx::Form::kInference;
  options.form.seed = config.seed;
  options.form.unbiased_variance = config.running_variance == models::RunningVariance::kUnbiased;
  options.form.keeps = [&config](const std::string& name) { return config.keeps_statistics(name, name); };
  return options;
}

Expected<models::Model> ImportedNetwork::build(const models::ModelConfig& config) const {
  ISOBIT_TRY(const std::vector<size_t> places, matched(config));
  ISOBIT_TRY(onnx::ImportOptions options, options_for(config, places));
  bool lacked_memory = false;
  options.lacked_memory = &lacked_memory;
  auto read = onnx::import_model(model_, options);
  // Under a limit of this process that is another thing to say than that the file is no network: job roots tell them
  // apart.
  if (!read && lacked_memory && options.max_bytes < onnx::ImportOptions().max_bytes) {
    return unavailable(std::move(read.error().message));
  }
  ISOBIT_TRY(onnx::Imported imported, std::move(read));
  models::Model model;
  add_remarks(imported, model);
  model.graph = std::move(imported.graph);
  if (!runtime::is_static(model.graph)) {
    std::vector<Shape> shapes;
    for (const graph::ValueId id : model.graph.inputs()) shapes.push_back(model.graph.value(id).shape());
    auto known = runtime::specialise(model.graph, shapes);
    if (!known) return unreadable(text_of(file_.string(), ": ", known.error().message));
    model.graph = *std::move(known);
  }
  const graph::Graph& g = model.graph;
  // Inputs of the file come first, in its order.
  model.inputs.assign(config.inputs.size(), graph::kNoValue);
  for (size_t i = 0; i < places.size(); ++i) model.inputs[places[i]] = g.inputs()[i];
  model.step = imported.step;
  for (const graph::ValueId id : imported.parameters) {
    model.parameters.push_back({g.value(id).name, id, given(), g.value(id).dims.size() >= 2});
  }
  for (const onnx::RunningStatistic& s : imported.statistics) {
    model.buffers.push_back({g.value(s.value).name, s.value, s.updated, given()});
  }
  model.output = model.graph.take_outputs()[0];
  return model;
}

Expected<std::vector<NamedTensor>> ImportedNetwork::given_values() const {
  ISOBIT_TRY(onnx::Model model, onnx::load_model(file_, load_));
  onnx::lift_weights(model);
  return onnx::take_weights(model);
}

}  // namespace isobit::run
