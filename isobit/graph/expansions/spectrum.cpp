#include "isobit/graph/expansions/spectrum.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"
#include "isobit/numerics/turns.h"

namespace isobit::graph::expansions {
namespace {

using Ints = std::vector<int64_t>;

struct Transform {
  int64_t length = 0;  // N
  int64_t rows = 0;    // of the signal that count: n, at most N
  int64_t bins = 0;
  int64_t parts = 1;  // 1 of a real signal, 2 of a complex one
  bool inverse = false;
};

// The factor of part p of x[j] in part q of X[k], p and q 0 for real and 1 for imaginary.
double factor(const Transform& t, int64_t j, int64_t k, int64_t p, int64_t q) {
  // Both are below 2^28, so that their product is counted.
  const numerics::SinCos w = numerics::sin_cos_of_turn(j * k % t.length, t.length);
  const double sine = t.inverse ? w.sin : 0 - w.sin;
  const double value = p == q ? w.cos : p == 0 ? sine : 0 - sine;
  return t.inverse ? value / static_cast<double>(t.length) : value;
}

// f(i) of n elements as a constant of `dtype`. REQUIRES float32 or float64.
template <class F>
Tensor constant_of(DType dtype, const Shape& shape, F&& f) {
  Tensor tensor(dtype, shape);
  by_type(FloatTypes{}, dtype, [&]<class T>(T) {
    T* out = tensor.data<T>();
    for (int64_t i = 0; i < tensor.elements(); ++i) out[i] = static_cast<T>(f(i));
  });
  return tensor;
}

// What a DFT and an STFT ask of N and of the sizes; false when it failed.
bool check_transform(Builder& b, const Transform& t, DType dtype, bool onesided, uint64_t most_bytes) {
  constexpr int64_t kMostLength = int64_t{1} << 28;
  b.require(dtype == DType::kFloat32 || dtype == DType::kFloat64,
            text_of("the signal is ", name_of(dtype), ", expected float32 or float64"));
  b.require(t.length >= 1 && t.length <= kMostLength,
            text_of("a transform of length ", t.length, ", expected 1 to ", kMostLength));
  b.require(t.parts == 1 || t.parts == 2, text_of("the last axis has ", t.parts, " places, expected 1 or 2"));
  b.require(!onesided || (t.parts == 1 && !t.inverse), "onesided is for real signals that are not transformed back");
  if (b.failed()) return false;
  const uint64_t most = std::min(most_bytes, kMostSpectrumBytes);
  const auto elements = checked_elements(Ints{t.rows * t.parts, 2 * t.bins}, dtype, most);
  return b.require(elements.has_value(),
                   text_of("the matrix of a transform of length ", t.length,
                           " is too large: ", "it takes more than the ", human_bytes(most), " that are left for it"));
}

int64_t bins_of(int64_t length, bool onesided) { return onesided ? length / 2 + 1 : length; }

}  // namespace

Expected<std::vector<ValueId>> dft(Graph& graph, const DftArguments& a) {
  Builder b(graph, "DFT", a.name);
  b.require_ranks({a.x});
  const int rank = b.rank(a.x);
  b.require(rank >= 2, text_of("the signal has rank ", rank, ", expected 2 or more"));
  const int64_t axis = a.axis < 0 ? a.axis + rank : a.axis;
  b.require(axis >= 0 && axis < rank - 1, text_of("axis ", a.axis, " is not one of a signal of rank ", rank));
  const int64_t n = b.failed() ? -1 : b.dim(a.x, static_cast<int>(axis));
  b.require(n >= 1, "the length of the signal must be known before the run, and not 0");
  const int64_t length = a.dft_length.value_or(n);
  const Transform t{.length = length,
                    .rows = std::min(n, length),
                    .bins = bins_of(length, a.onesided),
                    .parts = b.dim(a.x, -1),
                    .inverse = a.inverse};
  if (!check_transform(b, t, b.dtype(a.x), a.onesided, a.most_bytes)) return b.finish({});
  const Tensor matrix = constant_of(b.dtype(a.x), {t.rows * t.parts, 2 * t.bins}, [&](int64_t i) {
    const int64_t row = i / (2 * t.bins), column = i % (2 * t.bins);
    return factor(t, row / t.parts, column / 2, row % t.parts, column % 2);
  });
  // The axis stands before the parts of its numbers, and goes back behind the product.
  Ints order;
  for (int64_t i = 0; i + 1 < rank; ++i) {
    if (i != axis) order.push_back(i);
  }
  order.insert(order.end(), {axis, int64_t{rank - 1}});
  Ints back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  ValueId x = b.transpose(b.slice(a.x, axis, 0, t.rows, 1, "cut"), order, "signal");
  x = b.reshape_to(x, {t.rows * t.parts}, "rows", rank - 2);
  if (rank == 2) x = b.unsqueeze(x, {0}, "row");
  ValueId y = b.node("MatMul", {x, b.constant(matrix, "matrix")}, {}, "product");
  if (rank == 2) y = b.squeeze(y, {0}, "product");
  y = b.reshape_to(y, {t.bins, 2}, "bins", rank - 2);
  return b.finish({b.transpose(y, back, "spectrum")});
}

Expected<std::vector<ValueId>> stft(Graph& graph, const StftArguments& a) {
  Builder b(graph, "STFT", a.name);
  b.require_ranks({a.signal, a.window});
  const int rank = b.rank(a.signal);
  b.require(rank == 2 || rank == 3, text_of("the signal has rank ", rank, ", expected 2 or 3"));
  b.require(a.window == kNoValue || (b.rank(a.window) == 1 && b.dtype(a.window) == b.dtype(a.signal)),
            "the window needs rank 1 and the type of the signal");
  b.require(a.frame_length || a.window != kNoValue, "neither a window nor a frame_length is given");
  const int64_t length = a.frame_length.value_or(b.failed() ? -1 : b.dim(a.window, 0));
  b.require(length >= 1, "the length of a frame must be known before the run, and not 0");
  const int64_t window = a.window == kNoValue ? length : b.dim(a.window, 0);
  b.require(window < 0 || window == length, text_of("a window of ", window, " places for frames of ", length));
  constexpr int64_t kMostStep = 1 << 24;
  b.require(a.frame_step >= 1 && a.frame_step <= kMostStep,
            text_of("frame_step is ", a.frame_step, ", expected 1 to ", kMostStep));
  const Transform t{.length = length,
                    .rows = length,
                    .bins = bins_of(length, a.onesided),
                    .parts = rank == 2 ? 1 : b.dim(a.signal, 2)};
  if (!check_transform(b, t, b.dtype(a.signal), a.onesided, a.most_bytes)) return b.finish({});
  // Channels are the parts of a number; rows of the filter are the parts of a bin.
  const Tensor filter = constant_of(b.dtype(a.signal), {2 * t.bins, t.parts, 1, length}, [&](int64_t i) {
    const int64_t row = i / (t.parts * length), part = i / length % t.parts;
    return factor(t, i % length, row / 2, part, row % 2);
  });
  ValueId weights = b.constant(filter, "matrix");
  if (a.window != kNoValue) weights = b.mul(weights, a.window, "weights");
  const ValueId channels =
      rank == 2 ? b.unsqueeze(a.signal, {1}, "channel") : b.transpose(a.signal, {0, 2, 1}, "channels");
  const ValueId product =
      b.node("Conv", {b.unsqueeze(channels, {2}, "image"), weights}, {{"strides", Ints{1, a.frame_step}}}, "product");
  const ValueId frames = b.transpose(b.squeeze(product, {2}, "product"), {0, 2, 1}, "frames");
  return b.finish({b.reshape_to(frames, {t.bins, 2}, "spectrum", 2)});
}

}  // namespace isobit::graph::expansions
