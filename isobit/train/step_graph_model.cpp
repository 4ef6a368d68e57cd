#include <algorithm>
#include <functional>
#include <numeric>

#include "isobit/base/text.h"
#include "isobit/train/step_graph_model_internal.h"

namespace isobit::train {
namespace {

using data::TargetKind;

std::string name_of_kind(TargetKind kind) { return data::target_kind_names()[static_cast<size_t>(kind)]; }

// Whose labels tell apart classes, of a sample or of each of its tokens.
bool learns_classes(const Job& job) { return job.loss == Loss::kCrossEntropy; }

Status check_input(const std::string& builder, const data::DataShape& data) {
  if (data.inputs.size() != 1) {
    std::string names;
    for (const data::SampleInput& input : data.inputs) names += text_of(names.empty() ? "" : ", ", input.name);
    return unreadable(text_of("model.builder: '", builder, "' takes one input; dataset '", data.name, "' has ",
                              data.inputs.size(), " (", names, "); name one file of inputs"));
  }
  const data::SampleInput& input = data.inputs[0];
  const bool takes_tokens = models::traits_of(builder).takes_tokens;
  if (input.dtype == DType::kInt64 && !takes_tokens) {
    std::vector<std::string> fit;
    for (const std::string& name : models::builder_names()) {
      if (models::traits_of(name).takes_tokens) fit.push_back(text_of("'", name, "'"));
    }
    return unreadable(text_of("model.builder: '", builder, "' takes images; dataset '", data.name,
                              "' has token sequences (use ", join_or(fit), ")"));
  }
  // What is of another shape is refused by the network, which says the shape that it takes.
  const bool of_rank = !takes_tokens || input.shape.size() == 1;
  const DType wanted = takes_tokens ? DType::kInt64 : DType::kFloat32;
  if (of_rank && input.dtype != wanted) {
    return unreadable(text_of("model.builder: '", builder, "' takes ", name_of(wanted), "; dataset '", data.name,
                              "' has samples of type ", name_of(input.dtype), "; convert them"));
  }
  return {};
}

// Builders have an output for each class, or for each number of a target.
Status check_target(const Job& job, const data::DataShape& data) {
  const std::string& builder = job.model.builder;
  const data::SampleInput& input = data.inputs[0];
  const bool takes_tokens = models::traits_of(builder).takes_tokens;
  if (takes_tokens && input.shape.size() != 1) return {};  // the network says so
  if (takes_tokens && !learns_classes(job)) {
    return unreadable(text_of("model.loss: '", builder, "' learns the next token, a class; expected cross-entropy"));
  }
  const data::Target& target = data.target;
  const TargetKind learnt = takes_tokens ? TargetKind::kClassPerToken : TargetKind::kClass;
  if (!learns_classes(job)) return {};  // the loss looks at its target itself
  if (target.kind == learnt && (!takes_tokens || target.shape == input.shape)) return {};
  return unreadable(text_of("model.builder: '", builder, "' learns targets of kind ", name_of_kind(learnt),
                            takes_tokens ? text_of(" of shape ", Shape(input.shape).text()) : "", "; dataset '",
                            data.name, "' has ", name_of_kind(target.kind), " of shape ", Shape(target.shape).text(),
                            "; see data.target"));
}

int64_t outputs_of(const Job& job, const data::Target& target) {
  if (learns_classes(job)) return target.classes;
  return std::max<int64_t>(1, Shape(target.shape).elements());
}

}  // namespace

bool feeds_target(const Job& job, const data::DataShape& data) {
  return job.loss == Loss::kOutput && data.target.kind != TargetKind::kNone;
}

Expected<models::Model> model_for(const Job& job, const data::DataShape& data, int64_t batch, bool training,
                                  const models::Network& network) {
  models::ModelConfig config = job.model;
  if (!models::traits_of(config.builder).is_file) {
    ISOBIT_RETURN_IF_ERROR(check_input(config.builder, data));
    ISOBIT_RETURN_IF_ERROR(check_target(job, data));
    config.input_shape = data.inputs[0].shape;
  }
  for (const data::SampleInput& input : data.inputs)
    config.inputs.push_back({input.name, input.dtype, input.shape, false});
  if (feeds_target(job, data)) config.inputs.push_back({"target", data.target.dtype, data.target.shape, true});
  config.batch = batch;
  config.classes = outputs_of(job, data.target);
  config.training = training;
  config.seed = job.seed;
  ISOBIT_TRY(models::Model model, network.build(config));
  ISOBIT_CHECK(model.inputs.size() == config.inputs.size());
  return model;
}

}  // namespace isobit::train
