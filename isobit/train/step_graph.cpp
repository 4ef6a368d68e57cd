#include "isobit/train/step_graph.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/autograd/autograd.h"
#include "isobit/graph/passes/retype.h"
#include "isobit/runtime/promises.h"
#include "isobit/runtime/stages/inner_product.h"

namespace isobit::train {
namespace {

using graph::Attributes;
using graph::kNoValue;
using graph::ValueId;

// The networks of this program take one input and learn classes.
Status check_fit(const std::string& builder, const data::DataShape& data) {
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
  const data::Target& target = data.target;
  const data::TargetKind learnt = takes_tokens ? data::TargetKind::kClassPerToken : data::TargetKind::kClass;
  const bool fits = target.kind == learnt && (!takes_tokens || target.shape == input.shape);
  if (!of_rank || fits) return {};
  const auto name_of_kind = [](data::TargetKind kind) {
    return data::target_kind_names()[static_cast<size_t>(kind)];
  };
  return unreadable(text_of("model.builder: '", builder, "' learns targets of kind ", name_of_kind(learnt),
                            takes_tokens ? text_of(" of shape ", Shape(input.shape).text()) : "", "; dataset '",
                            data.name, "' has ", name_of_kind(target.kind), " of shape ", Shape(target.shape).text(),
                            "; see data.target"));
}

Expected<models::Model> model_for(const Job& job, const data::DataShape& data, int64_t batch, bool training) {
  ISOBIT_RETURN_IF_ERROR(check_fit(job.model.builder, data));
  models::ModelConfig config = job.model;
  config.batch = batch;
  config.input_shape = data.inputs[0].shape;
  config.classes = data.target.classes;
  config.training = training;
  config.seed = job.seed;
  return models::build_model(config);
}

// The optimizer's operators over every parameter.
class OptimizerStep {
 public:
  OptimizerStep(const Job& job, StepGraph& step) : job_(job), step_(step), graph_(step.graph) {
    step.lr = graph_.add_input("lr", DType::kFloat64, {});
    if (job.optimizer != Optimizer::kSgd) {
      step.beta1_power = graph_.add_input("beta1_power", DType::kFloat64, {});
      step.beta2_power = graph_.add_input("beta2_power", DType::kFloat64, {});
    }
  }

  void clip(const std::vector<ValueId>& grads) {
    if (job_.clip_norm == 0) return;
    const ValueId norm = graph_.emit("isobit.GlobalNorm", grads, {}, "global_norm");
    scale_ = graph_.emit("isobit.ClipFactor", {norm}, {{"max_norm", job_.clip_norm}}, "clip_factor");
  }

  void update(const models::Parameter& p, int64_t index, ValueId grad) {
    const double decay = p.decay ? job_.weight_decay : 0.0;
    if (job_.optimizer == Optimizer::kSgd) {
      sgd(p, index, grad, decay);
    } else {
      adam(p, index, grad, decay);
    }
  }

 private:
  // An optimizer state of the parameter's shape that starts at +0.
  ValueId companion(const models::Parameter& p, const char* kind) {
    return graph_.add_input(text_of(p.name, "/", kind), DType::kFloat32, graph_.value(p.value).dims);
  }
  void slot(const std::string& name, ValueId in, ValueId out, const models::Parameter* p, int64_t index) {
    step_.slots.push_back({name, in, out, p != nullptr ? p->init : models::Init{}, index});
  }

  void sgd(const models::Parameter& p, int64_t index, ValueId grad, double decay) {
    const bool momentum = job_.momentum != 0;
    const Attributes attributes = {
        {"momentum", job_.momentum}, {"weight_decay", decay}, {"nesterov", int64_t{job_.nesterov}}};
    const ValueId buffer = momentum ? companion(p, "momentum") : kNoValue;
    std::vector<std::string> names = {p.name + ".next"};
    if (momentum) names.push_back(p.name + "/momentum.next");
    const auto out = graph_.emit_all("isobit.Sgd", {p.value, grad, step_.lr, buffer, scale_}, attributes, names);
    slot(p.name, p.value, out[0], &p, index);
    if (momentum) slot(p.name + "/momentum", buffer, out[1], nullptr, -1);
  }

  void adam(const models::Parameter& p, int64_t index, ValueId grad, double decay) {
    const Attributes attributes = {{"beta1", job_.beta1},
                                   {"beta2", job_.beta2},
                                   {"epsilon", job_.epsilon},
                                   {"weight_decay", decay},
                                   {"decoupled", int64_t{job_.optimizer == Optimizer::kAdamW}}};
    const ValueId m = companion(p, "m"), v = companion(p, "v");
    const auto out =
        graph_.emit_all("isobit.Adam", {p.value, grad, m, v, step_.lr, step_.beta1_power, step_.beta2_power, scale_},
                        attributes, {p.name + ".next", p.name + "/m.next", p.name + "/v.next"});
    slot(p.name, p.value, out[0], &p, index);
    slot(p.name + "/m", m, out[1], nullptr, -1);
    slot(p.name + "/v", v, out[2], nullptr, -1);
  }

  const Job& job_;
  StepGraph& step_;
  graph::Graph& graph_;
  ValueId scale_ = kNoValue;
};

}  // namespace

Expected<StepGraph> build_step_graph(const Job& job, const data::DataShape& data) {
  ISOBIT_TRY(models::Model model, model_for(job, data, job.batch, true));
  StepGraph step;
  step.graph = std::move(model.graph);
  graph::Graph& g = step.graph;
  step.inputs = {model.input};
  step.step = model.step;
  step.target = g.add_input("labels", DType::kInt64, {g.value(model.logits).dims[0]});
  const ValueId loss = g.emit_all("isobit.CrossEntropy", {model.logits, step.target}, {},
                                  {"loss", "row_loss", "row_max", "row_log_sum"})[0];
  std::vector<ValueId> parameters;
  for (const models::Parameter& p : model.parameters) parameters.push_back(p.value);
  ISOBIT_TRY(const std::vector<ValueId> grads, graph::append_gradients(g, loss, parameters));

  OptimizerStep optimizer(job, step);
  optimizer.clip(grads);
  for (size_t i = 0; i < model.parameters.size(); ++i) {
    ISOBIT_CHECK(grads[i] != kNoValue);
    optimizer.update(model.parameters[i], static_cast<int64_t>(i), grads[i]);
  }
  for (const models::Buffer& b : model.buffers) {
    step.slots.push_back({b.name, b.value, b.updated, {models::Init::Kind::kConstant, b.initial}, -1});
  }
  g.add_output(loss);
  for (const StateSlot& slot : step.slots) g.add_output(slot.out);
  if (arithmetic_of(job).computes_in == DType::kFloat64) {
    ISOBIT_TRY(step.graph, graph::retype(g, graph::kInFloat64));
  }
  ISOBIT_RETURN_IF_ERROR(runtime::check_promises(step.graph, arithmetic_of(job)));
  ISOBIT_RETURN_IF_ERROR(runtime::check_terms(step.graph, arithmetic_of(job)));
  return step;
}

Expected<StepGraph> build_step_graph(const Job& job, const data::Dataset& dataset) {
  return build_step_graph(job, data::shape_of(dataset));
}

Expected<EvalGraph> build_eval_graph(const Job& job, const data::DataShape& data, int64_t batch) {
  ISOBIT_TRY(models::Model model, model_for(job, data, batch, false));
  EvalGraph eval{std::move(model.graph), {model.input}, kNoValue, batch, {}};
  graph::Graph& g = eval.graph;
  eval.target = g.add_input("labels", DType::kInt64, {g.value(model.logits).dims[0]});
  const auto losses = g.emit_all("isobit.CrossEntropy", {model.logits, eval.target}, {},
                                 {"loss", "row_loss", "row_max", "row_log_sum"});
  for (const models::Parameter& p : model.parameters) eval.state.emplace_back(p.name, p.value);
  for (const models::Buffer& b : model.buffers) eval.state.emplace_back(b.name, b.value);
  g.add_output(losses[1]);
  g.add_output(model.logits);
  ISOBIT_RETURN_IF_ERROR(runtime::check_promises(g, arithmetic_of(job)));
  return eval;
}

Expected<EvalGraph> build_eval_graph(const Job& job, const data::Dataset& dataset, int64_t batch) {
  return build_eval_graph(job, data::shape_of(dataset), batch);
}

int64_t evaluation_samples(const Job& job, int64_t test_count) {
  return job.evaluate_samples == 0 ? test_count : std::min(job.evaluate_samples, test_count);
}

int64_t evaluation_batch(const Job& job, int64_t samples) {
  return std::min<int64_t>(samples, std::max<int64_t>(job.batch, 32));
}

}  // namespace isobit::train
