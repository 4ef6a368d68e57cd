#include "isobit/train/step_graph.h"

#include <algorithm>
#include <set>

#include "isobit/base/text.h"
#include "isobit/formats/safetensors.h"
#include "isobit/graph/autograd/autograd.h"
#include "isobit/graph/passes/retype.h"
#include "isobit/runtime/promises.h"
#include "isobit/runtime/specialise.h"
#include "isobit/runtime/stages/inner_product.h"
#include "isobit/train/freeze.h"
#include "isobit/train/parameter_groups.h"
#include "isobit/train/step_graph_loss_internal.h"
#include "isobit/train/step_graph_micro_batches.h"
#include "isobit/train/step_graph_model_internal.h"

namespace isobit::train {
namespace {

using graph::Attributes;
using graph::kNoValue;
using graph::ValueId;

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

  void update(const models::Parameter& p, const ParameterPace& pace, int64_t index, ValueId grad) {
    if (job_.optimizer == Optimizer::kSgd) {
      sgd(p, pace, index, grad);
    } else {
      adam(p, pace, index, grad);
    }
  }

 private:
  // An optimizer state of the parameter's shape that starts at +0.
  ValueId companion(const models::Parameter& p, const char* kind) {
    return graph_.add_input(text_of(p.name, "/", kind), DType::kFloat32, graph_.value(p.value).dims);
  }
  // Graphs without groups are what they were before there were any.
  static void set_factor(Attributes& attributes, const ParameterPace& pace) {
    if (pace.lr_factor != 1) attributes.set("lr_factor", pace.lr_factor);
  }
  void slot(const std::string& name, ValueId in, ValueId out, const models::Parameter* p, int64_t index) {
    step_.slots.push_back({name, in, out, p != nullptr ? p->init : models::Init{}, index});
  }

  void sgd(const models::Parameter& p, const ParameterPace& pace, int64_t index, ValueId grad) {
    const bool momentum = job_.momentum != 0;
    Attributes attributes = {
        {"momentum", job_.momentum}, {"weight_decay", pace.weight_decay}, {"nesterov", int64_t{job_.nesterov}}};
    set_factor(attributes, pace);
    const ValueId buffer = momentum ? companion(p, "momentum") : kNoValue;
    std::vector<std::string> names = {p.name + ".next"};
    if (momentum) names.push_back(p.name + "/momentum.next");
    const auto out = graph_.emit_all("isobit.Sgd", {p.value, grad, step_.lr, buffer, scale_}, attributes, names);
    slot(p.name, p.value, out[0], &p, index);
    if (momentum) slot(p.name + "/momentum", buffer, out[1], nullptr, -1);
  }

  void adam(const models::Parameter& p, const ParameterPace& pace, int64_t index, ValueId grad) {
    Attributes attributes = {{"beta1", job_.beta1},
                             {"beta2", job_.beta2},
                             {"epsilon", job_.epsilon},
                             {"weight_decay", pace.weight_decay},
                             {"decoupled", int64_t{job_.optimizer == Optimizer::kAdamW}}};
    set_factor(attributes, pace);
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

// Of one micro-batch, or of a batch that is not cut into any.
Expected<BackwardPass> backward_pass(const Job& job, const data::DataShape& data, int64_t batch,
                                     const models::Network& network) {
  BackwardPass pass;
  ISOBIT_TRY(pass.model, model_for(job, data, batch, true, network));
  ISOBIT_TRY(const LossPart loss, append_loss(job, data, batch, true, pass.model));
  pass.inputs = pass.model.inputs;
  pass.target = loss.target;
  if (feeds_target(job, data)) {
    pass.target = pass.inputs.back();
    pass.inputs.pop_back();
  }
  pass.loss = loss.loss;
  pass.losses = {pass.loss};
  ISOBIT_RETURN_IF_ERROR(freeze(job, pass));
  std::vector<ValueId> trained;
  for (const models::Parameter& p : pass.model.parameters) trained.push_back(p.value);
  ISOBIT_TRY(pass.grads, graph::append_gradients(pass.model.graph, pass.loss, trained));
  ISOBIT_RETURN_IF_ERROR(freeze_unreached(pass));
  return pass;
}

// What a checkpoint cannot hold is found out before the first step. Tensors of a state are told apart by their names,
// and a file of them has one name for itself.
Status check_state(const StepGraph& step) {
  constexpr uint64_t kOfTheFile = 64 << 10;  // of the header, for what is no tensor's
  std::set<std::string> names = {"__metadata__"};
  uint64_t header = kOfTheFile;
  const auto check = [&](const auto& slot) -> Status {
    if (!names.insert(slot.name).second) {
      return unreadable(text_of("the network: '", slot.name, "' names two tensors of the state, or is a name that ",
                                "files of weights keep for themselves; rename the parameter"));
    }
    // A trace tells values apart by the names that the graph has for them.
    if (const std::string& in_graph = step.graph.value(slot.in).name; in_graph != slot.name) {
      return unreadable(text_of("the network: a value in it has the name of a tensor of the state, '", slot.name,
                                "'; rename that value"));
    }
    const int rank = step.graph.value(slot.in).shape().rank();
    if (rank > formats::kSafetensorsMaxRank) {
      return unreadable(text_of("the network: '", slot.name, "' has ", rank, " axes, and files of weights at most ",
                                formats::kSafetensorsMaxRank, "; give it fewer"));
    }
    header += formats::safetensors_header_bytes(slot.name, rank);
    if (header <= formats::kSafetensorsMaxHeader) return {};
    return unreadable(text_of("the network: the names and shapes of its parameters take more than the ",
                              formats::kSafetensorsMaxHeader, " bytes that files of weights have for them"));
  };
  for (const StateSlot& slot : step.slots) ISOBIT_RETURN_IF_ERROR(check(slot));
  for (const FrozenSlot& slot : step.frozen) ISOBIT_RETURN_IF_ERROR(check(slot));
  return {};
}

// Whether the arithmetic's bounds hold. Only a graph of known shapes is trained with its values rounded one by one.
Status check_arithmetic(const Job& job, const graph::Graph& graph, bool is_static) {
  const platform::Arithmetic& arithmetic = arithmetic_of(job);
  ISOBIT_RETURN_IF_ERROR(runtime::check_terms(graph, arithmetic));
  if (is_static || !arithmetic.rounds) return {};
  return unreadable(text_of("the network's shapes follow from data, so that nobody can say beforehand which values ",
                            arithmetic.name, " rounds; compute in ordered-1"));
}

// A checkpoint calls the optimizer's tensors after the parameter ("w/momentum"): no other may be called so.
Status check_names(const models::Model& model, const std::vector<FrozenSlot>& frozen) {
  std::set<std::string_view> names;
  for (const models::Parameter& p : model.parameters) names.insert(p.name);
  for (const models::Buffer& b : model.buffers) names.insert(b.name);
  for (const FrozenSlot& slot : frozen) names.insert(slot.name);
  for (const std::string_view name : names) {
    const size_t slash = name.rfind('/');
    if (slash == name.npos || !is_companion(name.substr(slash + 1)) || !names.contains(name.substr(0, slash))) continue;
    return unreadable(text_of("the network: '", name, "' is what a checkpoint calls a tensor of the optimizer beside '",
                              name.substr(0, slash), "'; rename it"));
  }
  return {};
}

bool runs_graphs(const graph::Node& node) { return graph::op_of(node).runs_graphs; }

}  // namespace

bool is_companion(std::string_view kind) { return kind == "momentum" || kind == "m" || kind == "v"; }

Expected<StepGraph> build_step_graph(const Job& job, const data::DataShape& data, const models::Network& network) {
  ISOBIT_TRY(BackwardPass pass, backward_pass(job, data, job.batch / job.micro_batches, network));
  StepGraph step;
  const bool is_static = runtime::is_static(pass.model.graph);
  if (job.micro_batches > 1) {
    if (!is_static) return unreadable("data.micro_batches: the network's shapes follow from data; leave it out");
    ISOBIT_TRY(pass, of_micro_batches(std::move(pass), job.micro_batches));
  }
  models::Model& model = pass.model;
  ISOBIT_RETURN_IF_ERROR(check_names(model, pass.frozen));
  ISOBIT_TRY(const std::vector<ParameterPace> paces, paces_of(job, model.parameters));
  step.graph = std::move(model.graph);
  graph::Graph& g = step.graph;
  step.inputs = pass.inputs;
  step.target = pass.target;
  step.step = model.step;
  step.losses = std::move(pass.losses);
  step.remarks = std::move(model.remarks);

  OptimizerStep optimizer(job, step);
  optimizer.clip(pass.grads);
  for (size_t i = 0; i < model.parameters.size(); ++i) {
    optimizer.update(model.parameters[i], paces[i], pass.places[i], pass.grads[i]);
  }
  for (const models::Buffer& b : model.buffers) step.slots.push_back({b.name, b.value, b.updated, b.init, -1});
  step.frozen = std::move(pass.frozen);
  ISOBIT_RETURN_IF_ERROR(check_state(step));
  g.add_output(pass.loss);
  for (const StateSlot& slot : step.slots) g.add_output(slot.out);
  ISOBIT_RETURN_IF_ERROR(check_arithmetic(job, g, is_static));
  step.disputable = is_static && std::ranges::none_of(g.nodes(), runs_graphs);
  if (arithmetic_of(job).computes_in == DType::kFloat64) {
    ISOBIT_TRY(step.graph, graph::retype(g, graph::kInFloat64));
  }
  ISOBIT_RETURN_IF_ERROR(runtime::check_promises(step.graph, arithmetic_of(job)));
  return step;
}

Expected<StepGraph> build_step_graph(const Job& job, const data::Dataset& dataset, const models::Network& network) {
  return build_step_graph(job, data::shape_of(dataset), network);
}

Expected<EvalGraph> build_eval_graph(const Job& job, const data::DataShape& data, int64_t batch,
                                     const models::Network& network) {
  ISOBIT_TRY(models::Model model, model_for(job, data, batch, false, network));
  ISOBIT_TRY(const LossPart loss, append_loss(job, data, batch, false, model));
  EvalGraph eval{std::move(model.graph), std::move(model.inputs), loss.target, batch, {}, model.output};
  if (feeds_target(job, data)) {
    eval.target = eval.inputs.back();
    eval.inputs.pop_back();
  }
  graph::Graph& g = eval.graph;
  for (const models::Parameter& p : model.parameters) eval.state.emplace_back(p.name, p.value);
  for (const models::Buffer& b : model.buffers) eval.state.emplace_back(b.name, b.value);
  g.add_output(loss.rows);
  g.add_output(loss.output);
  ISOBIT_RETURN_IF_ERROR(runtime::check_promises(g, arithmetic_of(job)));
  return eval;
}

Expected<EvalGraph> build_eval_graph(const Job& job, const data::Dataset& dataset, int64_t batch,
                                     const models::Network& network) {
  return build_eval_graph(job, data::shape_of(dataset), batch, network);
}

Expected<EvalGraph> build_eval_graph(const Job& job, const data::DataShape& data, const models::Network& network) {
  return build_eval_graph(job, data, std::max<int64_t>(1, network.only_batch()), network);
}

int64_t evaluation_samples(const Job& job, int64_t test_count, const models::Network& network) {
  return evaluation_samples(job, test_count, network.only_batch());
}

int64_t evaluation_samples(const Job& job, int64_t test_count, int64_t only_batch) {
  if (job.loss == Loss::kOutput && only_batch > 1) return 0;
  return job.evaluate_samples == 0 ? test_count : std::min(job.evaluate_samples, test_count);
}

int64_t evaluation_batch(const Job& job, int64_t samples, const models::Network& network) {
  return evaluation_batch(job, samples, network.only_batch());
}

int64_t evaluation_batch(const Job& job, int64_t samples, int64_t only_batch) {
  if (only_batch > 0) return only_batch;
  if (job.loss == Loss::kOutput) return 1;
  return std::min<int64_t>(samples, std::max<int64_t>(job.batch, 32));
}

std::vector<int64_t> committed_batches(const Job& job, int64_t test_count, const models::Network& network) {
  if (network.only_batch() > 0) return {network.only_batch()};
  std::set<int64_t> batches = {1, kProbeBatch};
  if (const int64_t samples = evaluation_samples(job, test_count, network); samples > 0) {
    const int64_t batch = evaluation_batch(job, samples, network);
    batches.insert(batch);
    if (samples % batch != 0) batches.insert(samples % batch);
  }
  return {batches.begin(), batches.end()};
}

}  // namespace isobit::train
