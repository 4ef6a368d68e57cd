// Spectra and their windows against plain loops in double.
#include <algorithm>
#include <complex>
#include <limits>

#include "isobit/graph/expansions/spectrum.h"
#include "isobit/runtime/expansions_for_test.h"

namespace isobit::runtime {
namespace {

using graph::expansions::dft;
using graph::expansions::DftArguments;
using graph::expansions::mel_weight_matrix;
using graph::expansions::MelWeightMatrixArguments;
using graph::expansions::stft;
using graph::expansions::StftArguments;
using graph::expansions::window_function;
using graph::expansions::WindowFunction;
using graph::expansions::WindowFunctionArguments;
using Complex = std::complex<double>;

constexpr double kPi = 3.14159265358979323846;

Array list(const std::vector<double>& values) { return {{static_cast<int64_t>(values.size())}, values}; }
Array number(double x) { return {{}, {x}}; }

// A signal and its transform, both along one axis.
std::vector<Complex> transformed(const std::vector<Complex>& x, int64_t length, bool inverse) {
  std::vector<Complex> out;
  for (int64_t k = 0; k < length; ++k) {
    Complex sum = 0;
    for (int64_t j = 0; j < std::min(length, static_cast<int64_t>(x.size())); ++j) {
      const double angle = (inverse ? 2 : -2) * kPi * static_cast<double>(j * k % length) / static_cast<double>(length);
      sum += x[static_cast<size_t>(j)] * std::polar(1.0, angle);
    }
    out.push_back(inverse ? sum / static_cast<double>(length) : sum);
  }
  return out;
}

struct Example {
  Ints dims;  // the last one: 1 or 2
  int64_t axis = -2;
  int64_t length = 0;  // 0: that of the axis
  bool inverse = false, onesided = false;
  std::set<int> unknown = {};
};

Array expected(const Example& x, const Array& in) {
  const auto rank = static_cast<int64_t>(x.dims.size()), axis = x.axis < 0 ? x.axis + rank : x.axis;
  const int64_t n = x.dims[static_cast<size_t>(axis)], parts = x.dims.back(), length = x.length == 0 ? n : x.length;
  const int64_t bins = x.onesided ? length / 2 + 1 : length;
  Ints dims = x.dims;
  dims[static_cast<size_t>(axis)] = bins;
  dims.back() = 2;
  Array out = Array::zeros(dims);
  const int64_t inner = Shape(x.dims).elements(static_cast<int>(axis) + 1, static_cast<int>(rank) - 1);
  const int64_t outer = Shape(x.dims).elements(0, static_cast<int>(axis));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      std::vector<Complex> signal;
      for (int64_t j = 0; j < n; ++j) {
        const auto at = static_cast<size_t>(((o * n + j) * inner + i) * parts);
        signal.emplace_back(in.values[at], parts == 2 ? in.values[at + 1] : 0);
      }
      const auto spectrum = transformed(signal, length, x.inverse);
      for (int64_t k = 0; k < bins; ++k) {
        const auto at = static_cast<size_t>(((o * bins + k) * inner + i) * 2);
        out.values[at] = spectrum[static_cast<size_t>(k)].real();
        out.values[at + 1] = spectrum[static_cast<size_t>(k)].imag();
      }
    }
  }
  return out;
}

DftArguments arguments_of(const Example& x, ValueId signal) {
  DftArguments a{.name = "n", .x = signal, .axis = x.axis, .inverse = x.inverse, .onesided = x.onesided};
  if (x.length != 0) a.dft_length = x.length;
  return a;
}

void check(const Example& x, DType dtype = DType::kFloat64, double tolerance = 1e-13) {
  Expanded e(dtype);
  const Array in = e.random(x.dims);
  const auto found = e.run("DFT", dft(e.g, arguments_of(x, e.fed(in, x.unknown))));
  ASSERT_EQ(found.size(), 1U);
  expect_near(expected(x, in), found[0], tolerance);
}

TEST(Dft, OfEveryAxisLengthAndSide) {
  for (int64_t parts : {1, 2}) {
    for (int64_t axis : {0, 1, 2, -2, -4}) check({.dims = {3, 5, 8, parts}, .axis = axis});
    for (int64_t length : {1, 2, 5, 8, 13}) {
      check({.dims = {3, 8, parts}, .length = length});
      check({.dims = {3, 8, parts}, .length = length, .inverse = true});
    }
    check({.dims = {7, parts}, .axis = 0});
  }
  for (int64_t length : {1, 4, 7}) check({.dims = {2, 6, 1}, .length = length, .onesided = true});
}

TEST(Dft, InFloat32AndOfUnknownBatches) {
  check({.dims = {3, 16, 2}}, DType::kFloat32, 1e-5);
  check({.dims = {3, 8, 4, 1}, .axis = 1, .unknown = {0}});
}

// Sines at whole halves of a turn are 0 to the bit.
TEST(Dft, TheFirstAndTheMiddleBinOfARealSignalAreReal) {
  Expanded e;
  const auto found = e.run("DFT", dft(e.g, {.name = "n", .x = e.fed(e.random({4, 1})), .axis = 0}));
  EXPECT_EQ(found.at(0).values[1], 0);
  EXPECT_EQ(found.at(0).values[5], 0);
}

TEST(Dft, RefusesWhatDoesNotFit) {
  const auto refuse = [](const std::string& words, const Example& x, DType dtype = DType::kFloat64) {
    Expanded e;
    Expanded::refused(dft(e.g, arguments_of(x, e.fed(dtype, e.random(x.dims), x.unknown))), "DFT", words);
  };
  refuse("the signal has rank 1", {.dims = {2}});
  refuse("axis 2 is not one", {.dims = {3, 4, 1}, .axis = 2});
  refuse("axis -1 is not one", {.dims = {3, 4, 1}, .axis = -1});
  refuse("axis -4 is not one", {.dims = {3, 4, 1}, .axis = -4});
  refuse("the length of the signal must be known", {.dims = {3, 4, 1}, .unknown = {1}});
  refuse("the last axis has 3 places", {.dims = {3, 4, 3}});
  refuse("expected float32 or float64", {.dims = {3, 4, 1}}, DType::kInt64);
  refuse("a transform of length -1", {.dims = {3, 4, 1}, .length = -1});
  refuse("a transform of length 268435457", {.dims = {3, 4, 1}, .length = (1 << 28) + 1});
  refuse("is too large", {.dims = {3, 4, 1}, .length = 1 << 28});
  refuse("onesided is for real signals", {.dims = {3, 4, 2}, .onesided = true});
  refuse("onesided is for real signals", {.dims = {3, 4, 1}, .inverse = true, .onesided = true});
  Expanded e;
  const ValueId unknown = e.g.add_input("x", DType::kFloat64, graph::kUnknownRank);
  Expanded::refused(dft(e.g, {.name = "n", .x = unknown}), "DFT", "must be known before the run");
}

void check_stft(const Ints& dims, int64_t step, int64_t length, bool window, bool onesided) {
  Expanded e;
  const Array signal = e.random(dims), weights = e.random({length});
  StftArguments a{.name = "n", .signal = e.fed(signal), .frame_step = step, .onesided = onesided};
  if (window) a.window = e.fed(weights);
  if (!window) a.frame_length = length;
  const int64_t parts = dims.size() == 3 ? dims[2] : 1, frames = (dims[1] - length) / step + 1;
  const int64_t bins = onesided ? length / 2 + 1 : length;
  Array out = Array::zeros({dims[0], frames, bins, 2});
  for (int64_t b = 0; b < dims[0]; ++b) {
    for (int64_t f = 0; f < frames; ++f) {
      std::vector<Complex> frame;
      for (int64_t j = 0; j < length; ++j) {
        const auto at = static_cast<size_t>((b * dims[1] + f * step + j) * parts);
        const double w = window ? weights.values[static_cast<size_t>(j)] : 1;
        frame.emplace_back(w * signal.values[at], parts == 2 ? w * signal.values[at + 1] : 0);
      }
      const auto spectrum = transformed(frame, length, false);
      for (int64_t k = 0; k < bins; ++k) {
        out({b, f, k, 0}) = spectrum[static_cast<size_t>(k)].real();
        out({b, f, k, 1}) = spectrum[static_cast<size_t>(k)].imag();
      }
    }
  }
  const auto found = e.run("STFT", stft(e.g, a));
  ASSERT_EQ(found.size(), 1U);
  expect_near(out, found[0], 1e-12);
}

TEST(Stft, OfEveryFrameWindowAndSide) {
  for (const Ints& dims : {Ints{2, 40}, Ints{2, 40, 1}}) {
    for (bool window : {false, true}) {
      for (bool onesided : {false, true}) {
        check_stft(dims, 8, 16, window, onesided);
        check_stft(dims, 3, 7, window, onesided);
        check_stft(dims, 50, 40, window, onesided);
      }
    }
  }
  check_stft({1, 30, 2}, 4, 8, true, false);
}

TEST(Stft, RefusesWhatDoesNotFit) {
  const auto refuse = [](const std::string& words, const std::function<void(Expanded&, StftArguments&)>& change) {
    Expanded e;
    StftArguments a{.name = "n", .signal = e.fed(e.random({2, 40})), .frame_step = 8, .frame_length = 16};
    change(e, a);
    Expanded::refused(stft(e.g, a), "STFT", words);
  };
  using A = StftArguments;
  refuse("the signal has rank 1", [](Expanded& e, A& a) { a.signal = e.fed(e.random({40})); });
  refuse("the window needs rank 1", [](Expanded& e, A& a) { a.window = e.fed(e.random({4, 4})); });
  refuse("neither a window nor a frame_length", [](Expanded&, A& a) { a.frame_length.reset(); });
  refuse("the length of a frame must be known", [](Expanded&, A& a) { a.frame_length = 0; });
  refuse("a window of 12 places for frames of 16", [](Expanded& e, A& a) { a.window = e.fed(e.random({12})); });
  refuse("frame_step is 0", [](Expanded&, A& a) { a.frame_step = 0; });
  refuse("onesided is for real signals", [](Expanded& e, A& a) { a.signal = e.fed(e.random({2, 40, 2})); });
  refuse("larger than the padded source", [](Expanded&, A& a) { a.frame_length = 41; });
  refuse("must be known before the run",
         [](Expanded& e, A& a) { a.signal = e.g.add_input("x", DType::kFloat64, graph::kUnknownRank); });
}

double window_at(WindowFunction function, int64_t i, int64_t n) {
  const double angle = 2 * kPi * static_cast<double>(i) / static_cast<double>(n);
  if (function == WindowFunction::kHann) return 0.5 - 0.5 * std::cos(angle);
  if (function == WindowFunction::kHamming) return 25.0 / 46 - 21.0 / 46 * std::cos(angle);
  return 0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle);
}

TEST(WindowFunctions, OfSizesThatAreKnownAndOfOthers) {
  const char* const names[] = {"HannWindow", "HammingWindow", "BlackmanWindow"};
  for (WindowFunction function : {WindowFunction::kHann, WindowFunction::kHamming, WindowFunction::kBlackman}) {
    for (bool periodic : {false, true}) {
      for (bool known : {false, true}) {
        for (DType output : {DType::kFloat32, DType::kFloat64}) {
          Expanded e;
          WindowFunctionArguments a{.name = "n", .function = function, .periodic = periodic, .output = output};
          a.size = known ? e.known(DType::kInt32, number(10)) : e.fed(DType::kInt64, list({10}));
          Array wanted = Array::zeros({10});
          for (int64_t i = 0; i < 10; ++i) {
            wanted.values[static_cast<size_t>(i)] = window_at(function, i, periodic ? 10 : 9);
          }
          const auto found = e.run(names[static_cast<size_t>(function)], window_function(e.g, a));
          ASSERT_EQ(found.size(), 1U);
          expect_near(wanted, found[0], known && output == DType::kFloat64 ? 1e-15 : 1e-6);
        }
      }
    }
  }
}

TEST(WindowFunctions, RefuseWhatDoesNotFit) {
  const auto refuse = [](const std::string& words, const std::function<void(Expanded&, WindowFunctionArguments&)>& f) {
    Expanded e;
    WindowFunctionArguments a{.name = "n"};
    a.size = e.known(DType::kInt64, number(10));
    f(e, a);
    Expanded::refused(window_function(e.g, a), "HannWindow", words);
  };
  using A = WindowFunctionArguments;
  refuse("output as int32", [](Expanded&, A& a) { a.output = DType::kInt32; });
  refuse("the size is no integer", [](Expanded& e, A& a) { a.size = e.known(DType::kFloat32, number(10)); });
  refuse("the size is no integer", [](Expanded& e, A& a) { a.size = e.fed(DType::kInt64, e.random({1, 1})); });
  refuse("the size is not 1 to", [](Expanded& e, A& a) { a.size = e.known(DType::kInt64, number(0)); });
  refuse("the size is not 1 to", [](Expanded& e, A& a) { a.size = e.known(DType::kInt64, number(0x1p40)); });
  refuse("has no period", [](Expanded& e, A& a) {
    a.size = e.known(DType::kInt64, number(1));
    a.periodic = false;
  });
}

MelWeightMatrixArguments mel_of(Expanded& e, double bins, double length, double rate, double lower, double upper) {
  MelWeightMatrixArguments a{.name = "n"};
  a.num_mel_bins = e.known(DType::kInt32, number(bins));
  a.dft_length = e.known(DType::kInt32, number(length));
  a.sample_rate = e.known(DType::kInt64, number(rate));
  a.lower_edge_hertz = e.known(DType::kFloat32, number(lower));
  a.upper_edge_hertz = e.known(DType::kFloat32, number(upper));
  return a;
}

// As the text of the operator says it, bin by bin.
Array mel_oracle(int64_t bins, int64_t length, double rate, double lower, double upper) {
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  std::vector<int64_t> corners;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double at = static_cast<double>(i) * (mel(upper) - mel(lower)) / static_cast<double>(bins + 2) + mel(lower);
    const double hertz = 700 * (std::pow(10, at / 2595) - 1);
    corners.push_back(static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  Array out = Array::zeros({length / 2 + 1, bins});
  for (int64_t i = 0; i < bins; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t left = corners[at], middle = corners[at + 1], right = corners[at + 2];
    for (int64_t j = left; j < right; ++j) {
      out({j, i}) = j < middle ? static_cast<double>(j - left) / static_cast<double>(middle - left)
                               : static_cast<double>(right - j) / static_cast<double>(right - middle);
    }
    out({middle, i}) = 1;
  }
  return out;
}

TEST(MelWeightMatrix, HasTrianglesThatAreEquallyWideInMel) {
  for (int64_t bins : {1, 8, 40}) {
    for (int64_t length : {16, 400, 1024}) {
      Expanded e;
      const auto found = e.run(
          "MelWeightMatrix",
          mel_weight_matrix(e.g, mel_of(e, static_cast<double>(bins), static_cast<double>(length), 8192, 20, 4000)));
      ASSERT_EQ(found.size(), 1U);
      expect_near(mel_oracle(bins, length, 8192, 20, 4000), found[0], 1e-7);
    }
  }
}

TEST(MelWeightMatrix, RefusesWhatDoesNotFit) {
  const auto refuse = [](const std::string& words, double bins, double length, double rate, double lower,
                         double upper) {
    Expanded e;
    Expanded::refused(mel_weight_matrix(e.g, mel_of(e, bins, length, rate, lower, upper)), "MelWeightMatrix", words);
  };
  refuse("input 0 is 0", 0, 16, 8192, 0, 4096);
  refuse("input 1 is -16", 8, -16, 8192, 0, 4096);
  refuse("input 2 is 0", 8, 16, 0, 0, 4096);
  refuse("the edges are not", 8, 16, 8192, 4096, 0);
  refuse("the edges are not", 8, 16, 8192, -1, 4096);
  refuse("the edges are not", 8, 16, 8192, 0, std::numeric_limits<double>::infinity());
  refuse("is above the spectrum", 8, 16, 8192, 0, 1e30);
  refuse("a matrix of [8388609, 1024] is too large", 1024, 1 << 24, 8192, 0, 4096);
  Expanded e;
  MelWeightMatrixArguments a = mel_of(e, 8, 16, 8192, 0, 4096);
  a.output = DType::kInt64;
  Expanded::refused(mel_weight_matrix(e.g, a), "MelWeightMatrix", "output as int64");
  a.num_mel_bins = e.fed(DType::kInt32, number(8));
  Expanded::refused(mel_weight_matrix(e.g, a), "MelWeightMatrix", "known before the run");
}

}  // namespace
}  // namespace isobit::runtime
