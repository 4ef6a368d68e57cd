// DFT, STFT and the windows of spectra (ONNX opset 17 to 20), as products with constant matrices.
//
// The matrices are cosines and sines of whole fractions of a turn in float64 (numerics/turns.h), rounded to the type of
// the signal. A complex number is two numbers in the last axis; a real signal has one there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

// Of the constant that an expansion of these makes, if no caller says less.
inline constexpr uint64_t kMostSpectrumBytes = uint64_t{1} << 30;

struct DftArguments {
  std::string name;
  ValueId x = kNoValue;                    // [.., n at `axis`, .., 1 or 2]; n and the 1 or 2 known before the run
  std::optional<int64_t> dft_length = {};  // N; n when absent. The signal is cut or continued by zeros
  int64_t axis = -2;
  bool inverse = false, onesided = false;
  uint64_t most_bytes = kMostSpectrumBytes;
};

// X[k] = sum over j of x[j] e^(-2 pi i j k / N), or with inverse (1 / N) sum of x[j] e^(2 pi i j k / N), for k below N,
// or up to N / 2 with onesided, which is for real signals that are not transformed back. Real and imaginary parts stand
// side by side, each one inner product of length n, or of 2 n for complex signals in the order re, im, re, im ...
Expected<std::vector<ValueId>> dft(Graph& graph, const DftArguments& arguments);

struct StftArguments {
  std::string name;
  ValueId signal = kNoValue;  // [B, L] or [B, L, 1 or 2]
  int64_t frame_step = 0;
  ValueId window = kNoValue;                 // [frame_length], of the signal's type; none: all 1
  std::optional<int64_t> frame_length = {};  // the window's extent when absent
  bool onesided = true;
  uint64_t most_bytes = kMostSpectrumBytes;
};

// [B, frames, bins, 2]: DFT of frame f, which begins at f * frame_step and lies wholly in the signal, each element
// times that of the window. As a convolution of the signal with the rows of the DFT's matrix, which are multiplied by
// the window first (one rounding).
Expected<std::vector<ValueId>> stft(Graph& graph, const StftArguments& arguments);

enum class WindowFunction { kHann, kHamming, kBlackman };

struct WindowFunctionArguments {
  std::string name;
  WindowFunction function = WindowFunction::kHann;
  ValueId size = kNoValue;  // int32 or int64, one element
  bool periodic = true;
  DType output = DType::kFloat32;  // or float64
  uint64_t most_bytes = kMostSpectrumBytes;
};

// a0 - a1 cos(2 pi i / N) + a2 cos(4 pi i / N), i below the size, N the size, or one less when not periodic; (a0, a1,
// a2) is (0.5, 0.5, 0), (25/46, 21/46, 0), (0.42, 0.5, 0.08). A size that is known makes a constant, computed in
// float64 and rounded once; one that is not is computed in float32 by operators, as in ONNX's function.
Expected<std::vector<ValueId>> window_function(Graph& graph, const WindowFunctionArguments& arguments);

struct MelWeightMatrixArguments {
  std::string name;
  // One element each, known before the run: int32 or int64, and float32 or float64 for the last two.
  ValueId num_mel_bins = kNoValue, dft_length = kNoValue, sample_rate = kNoValue;
  ValueId lower_edge_hertz = kNoValue, upper_edge_hertz = kNoValue;
  DType output = DType::kFloat32;  // or float64
  uint64_t most_bytes = kMostSpectrumBytes;
};

// [dft_length / 2 + 1, num_mel_bins], a constant: triangles whose corners are equally far apart in mel, 2595 log10(1 +
// f / 700), computed in float64 by numerics' log and exp, and then rounded down to places of the spectrum.
Expected<std::vector<ValueId>> mel_weight_matrix(Graph& graph, const MelWeightMatrixArguments& arguments);

}  // namespace isobit::graph::expansions
