#include "isobit/adversary/cheat.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "isobit/adversary/decorators.h"
#include "isobit/adversary/log_cheat.h"
#include "isobit/adversary/run_cheat.h"
#include "isobit/base/text.h"
#include "isobit/data/batch.h"
#include "isobit/graph/op.h"
#include "isobit/train/trainer.h"

namespace isobit::adversary {

namespace {

// The first tensor whose name ends in `suffix`, or the first one.
Tensor& tensor_ending(std::vector<NamedTensor>& state, std::string_view suffix) {
  for (NamedTensor& t : state) {
    if (t.name.ends_with(suffix)) return t.tensor;
  }
  return state.front().tensor;
}

template <class Float, class Bits>
void flip_bit_of(Tensor& tensor, Bits bit) {
  for (Float& x : tensor.span<Float>()) {
    if (x == 0) continue;
    x = std::bit_cast<Float>(std::bit_cast<Bits>(x) ^ bit);
    return;
  }
}

// The highest bit of the significand of the first element that is not zero: a change that later rounding does not
// swallow. Logged states are float64.
void flip_bit(Tensor& tensor) {
  if (tensor.dtype() == DType::kFloat64) return flip_bit_of<double>(tensor, uint64_t{1} << 51);
  flip_bit_of<float>(tensor, uint32_t{1} << 22);
}

template <class Float>
void halve(Tensor& tensor) {
  for (Float& x : tensor.span<Float>()) x *= Float{0.5};
}

// Another sample in place of the batch's first: the first row of each tensor is overwritten by the second.
void swap_sample(data::Batch& batch) {
  if (batch.indices.size() < 2) return;
  const auto overwrite = [&](Tensor& tensor) {
    const size_t row = tensor.bytes() / batch.indices.size();
    auto* bytes = static_cast<uint8_t*>(tensor.raw());
    std::memcpy(bytes, bytes + row, row);
  };
  for (Tensor& input : batch.inputs) overwrite(input);
  if (batch.target.defined()) overwrite(batch.target);
}

// Cheats that compute the step with other inputs, and those that go on from another state after it.
Cheat::Apply on_inputs(std::function<void(train::StepInputs&)> act) {
  return [act = std::move(act)](run::TrainRequest& request, int64_t step) -> Status {
    request.conduct.step = with_inputs(step, act, request.conduct.step);
    return {};
  };
}

Cheat::Apply on_state(std::function<void(std::vector<NamedTensor>&)> act) {
  return [act = std::move(act)](run::TrainRequest& request, int64_t step) -> Status {
    request.conduct.step = with_state(step, act, request.conduct.step);
    return {};
  };
}

void swap_one_sample(train::StepInputs& in) { swap_sample(in.batch); }

void change_label(train::StepInputs& in) {
  Tensor& target = in.batch.target;
  if (!target.defined()) return;  // data without labels: the step stays honest
  if (target.dtype() == DType::kInt64) {
    int64_t& label = target.data<int64_t>()[0];
    label = (label + 1) % 2;
  } else {
    float& value = target.data<float>()[0];
    value = value == 0.0f ? 1.0f : 0.0f;
  }
}

void take_other_samples(train::StepInputs& in) {
  swap_sample(in.batch);
  if (in.batch.indices.size() > 1) in.batch.indices[0] = in.batch.indices[1];
}

void halve_rate(train::StepInputs& in) { in.lr *= 0.5; }

void flip_bit_of_optimizer(std::vector<NamedTensor>& state) {
  for (NamedTensor& t : state) {
    if (t.name.find('/') != std::string::npos) return flip_bit(t.tensor);
  }
}

void flip_bit_of_weight(std::vector<NamedTensor>& state) { flip_bit(tensor_ending(state, ".weight")); }

void overwrite_weights(std::vector<NamedTensor>& state) {
  Tensor& weights = tensor_ending(state, ".weight");
  weights.dtype() == DType::kFloat64 ? halve<double>(weights) : halve<float>(weights);
}

Status change_momentum(run::TrainRequest& request, int64_t step) {
  if (request.job.optimizer == train::Optimizer::kSgd && request.job.momentum == 0) {
    return usage_error("the job's optimizer keeps no state");
  }
  return on_state(flip_bit_of_optimizer)(request, step);
}

// The first node of the graph that is an inner product; the last one.
size_t first_product(const graph::Graph& graph) {
  const auto found =
      std::ranges::find_if(graph.nodes(), [](const graph::Node& n) { return graph::op_of(n).is_inner_product(); });
  return static_cast<size_t>(found - graph.nodes().begin());
}
size_t last_product(const graph::Graph& graph) {
  size_t last = graph.nodes().size();
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    if (graph::op_of(graph.nodes()[n]).is_inner_product()) last = n;
  }
  return last;
}

// Half of a float32's bits.
template <class Float>
void to_half_bits(Tensor& tensor) {
  for (Float& x : tensor.span<Float>()) {
    x = std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(x)) & 0xffff0000U);
  }
}

Status lower_precision(run::TrainRequest& request, int64_t step) {
  request.conduct.step = with_outputs(
      step,
      [](const graph::Graph& graph, size_t index, runtime::KernelCall& call) {
        if (index != first_product(graph)) return;
        Tensor& out = call.out();
        out.dtype() == DType::kFloat64 ? to_half_bits<double>(out) : to_half_bits<float>(out);
      },
      request.conduct.step);
  return {};
}

Status inject_gradient(run::TrainRequest& request, int64_t step) {
  request.conduct.step = with_outputs(
      step,
      [](const graph::Graph& graph, size_t index, runtime::KernelCall& call) {
        if (index == last_product(graph)) flip_bit(call.out());
      },
      request.conduct.step);
  return {};
}

Status skip_step(run::TrainRequest& request, int64_t step) {
  request.conduct.step = with_state_kept(
      step, [](const std::string&) { return true; }, request.conduct.step);
  return {};
}

Status freeze_layer(run::TrainRequest& request, int64_t step) {
  const auto layer = [](const std::string& name) { return name.ends_with(".weight"); };
  request.conduct.step = with_state_kept(step, layer, request.conduct.step);
  return {};
}

Status overwrite_at_the_end(run::TrainRequest& request, int64_t) {
  request.conduct.evaluate = with_last_state(overwrite_weights, request.conduct.evaluate);
  return {};
}

Expected<const Cheat*> named_cheat(const std::string& name) {
  const auto found = std::ranges::find(cheats(), name, &Cheat::name);
  if (found != cheats().end()) return &*found;
  std::vector<std::string> names;
  for (const Cheat& c : cheats()) names.push_back(c.name);
  const std::string near = nearest_word(name, names);
  return usage_error(text_of("cheat '", name, "' is not known; expected ", join_or(names),
                             near.empty() ? "" : text_of("; did you mean '", near, "'?")));
}

}  // namespace

const std::vector<Cheat>& cheats() {
  static const std::vector<Cheat> kCheats = [] {
    std::vector<Cheat> all = {
        {"sample", "one sample of the batch replaced by another, the honest batch committed",
         on_inputs(swap_one_sample)},
        {"label", "one label of the batch changed", on_inputs(change_label)},
        {"order", "a batch of other samples, and committed as such", on_inputs(take_other_samples)},
        {"rate", "another learning rate at this step", on_inputs(halve_rate)},
        {"momentum", "one bit of the optimizer's state flipped after this step", change_momentum},
        {"weight", "one bit of a weight flipped after this step", on_state(flip_bit_of_weight)},
        {"precision", "the outputs of one operator with half of their bits", lower_precision},
        {"gradient", "one element of a gradient changed", inject_gradient},
        {"freeze", "the weights left as they were by this step", freeze_layer},
        {"skip", "the step left out: the state stays", skip_step},
        {"overwrite", "the weights overwritten after the last step", overwrite_at_the_end},
    };
    all.insert(all.end(), run_cheats().begin(), run_cheats().end());
    all.insert(all.end(), log_cheats().begin(), log_cheats().end());
    return all;
  }();
  return kCheats;
}

Status apply_cheat(const std::string& name, int64_t step, run::TrainRequest& request) {
  if (step < 1 || step > request.job.steps) {
    return usage_error(text_of("--at ", step, ": expected 1 to ", request.job.steps, ", the steps of the job"));
  }
  ISOBIT_TRY(const Cheat* cheat, named_cheat(name));
  ISOBIT_RETURN_IF_ERROR(check_log(*cheat, request.job));
  const Status applied = cheat->apply(request, step);
  if (applied) return {};
  const auto& [code, message] = applied.error();
  return tl::unexpected<Error>({code, text_of("cheat '", name, "': ", message)});
}

}  // namespace isobit::adversary
