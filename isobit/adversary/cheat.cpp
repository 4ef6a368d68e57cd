#include "isobit/adversary/cheat.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "isobit/adversary/decorators.h"
#include "isobit/adversary/log_cheat.h"
#include "isobit/base/text.h"

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

// Another sample in place of the batch's first: the first row of the input is overwritten by the second.
void swap_sample(data::Batch& batch) {
  if (batch.indices.size() < 2) return;
  const size_t row = batch.input.bytes() / batch.indices.size(), label = batch.labels.bytes() / batch.indices.size();
  auto* input = static_cast<uint8_t*>(batch.input.raw());
  auto* labels = static_cast<uint8_t*>(batch.labels.raw());
  std::memcpy(input, input + row, row);
  std::memcpy(labels, labels + label, label);
}

void on_inputs(run::TrainRequest& request, int64_t step, std::function<void(train::StepInputs&)> act) {
  request.conduct.step = with_inputs(step, std::move(act), request.conduct.step);
}

void on_state(run::TrainRequest& request, int64_t step, std::function<void(std::vector<NamedTensor>&)> act) {
  request.conduct.step = with_state(step, std::move(act), request.conduct.step);
}

}  // namespace

const std::vector<Cheat>& cheats() {
  static const std::vector<Cheat> kCheats = [] {
    std::vector<Cheat> all = {
        {"sample", "one sample of the batch replaced by another, the honest batch committed"},
        {"label", "one label of the batch changed"},
        {"order", "a batch of other samples, and committed as such"},
        {"rate", "another learning rate at this step"},
        {"momentum", "one bit of the optimizer's state flipped after this step"},
        {"weight", "one bit of a weight flipped after this step"},
        {"overwrite", "the weights overwritten after the last step"},
    };
    all.insert(all.end(), log_cheats().begin(), log_cheats().end());
    return all;
  }();
  return kCheats;
}

Status apply_cheat(const std::string& name, int64_t step, run::TrainRequest& request) {
  if (step < 1 || step > request.job.steps) {
    return usage_error(text_of("--at ", step, ": expected 1 to ", request.job.steps, ", the steps of the job"));
  }
  const auto known = [&](const Cheat& c) { return c.name == name; };
  if (std::any_of(log_cheats().begin(), log_cheats().end(), known)) return apply_log_cheat(name, step, request);
  if (name == "sample") {
    on_inputs(request, step, [](train::StepInputs& in) { swap_sample(in.batch); });
  } else if (name == "label") {
    on_inputs(request, step, [](train::StepInputs& in) {
      int64_t& label = in.batch.labels.data<int64_t>()[0];
      label = (label + 1) % 2;
    });
  } else if (name == "order") {
    on_inputs(request, step, [](train::StepInputs& in) {
      swap_sample(in.batch);
      if (in.batch.indices.size() > 1) in.batch.indices[0] = in.batch.indices[1];
    });
  } else if (name == "rate") {
    on_inputs(request, step, [](train::StepInputs& in) { in.lr *= 0.5; });
  } else if (name == "momentum") {
    if (request.job.optimizer == train::Optimizer::kSgd && request.job.momentum == 0) {
      return usage_error("cheat 'momentum': the job's optimizer keeps no state");
    }
    on_state(request, step, [](std::vector<NamedTensor>& state) {
      for (NamedTensor& t : state) {
        if (t.name.find('/') != std::string::npos) return flip_bit(t.tensor);
      }
    });
  } else if (name == "weight") {
    on_state(request, step, [](std::vector<NamedTensor>& state) { flip_bit(tensor_ending(state, ".weight")); });
  } else if (name == "overwrite") {
    const auto overwrite = [](std::vector<NamedTensor>& state) {
      Tensor& weights = tensor_ending(state, ".weight");
      weights.dtype() == DType::kFloat64 ? halve<double>(weights) : halve<float>(weights);
    };
    request.conduct.evaluate = with_last_state(overwrite, request.conduct.evaluate);
  } else {
    std::vector<std::string> names;
    for (const Cheat& c : cheats()) names.push_back(c.name);
    const std::string near = nearest_word(name, names);
    return usage_error(text_of("cheat '", name, "' is not known; expected ", join_or(names),
                               near.empty() ? "" : text_of("; did you mean '", near, "'?")));
  }
  return {};
}

}  // namespace isobit::adversary
