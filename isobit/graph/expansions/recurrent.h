// RNN, GRU and LSTM (ONNX opset 22), unrolled over time.
//
// x [T, B, I], w [D, g H, I], r [D, g H, H], b [D, 2 g H] (of w, then of r), sequence_lens int32 or int64 [B],
// initial_h and initial_c [D, B, H], p [D, 3 H] (of i, o, f); D is 2 for "bidirectional", else 1; g is 1, 3 (z, r, h)
// or 4 (i, o, f, c). With layout 1 time and batch change places in x ([B, T, I]), Y ([B, T, D, H]) and the states
// ([B, D, H]). An absent bias is none, an absent state is 0.
//
// For each direction, in this order of operations; every line but the first is computed once a step, and T steps at
// most kMostSteps are unrolled:
//
//   X  = x W^T + b     one product for all steps; b = Wb + Rb but for what is said of GRU
//   RNN    h' = f(X + h R^T)
//   GRU    [z, r] = f(X_zr + h R_zr^T)
//          n = g(X_n + (r * h) R_n^T)                            linear_before_reset 0
//          n = g(X_n + r * (h R_n^T + Rb_n)), b_n being Wb_n      linear_before_reset 1
//          h' = (1 - z) * n + z * h
//   LSTM   [i, o, f, c] = X + h R^T; i and f add P_i * C and P_f * C
//          i = f(i); f = f(f), or 1 - i where input_forget; c = g(c)
//          C' = f * C + i * c;  o adds P_o * C';  o = f(o);  h' = o * h(C')
//
// With clip c what an activation is given is clipped to [-c, c] first. Time runs backwards for "reverse" and for the
// second direction of "bidirectional". With sequence_lens a step at t >= the length of its sequence leaves the states
// as they are and gives 0 in Y, so that backwards a sequence begins at its own end.
//
// Known before the run: T, I, H, D. B need not be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

inline constexpr int64_t kMostSteps = 4096;

struct RecurrentArguments {
  std::string name;
  ValueId x = kNoValue, w = kNoValue, r = kNoValue;  // float32 or float64, one type
  ValueId b = kNoValue, sequence_lens = kNoValue, initial_h = kNoValue;
  std::string direction = "forward";
  int64_t hidden_size = 0;  // 0: absent; r says it
  int64_t layout = 0;
  std::optional<double> clip = {};
  // For each direction f (and g, and h). Empty: Tanh for RNN; Sigmoid, Tanh for GRU; Sigmoid, Tanh, Tanh for LSTM. Also
  // Relu, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, Softsign, Softplus, in any case of letters.
  std::vector<std::string> activations = {};
  // Taken in order by the activations that have such a number; the defaults of ONNX's operators when they are used up
  // (ScaledTanh has none, and is refused then).
  std::vector<double> activation_alpha = {}, activation_beta = {};
  bool wants_y = true;
};

struct GruArguments : RecurrentArguments {
  bool linear_before_reset = false;
};

struct LstmArguments : RecurrentArguments {
  ValueId initial_c = kNoValue, p = kNoValue;
  bool input_forget = false;
};

// Y (kNoValue unless wanted), Y_h.
Expected<std::vector<ValueId>> rnn(Graph& graph, const RecurrentArguments& arguments);
Expected<std::vector<ValueId>> gru(Graph& graph, const GruArguments& arguments);
// Y (kNoValue unless wanted), Y_h, Y_c.
Expected<std::vector<ValueId>> lstm(Graph& graph, const LstmArguments& arguments);

}  // namespace isobit::graph::expansions
