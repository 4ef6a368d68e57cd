#include "isobit/graph/expansions/recurrent_internal.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"

namespace isobit::graph::expansions {

Recurrent::Recurrent(Graph& graph, const RecurrentArguments& arguments, RecurrentForm form)
    : b_(graph, form.op, arguments.name), a_(arguments), form_(std::move(form)) {}

void Recurrent::check_optional(ValueId v, const std::vector<int64_t>& wanted, const std::string& what) {
  if (v == kNoValue) return;
  bool fits = b_.rank(v) == static_cast<int>(wanted.size());
  for (size_t i = 0; fits && i < wanted.size(); ++i) {
    const int64_t found = b_.dim(v, static_cast<int>(i));
    fits = found == wanted[i] || found < 0 || wanted[i] < 0;
  }
  b_.require(fits, text_of(what, " has shape ", Shape(b_.dims(v)).text(), ", expected ", Shape(wanted).text()));
}

void Recurrent::check() {
  b_.require_ranks({a_.x, a_.w, a_.r, a_.b, a_.sequence_lens, form_.peepholes});
  for (ValueId state : form_.initial_states) b_.require_ranks({state});
  b_.require(b_.is_float(a_.x), text_of("X is ", name_of(b_.dtype(a_.x)), ", expected float32 or float64"));
  b_.require(a_.layout == 0 || a_.layout == 1, text_of("layout ", a_.layout, " is neither 0 nor 1"));
  b_.require(a_.direction == "forward" || a_.direction == "reverse" || a_.direction == "bidirectional",
             text_of("direction '", a_.direction, "' is not known"));
  b_.require(!a_.clip || (std::isfinite(*a_.clip) && *a_.clip > 0), "clip is not a finite number above 0");
  b_.require(b_.rank(a_.x) == 3, text_of("X has rank ", b_.rank(a_.x), ", expected 3"));
  batch_first_ = a_.layout == 1;
  directions_ = a_.direction == "bidirectional" ? 2 : 1;
  time_ = b_.dim(a_.x, batch_first_ ? 1 : 0);
  input_ = b_.dim(a_.x, 2);
  hidden_ = b_.dim(a_.r, 2);
  b_.require(time_ >= 0, "the length of the sequences must be known before the run");
  b_.require(time_ != 0 && time_ <= kMostSteps, text_of(time_, " steps, expected 1 to ", kMostSteps));
  b_.require(input_ > 0 && hidden_ > 0,
             "the sizes of the input and of the state must be known before the run, and not 0");
  b_.require(a_.hidden_size == 0 || a_.hidden_size == hidden_,
             text_of("hidden_size is ", a_.hidden_size, ", R has ", hidden_));
  const int64_t rows = b_.times(form_.gates, hidden_), batch = b_.dim(a_.x, batch_first_ ? 0 : 1);
  b_.require(a_.w != kNoValue && a_.r != kNoValue, "W or R is absent");
  check_optional(a_.w, {directions_, rows, input_}, "W");
  check_optional(a_.r, {directions_, rows, hidden_}, "R");
  check_optional(a_.b, {directions_, b_.times(2, rows)}, "B");
  check_optional(form_.peepholes, {directions_, b_.times(3, hidden_)}, "P");
  check_optional(a_.sequence_lens, {batch}, "sequence_lens");
  b_.require(a_.sequence_lens == kNoValue || b_.is_integer(a_.sequence_lens), "sequence_lens are no integers");
  for (ValueId state : form_.initial_states) {
    using Ints = std::vector<int64_t>;
    check_optional(state, batch_first_ ? Ints{batch, directions_, hidden_} : Ints{directions_, batch, hidden_},
                   "an initial state");
  }
}

void Recurrent::read_activations() {
  std::vector<std::string> names = a_.activations;
  const size_t wanted = form_.default_activations.size() * static_cast<size_t>(directions_);
  while (names.size() < wanted && a_.activations.empty()) {
    names.insert(names.end(), form_.default_activations.begin(), form_.default_activations.end());
  }
  b_.require(names.size() == wanted, text_of(names.size(), " activations, expected ", wanted));
  activations_ = activations_named(b_, names, a_.activation_alpha, a_.activation_beta);
}

ValueId Recurrent::direction_of(ValueId v, size_t d, int axis, const std::string& what) {
  if (v == kNoValue) return kNoValue;
  const std::vector<int64_t> ones(static_cast<size_t>(directions_), 1);
  return b_.squeeze(b_.split(v, axis, ones, what)[d], {axis}, what);
}

ValueId Recurrent::product_of_steps(ValueId w, ValueId bias) {
  std::vector<ValueId> inputs = {b_.reshape(x_, {-1, input_}, "x"), w};
  if (bias != kNoValue) inputs.push_back(bias);
  const ValueId product = b_.node("Gemm", inputs, {{"transB", int64_t{1}}}, "x_product");
  return b_.reshape_to(product, {time_, b_.dim(x_, 1), b_.times(form_.gates, hidden_)}, "x_steps");
}

std::vector<ValueId> Recurrent::steps_of(ValueId v, const std::string& what) {
  std::vector<ValueId> steps = b_.split(v, 0, std::vector<int64_t>(static_cast<size_t>(time_), 1), what);
  for (size_t t = 0; t < steps.size(); ++t) steps[t] = b_.squeeze(steps[t], {0}, text_of(what, "_of_", t));
  return steps;
}

void Recurrent::find_masks() {
  if (a_.sequence_lens == kNoValue || b_.failed()) return;
  const ValueId lengths = b_.cast(a_.sequence_lens, DType::kInt64, "lengths");
  const ValueId times = b_.unsqueeze(b_.range(b_.integer(time_), "times"), {1}, "times");
  const ValueId before_end = b_.node("Less", {times, b_.unsqueeze(lengths, {0}, "lengths")}, {}, "in_sequence");
  in_sequence_ = steps_of(b_.unsqueeze(before_end, {2}, "in_sequence"), "in_sequence");
}

ValueId Recurrent::initial_state(ValueId given, size_t d) {
  if (given != kNoValue) return direction_of(given, d, batch_first_ ? 1 : 0, "initial_state");
  const DType dtype = b_.dtype(a_.x);
  const int64_t batch = b_.dim(x_, 1);
  if (b_.failed()) return kNoValue;
  if (batch < 0) {
    const ValueId rows = b_.node("Shape", {x_}, {{"start", int64_t{1}}, {"end", int64_t{2}}}, "batch");
    return b_.node("Expand", {b_.scalar(dtype, 0), b_.concat({rows, b_.integers({hidden_})}, 0, "state_shape")}, {},
                   "initial_state");
  }
  return b_.node("Expand", {b_.scalar(dtype, 0)}, {{"shape", std::vector<int64_t>{batch, hidden_}}}, "initial_state");
}

DirectionOperands Recurrent::operands_of(size_t d) {
  DirectionOperands operands;
  operands.index = d;
  operands.w = direction_of(a_.w, d, 0, "W");
  operands.r = direction_of(a_.r, d, 0, "R");
  if (a_.b != kNoValue && !b_.failed()) {
    const int64_t rows = b_.times(form_.gates, hidden_);
    const std::vector<ValueId> both = parts_of(direction_of(a_.b, d, 0, "B"), {rows, rows}, "B");
    operands.wb = both[0], operands.rb = both[1];
  }
  for (ValueId state : form_.initial_states) operands.states.push_back(initial_state(state, d));
  const size_t each = form_.default_activations.size();
  if (!b_.failed()) operands.activations = std::span(activations_).subspan(d * each, each);
  return operands;
}

Recurrent::DirectionResult Recurrent::run(const DirectionOperands& d, const Cell& cell) {
  DirectionResult result{std::vector<ValueId>(static_cast<size_t>(time_), kNoValue), d.states};
  for (int64_t step = 0; step < time_ && !b_.failed(); ++step) {
    const auto t = static_cast<size_t>(runs_backwards(d.index) ? time_ - 1 - step : step);
    b_.set_scope(text_of(d.index, "/", t, "/"));
    std::vector<ValueId> states = cell(t, result.states);
    result.y[t] = states[0];
    if (!in_sequence_.empty()) {
      if (a_.wants_y) result.y[t] = b_.where(in_sequence_[t], states[0], b_.scalar(b_.dtype(a_.x), 0), "y");
      for (size_t s = 0; s < states.size(); ++s) {
        states[s] = b_.where(in_sequence_[t], states[s], result.states[s], "state");
      }
    }
    result.states = std::move(states);
  }
  b_.set_scope("");
  return result;
}

ValueId Recurrent::all_steps(const std::vector<DirectionResult>& results) {
  std::vector<ValueId> by_direction;
  for (const DirectionResult& result : results) {
    std::vector<ValueId> steps;
    for (ValueId y : result.y) {
      steps.push_back(b_.unsqueeze(y, {0, 1}, text_of("y_of_", by_direction.size(), "_", steps.size())));
    }
    by_direction.push_back(b_.concat(steps, 0, "y_steps"));
  }
  const ValueId y = b_.concat(by_direction, 1, "Y");
  return batch_first_ ? b_.transpose(y, {2, 0, 1, 3}, "Y") : y;
}

ValueId Recurrent::last_states(const std::vector<DirectionResult>& results, size_t state, const std::string& what) {
  const int64_t axis = batch_first_ ? 1 : 0;
  std::vector<ValueId> by_direction;
  for (const DirectionResult& result : results) {
    by_direction.push_back(b_.unsqueeze(result.states[state], {axis}, what));
  }
  return b_.concat(by_direction, axis, what);
}

Expected<std::vector<ValueId>> Recurrent::expand(const MakeCell& make_cell) {
  check();
  read_activations();
  if (b_.failed()) return b_.finish({});
  x_ = batch_first_ ? b_.transpose(a_.x, {1, 0, 2}, "x_by_time") : a_.x;
  find_masks();
  std::vector<DirectionResult> results;
  for (int64_t d = 0; d < directions_; ++d) {
    const DirectionOperands operands = operands_of(static_cast<size_t>(d));
    if (b_.failed()) return b_.finish({});
    results.push_back(run(operands, make_cell(operands)));
  }
  if (b_.failed()) return b_.finish({});
  std::vector<ValueId> outputs = {a_.wants_y ? all_steps(results) : kNoValue};
  const char* const names[] = {"Y_h", "Y_c"};
  for (size_t s = 0; s < form_.initial_states.size(); ++s) outputs.push_back(last_states(results, s, names[s]));
  return b_.finish(std::move(outputs));
}

}  // namespace isobit::graph::expansions
