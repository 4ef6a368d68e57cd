// RNN, GRU and LSTM against plain loops in double.
#include <algorithm>
#include <limits>

#include "isobit/graph/expansions/recurrent.h"
#include "isobit/runtime/expansions_for_test.h"

namespace isobit::runtime {
namespace {

using graph::expansions::GruArguments;
using graph::expansions::LstmArguments;
using graph::expansions::RecurrentArguments;
using Row = std::vector<double>;

enum class Cell { kRnn, kGru, kLstm };

int64_t gates_of(Cell cell) { return cell == Cell::kRnn ? 1 : cell == Cell::kGru ? 3 : 4; }
const char* name_of_cell(Cell cell) { return cell == Cell::kRnn ? "RNN" : cell == Cell::kGru ? "GRU" : "LSTM"; }

struct Example {
  Cell cell = Cell::kRnn;
  std::string direction = "forward";
  int64_t T = 4, B = 3, I = 2, H = 5;
  bool batch_first = false, bias = true, states = false, peepholes = false, linear_before_reset = false,
       input_forget = false;
  Ints lengths = {};
  double clip = 0;
  std::vector<std::string> activations = {};
  std::vector<double> alpha = {}, beta = {};
  bool unknown_batch = false;

  int64_t D() const { return direction == "bidirectional" ? 2 : 1; }
};

// [T, B, ..] as [B, T, ..], or back.
Array first_axes_swapped(const Array& a) {
  Ints dims = a.dims;
  std::swap(dims[0], dims[1]);
  Array out = Array::zeros(dims);
  const size_t rest = a.values.size() / static_cast<size_t>(dims[0] * dims[1]);
  for (int64_t i = 0; i < a.dims[0]; ++i) {
    for (int64_t j = 0; j < a.dims[1]; ++j) {
      for (size_t k = 0; k < rest; ++k) {
        out.values[static_cast<size_t>(j * a.dims[0] + i) * rest + k] =
            a.values[static_cast<size_t>(i * a.dims[1] + j) * rest + k];
      }
    }
  }
  return out;
}

struct Operands {
  Array x, w, r, b, h, c, p;  // layout 0
};

Operands operands_of(Expanded& e, const Example& x) {
  const int64_t rows = gates_of(x.cell) * x.H;
  return {e.random({x.T, x.B, x.I}),   e.random({x.D(), rows, x.I}), e.random({x.D(), rows, x.H}),
          e.random({x.D(), 2 * rows}), e.random({x.D(), x.B, x.H}),  e.random({x.D(), x.B, x.H}),
          e.random({x.D(), 3 * x.H})};
}

// One of the functions by the number that the examples give it.
double activation(const std::string& name, double alpha, double beta, double x) {
  if (name == "Tanh") return std::tanh(x);
  if (name == "Sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "Relu") return std::max(x, 0.0);
  if (name == "Affine") return alpha * x + beta;
  if (name == "LeakyRelu") return x < 0 ? alpha * x : x;
  if (name == "ThresholdedRelu") return x > alpha ? x : 0;
  if (name == "ScaledTanh") return alpha * std::tanh(beta * x);
  if (name == "HardSigmoid") return std::clamp(alpha * x + beta, 0.0, 1.0);
  if (name == "Elu") return x < 0 ? alpha * std::expm1(x) : x;
  if (name == "Softsign") return x / (1 + std::abs(x));
  if (name == "Softplus") return std::log1p(std::exp(x));
  ADD_FAILURE() << name;
  return 0;
}

class Oracle {
 public:
  Oracle(const Example& x, const Operands& o) : x_(x), o_(o) {
    y = Array::zeros({x.T, x.D(), x.B, x.H});
    h = Array::zeros({x.D(), x.B, x.H});
    c = h;
    for (int64_t d = 0; d < x.D(); ++d) {
      for (int64_t b = 0; b < x.B; ++b) run(d, b);
    }
  }
  Array y, h, c;

 private:
  static constexpr const char* kNames[3][3] = {{"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};

  double activated(int64_t d, size_t which, double v) const {
    if (x_.clip > 0) v = std::clamp(v, -x_.clip, x_.clip);
    const auto kind = static_cast<size_t>(x_.cell);
    const size_t at = static_cast<size_t>(d) * (kind + 1) + which;
    if (x_.activations.empty()) return activation(kNames[kind][which], 0, 0, v);
    return activation(x_.activations[at], x_.alpha.empty() ? 0 : x_.alpha[at], x_.beta.empty() ? 0 : x_.beta[at], v);
  }

  // Number i of gate g: W x + R h with the biases that are asked for.
  double input_part(int64_t d, int64_t t, int64_t b, int64_t g, int64_t i) const {
    double sum = x_.bias ? o_.b({d, g * x_.H + i}) : 0;
    for (int64_t k = 0; k < x_.I; ++k) sum += o_.w({d, g * x_.H + i, k}) * o_.x({t, b, k});
    return sum;
  }
  double state_part(int64_t d, int64_t g, int64_t i, const Row& state) const {
    double sum = x_.bias ? o_.b({d, gates_of(x_.cell) * x_.H + g * x_.H + i}) : 0;
    for (int64_t k = 0; k < x_.H; ++k) sum += o_.r({d, g * x_.H + i, k}) * state[static_cast<size_t>(k)];
    return sum;
  }

  void step(int64_t d, int64_t t, int64_t b, Row& hs, Row& cs) const {
    Row next(hs.size()), reset(hs.size());
    const auto gate = [&](int64_t g, int64_t i) { return input_part(d, t, b, g, i) + state_part(d, g, i, hs); };
    for (int64_t i = 0; i < x_.H && x_.cell == Cell::kGru; ++i) {
      reset[static_cast<size_t>(i)] = activated(d, 0, gate(1, i)) * hs[static_cast<size_t>(i)];
    }
    for (int64_t i = 0; i < x_.H; ++i) {
      const auto at = static_cast<size_t>(i);
      if (x_.cell == Cell::kRnn) {
        next[at] = activated(d, 0, gate(0, i));
      } else if (x_.cell == Cell::kGru) {
        const double z = activated(d, 0, gate(0, i)), r = activated(d, 0, gate(1, i));
        const double through = x_.linear_before_reset ? r * state_part(d, 2, i, hs) : state_part(d, 2, i, reset);
        next[at] = (1 - z) * activated(d, 1, input_part(d, t, b, 2, i) + through) + z * hs[at];
      } else {
        const auto peep = [&](int64_t g, double cell) { return x_.peepholes ? o_.p({d, g * x_.H + i}) * cell : 0; };
        const double in = activated(d, 0, gate(0, i) + peep(0, cs[at]));
        const double forget = x_.input_forget ? 1 - in : activated(d, 0, gate(2, i) + peep(2, cs[at]));
        cs[at] = forget * cs[at] + in * activated(d, 1, gate(3, i));
        next[at] = activated(d, 0, gate(1, i) + peep(1, cs[at])) * activated(d, 2, cs[at]);
      }
    }
    hs = next;
  }

  void run(int64_t d, int64_t b) {
    Row hs(static_cast<size_t>(x_.H), 0), cs(hs);
    for (int64_t i = 0; i < x_.H && x_.states; ++i) {
      hs[static_cast<size_t>(i)] = o_.h({d, b, i});
      cs[static_cast<size_t>(i)] = o_.c({d, b, i});
    }
    const bool backwards = x_.direction == "reverse" || d == 1;
    const int64_t length = x_.lengths.empty() ? x_.T : x_.lengths[static_cast<size_t>(b)];
    for (int64_t k = 0; k < length; ++k) {
      const int64_t t = backwards ? length - 1 - k : k;
      step(d, t, b, hs, cs);
      for (int64_t i = 0; i < x_.H; ++i) y({t, d, b, i}) = hs[static_cast<size_t>(i)];
    }
    for (int64_t i = 0; i < x_.H; ++i) {
      h({d, b, i}) = hs[static_cast<size_t>(i)];
      c({d, b, i}) = cs[static_cast<size_t>(i)];
    }
  }

  const Example& x_;
  const Operands& o_;
};

LstmArguments arguments_of(Expanded& e, const Example& x, const Operands& o) {
  LstmArguments a;
  a.name = "n";
  const auto by_layout = [&](const Array& v) { return x.batch_first ? first_axes_swapped(v) : v; };
  a.x = e.fed(by_layout(o.x), x.unknown_batch ? std::set<int>{x.batch_first ? 0 : 1} : std::set<int>{});
  a.w = e.fed(o.w);
  a.r = e.fed(o.r);
  if (x.bias) a.b = e.fed(o.b);
  if (x.states) a.initial_h = e.fed(by_layout(o.h));
  if (x.states && x.cell == Cell::kLstm) a.initial_c = e.fed(by_layout(o.c));
  if (x.peepholes) a.p = e.fed(o.p);
  if (!x.lengths.empty()) {
    Array lengths = Array::zeros({x.B});
    std::copy(x.lengths.begin(), x.lengths.end(), lengths.values.begin());
    a.sequence_lens = e.fed(DType::kInt32, lengths);
  }
  a.direction = x.direction;
  a.hidden_size = x.H;
  a.layout = x.batch_first ? 1 : 0;
  if (x.clip > 0) a.clip = x.clip;
  a.activations = x.activations;
  a.activation_alpha = x.alpha;
  a.activation_beta = x.beta;
  a.input_forget = x.input_forget;
  return a;
}

Expected<Values> expand(Expanded& e, const Example& x, const LstmArguments& a) {
  if (x.cell == Cell::kLstm) return graph::expansions::lstm(e.g, a);
  if (x.cell == Cell::kRnn) return graph::expansions::rnn(e.g, a);
  GruArguments gru;
  static_cast<RecurrentArguments&>(gru) = a;
  gru.linear_before_reset = x.linear_before_reset;
  return graph::expansions::gru(e.g, gru);
}

void check(const Example& x, DType dtype = DType::kFloat64, double tolerance = 1e-11) {
  SCOPED_TRACE(std::string(name_of_cell(x.cell)) + " " + x.direction + (x.batch_first ? " batch first" : ""));
  Expanded e(dtype);
  const Operands o = operands_of(e, x);
  const auto found = e.run(name_of_cell(x.cell), expand(e, x, arguments_of(e, x, o)));
  ASSERT_EQ(found.size(), x.cell == Cell::kLstm ? 3U : 2U);
  const Oracle wanted(x, o);
  Array y = wanted.y;
  if (x.batch_first) {  // [T, D, B, H] as [B, T, D, H]
    y = Array::zeros({x.B, x.T, x.D(), x.H});
    for (int64_t t = 0; t < x.T; ++t) {
      for (int64_t d = 0; d < x.D(); ++d) {
        for (int64_t b = 0; b < x.B; ++b) {
          for (int64_t i = 0; i < x.H; ++i) y({b, t, d, i}) = wanted.y({t, d, b, i});
        }
      }
    }
  }
  expect_near(y, found[0], tolerance);
  expect_near(x.batch_first ? first_axes_swapped(wanted.h) : wanted.h, found[1], tolerance);
  if (x.cell == Cell::kLstm) expect_near(x.batch_first ? first_axes_swapped(wanted.c) : wanted.c, found[2], tolerance);
}

constexpr Cell kCells[] = {Cell::kRnn, Cell::kGru, Cell::kLstm};

TEST(Recurrent, EveryDirectionAndLayout) {
  for (Cell cell : kCells) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      for (bool batch_first : {false, true}) {
        check({.cell = cell, .direction = direction, .batch_first = batch_first});
        check({.cell = cell, .direction = direction, .T = 1, .batch_first = batch_first, .states = true});
        check({.cell = cell, .direction = direction, .batch_first = batch_first, .bias = false, .states = true});
      }
    }
  }
}

TEST(Recurrent, SequencesEndAtTheirLengths) {
  for (Cell cell : kCells) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      for (bool batch_first : {false, true}) {
        check({.cell = cell, .direction = direction, .batch_first = batch_first, .states = true, .lengths = {2, 4, 1}});
        check({.cell = cell, .direction = direction, .batch_first = batch_first, .lengths = {4, 0, 3}});
      }
    }
  }
}

TEST(Recurrent, InFloat32) {
  for (Cell cell : kCells) check({.cell = cell, .direction = "bidirectional"}, DType::kFloat32, 1e-5);
}

TEST(Recurrent, TheResetOfAGruIsBeforeOrBehindItsProduct) {
  for (bool bias : {false, true}) {
    check({.cell = Cell::kGru, .bias = bias, .states = true, .linear_before_reset = true});
    check({.cell = Cell::kGru, .direction = "bidirectional", .bias = bias, .linear_before_reset = true});
  }
}

TEST(Recurrent, PeepholesAndCoupledGatesOfAnLstm) {
  check({.cell = Cell::kLstm, .direction = "bidirectional", .states = true, .peepholes = true});
  check({.cell = Cell::kLstm, .states = true, .input_forget = true});
  check({.cell = Cell::kLstm, .batch_first = true, .peepholes = true, .input_forget = true});
}

TEST(Recurrent, WhatActivationsAreGivenIsClipped) {
  for (Cell cell : kCells) check({.cell = cell, .states = true, .clip = 0.3});
}

TEST(Recurrent, EveryActivation) {
  for (const char* name : {"Relu", "Tanh", "Sigmoid", "Softsign", "Softplus"}) check({.activations = {name}});
  check({.activations = {"Affine"}, .alpha = {0.5}, .beta = {0.25}});
  check({.activations = {"LeakyRelu"}, .alpha = {0.125}});
  check({.activations = {"ThresholdedRelu"}, .alpha = {0.5}});
  check({.activations = {"ScaledTanh"}, .alpha = {0.5}, .beta = {2}});
  check({.activations = {"HardSigmoid"}, .alpha = {0.25}, .beta = {0.5}});
  check({.activations = {"Elu"}, .alpha = {0.5}});
  check({.cell = Cell::kLstm,
         .direction = "bidirectional",
         .activations = {"HardSigmoid", "Affine", "ScaledTanh", "HardSigmoid", "ScaledTanh", "Affine"},
         .alpha = {0.25, 0.5, 1, 0.125, 0.75, 1.5},
         .beta = {0.5, 0, 2, 0.5, 1, -0.25}});
}

// Only activations that have an alpha take one; what is left of them has the operators' defaults.
TEST(Recurrent, NumbersOfActivationsAreTakenInOrder) {
  Expanded e, f;
  Example x{.cell = Cell::kGru, .activations = {"sigmoid", "LEAKYRELU"}, .alpha = {0.125}};
  const Operands o = operands_of(e, x);
  const auto found = e.run("GRU", expand(e, x, arguments_of(e, x, o)));
  x.activations = {"Sigmoid", "LeakyRelu"};
  x.alpha = {};
  const auto by_default = f.run("GRU", expand(f, x, arguments_of(f, x, o)));
  x.alpha = {0, 0.125};
  expect_near(Oracle(x, o).y, found.at(0), 1e-11);
  x.alpha = {0, 0.01};
  expect_near(Oracle(x, o).y, by_default.at(0), 1e-11);
}

TEST(Recurrent, TheBatchNeedNotBeKnown) {
  for (Cell cell : kCells) {
    check({.cell = cell, .unknown_batch = true});
    check({.cell = cell, .batch_first = true, .lengths = {1, 4, 2}, .unknown_batch = true});
  }
}

TEST(Recurrent, YIsMadeOnlyWhenItIsWanted) {
  for (Cell cell : kCells) {
    Expanded e;
    const Example x{.cell = cell, .lengths = {2, 4, 1}};
    const Operands o = operands_of(e, x);
    LstmArguments a = arguments_of(e, x, o);
    a.wants_y = false;
    const auto outputs = expand(e, x, a);
    ASSERT_TRUE(outputs);
    EXPECT_EQ(outputs->at(0), kNoValue);
    expect_near(Oracle(x, o).h, e.run(name_of_cell(cell), outputs).at(0), 1e-11);
  }
}

// A step adds a bounded number of nodes, and a long sequence takes no longer a step than a short one.
TEST(Recurrent, LongSequencesAreUnrolled) {
  Expanded e;
  const Example x{.cell = Cell::kLstm, .T = graph::expansions::kMostSteps, .B = 1, .I = 1, .H = 1};
  const Operands o = operands_of(e, x);
  ASSERT_TRUE(expand(e, x, arguments_of(e, x, o)));
  EXPECT_LT(e.g.nodes().size(), static_cast<size_t>(x.T) * 40);
}

void refuse(const std::string& words, const std::function<void(Expanded&, LstmArguments&)>& change, Example x = {}) {
  Expanded e;
  const Operands o = operands_of(e, x);
  LstmArguments a = arguments_of(e, x, o);
  change(e, a);
  Expanded::refused(expand(e, x, a), name_of_cell(x.cell), words);
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  using A = LstmArguments;
  refuse("expected float32 or float64", [](Expanded& e, A& a) { a.x = e.fed(DType::kInt64, e.random({4, 3, 2})); });
  refuse("layout 2", [](Expanded&, A& a) { a.layout = 2; });
  refuse("direction 'up'", [](Expanded&, A& a) { a.direction = "up"; });
  refuse("clip is not", [](Expanded&, A& a) { a.clip = 0; });
  refuse("X has rank 2", [](Expanded& e, A& a) { a.x = e.fed(e.random({4, 3})); });
  refuse("the length of the sequences must be known", [](Expanded& e, A& a) { a.x = e.fed(e.random({4, 3, 2}), {0}); });
  refuse("0 steps, expected 1 to 4096", [](Expanded& e, A& a) { a.x = e.fed(e.random({0, 3, 2})); });
  refuse("4097 steps, expected 1 to 4096", [](Expanded& e, A& a) { a.x = e.fed(e.random({4097, 1, 2})); });
  refuse("sizes of the input and of the state", [](Expanded& e, A& a) { a.x = e.fed(e.random({4, 3, 0})); });
  refuse("hidden_size is 6, R has 5", [](Expanded&, A& a) { a.hidden_size = 6; });
  refuse("W or R is absent", [](Expanded&, A& a) { a.w = kNoValue; });
  refuse("W has shape [1, 5, 3], expected [1, 5, 2]", [](Expanded& e, A& a) { a.w = e.fed(e.random({1, 5, 3})); });
  refuse("R has shape [2, 5, 5]", [](Expanded& e, A& a) { a.r = e.fed(e.random({2, 5, 5})); });
  refuse("B has shape [1, 5]", [](Expanded& e, A& a) { a.b = e.fed(e.random({1, 5})); });
  refuse("P has shape [1, 5], expected [1, 15]",
         [](Expanded& e, A& a) {
           a.p = e.fed(e.random({1, 5}));
         },
         {.cell = Cell::kLstm});
  refuse("sequence_lens has shape [2]",
         [](Expanded& e, A& a) { a.sequence_lens = e.fed(DType::kInt32, e.random({2})); });
  refuse("sequence_lens are no integers", [](Expanded& e, A& a) { a.sequence_lens = e.fed(e.random({3})); });
  refuse("an initial state has shape [3, 1, 5]", [](Expanded& e, A& a) { a.initial_h = e.fed(e.random({3, 1, 5})); });
  refuse("2 activations, expected 1", [](Expanded&, A& a) { a.activations = {"Tanh", "Tanh"}; });
  refuse("activation 'Sinus' is not known", [](Expanded&, A& a) { a.activations = {"Sinus"}; });
  refuse("activation 'ScaledTanh' needs a number", [](Expanded&, A& a) {
    a.activations = {"ScaledTanh"};
    a.activation_alpha = {2};
  });
  refuse("that is not finite", [](Expanded&, A& a) {
    a.activations = {"Elu"};
    a.activation_alpha = {std::numeric_limits<double>::infinity()};
  });
}

}  // namespace
}  // namespace isobit::runtime
