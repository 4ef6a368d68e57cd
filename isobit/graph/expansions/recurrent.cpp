#include "isobit/graph/expansions/recurrent.h"

#include "isobit/base/text.h"
#include "isobit/graph/expansions/recurrent_internal.h"

namespace isobit::graph::expansions {
namespace {

// 1 - x
ValueId one_minus(Builder& b, ValueId x, const std::string& what) { return b.sub(b.scalar(b.dtype(x), 1), x, what); }

Recurrent::Cell rnn_cell(Recurrent& u, const DirectionOperands& d) {
  const Values x = u.steps_of(u.product_of_steps(d.w, u.sum_of_biases(d)), "x_step");
  return [&u, d, x](size_t t, const Values& states) -> Values {
    Builder& b = u.builder();
    const ValueId sum = b.add(x[t], b.matmul_transposed(states[0], d.r, "h_product"), "sum");
    return {u.activated(d.activations[0], sum, "h")};
  };
}

// The bias that the product of all steps has: what is left of Rb where it is added inside the reset is its last third.
ValueId gru_bias(Recurrent& u, const DirectionOperands& d, bool linear_before_reset, ValueId& left) {
  if (d.wb == kNoValue || !linear_before_reset) return u.sum_of_biases(d);
  const int64_t h = u.hidden();
  Builder& b = u.builder();
  const Values w = u.parts_of(d.wb, {2 * h, h}, "Wb"), r = u.parts_of(d.rb, {2 * h, h}, "Rb");
  left = r[1];
  return b.concat({b.add(w[0], r[0], "bias"), w[1]}, 0, "bias");
}

Recurrent::Cell gru_cell(Recurrent& u, const DirectionOperands& d, bool linear_before_reset) {
  Builder& b = u.builder();
  const int64_t h = u.hidden();
  ValueId bias_of_n = kNoValue;
  const ValueId bias = gru_bias(u, d, linear_before_reset, bias_of_n);
  const Values x = b.split(u.product_of_steps(d.w, bias), 2, {2 * h, h}, "x");
  const Values gates = u.steps_of(x[0], "x_gates"), candidates = u.steps_of(x[1], "x_n");
  const Values r = u.parts_of(d.r, {2 * h, h}, "R");
  return
      [&u, &b, d, h, gates, candidates, r, bias_of_n, linear_before_reset](size_t t, const Values& states) -> Values {
        const ValueId before = states[0];
        const ValueId gate_sum = b.add(gates[t], b.matmul_transposed(before, r[0], "h_product"), "gate_sum");
        const Values zr = b.split(u.activated(d.activations[0], gate_sum, "gates"), 1, {h, h}, "gate");
        ValueId through = kNoValue;
        if (linear_before_reset) {
          const ValueId linear = u.plus(b.matmul_transposed(before, r[1], "h_product"), bias_of_n, "linear");
          through = b.mul(zr[1], linear, "reset");
        } else {
          through = b.matmul_transposed(b.mul(zr[1], before, "reset"), r[1], "h_product");
        }
        const ValueId n = u.activated(d.activations[1], b.add(candidates[t], through, "sum"), "n");
        const ValueId fresh = b.mul(one_minus(b, zr[0], "one_minus_z"), n, "fresh");
        return {b.add(fresh, b.mul(zr[0], before, "kept"), "h")};
      };
}

class Lstm {
 public:
  Lstm(Recurrent& u, const LstmArguments& a, const DirectionOperands& d) : u_(u), b_(u.builder()), a_(a), d_(d) {
    x_ = u.steps_of(u.product_of_steps(d.w, u.sum_of_biases(d)), "x_step");
    if (a.p == kNoValue || b_.failed()) return;
    const int64_t h = u.hidden();
    peepholes_ = u.parts_of(u.direction_of(a.p, d.index, 0, "P"), {h, h, h}, "P");
  }

  Values step(size_t t, const Values& states) {
    const int64_t h = u_.hidden();
    const ValueId sum = b_.add(x_[t], b_.matmul_transposed(states[0], d_.r, "h_product"), "sum");
    const Values iofc = b_.split(sum, 1, {h, h, h, h}, "gate");
    const ValueId before = states[1];
    const ValueId i = gate(iofc[0], 0, before, "i");
    const ValueId f = a_.input_forget ? one_minus(b_, i, "f") : gate(iofc[2], 2, before, "f");
    const ValueId fresh = b_.mul(i, u_.activated(d_.activations[1], iofc[3], "c"), "fresh");
    const ValueId cell = b_.add(b_.mul(f, before, "kept"), fresh, "C");
    const ValueId o = gate(iofc[1], 1, cell, "o");
    return {b_.mul(o, u_.activated(d_.activations[2], cell, "out"), "h"), cell};
  }

 private:
  // The place of a gate in i, o, f, c is that of its peephole in i, o, f.
  ValueId gate(ValueId sum, size_t place, ValueId cell, const std::string& what) {
    if (!peepholes_.empty()) sum = b_.add(sum, b_.mul(peepholes_[place], cell, what + "_peephole"), what + "_sum");
    return u_.activated(d_.activations[0], sum, what);
  }

  Recurrent& u_;
  Builder& b_;
  const LstmArguments& a_;
  const DirectionOperands d_;
  Values x_, peepholes_;
};

}  // namespace

Expected<std::vector<ValueId>> rnn(Graph& graph, const RecurrentArguments& arguments) {
  Recurrent unrolled(graph, arguments, {"RNN", 1, {"Tanh"}, {arguments.initial_h}, kNoValue});
  return unrolled.expand([&](const DirectionOperands& d) { return rnn_cell(unrolled, d); });
}

Expected<std::vector<ValueId>> gru(Graph& graph, const GruArguments& arguments) {
  Recurrent unrolled(graph, arguments, {"GRU", 3, {"Sigmoid", "Tanh"}, {arguments.initial_h}, kNoValue});
  return unrolled.expand(
      [&](const DirectionOperands& d) { return gru_cell(unrolled, d, arguments.linear_before_reset); });
}

Expected<std::vector<ValueId>> lstm(Graph& graph, const LstmArguments& arguments) {
  Recurrent unrolled(graph, arguments,
                     {"LSTM", 4, {"Sigmoid", "Tanh", "Tanh"}, {arguments.initial_h, arguments.initial_c}, arguments.p});
  return unrolled.expand([&](const DirectionOperands& d) -> Recurrent::Cell {
    auto cell = std::make_shared<Lstm>(unrolled, arguments, d);
    return [cell](size_t t, const Values& states) { return cell->step(t, states); };
  });
}

}  // namespace isobit::graph::expansions
