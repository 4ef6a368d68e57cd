#include "isobit/kernels/vendor/algorithms/implicit_gemm.h"

#include <algorithm>

#include "isobit/base/scratch.h"
#include "isobit/kernels/product/windows.h"

namespace isobit::kernels::algorithms {
namespace {

using product::Windows;

struct Sizes {
  int64_t m, k, channels, taps, columns;  // of one group

  explicit Sizes(const ConvShape& s)
      : m(s.oc / s.groups),
        k(s.ic / s.groups * s.kh * s.kw),
        channels(s.ic / s.groups),
        taps(s.kh * s.kw),
        columns(s.n * s.oh() * s.ow()) {}
};

// [oc][channel][tap] to [oc][tap][channel].
void reorder_weights(const Sizes& z, int64_t rows, const float* weights, float* to) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < z.channels; ++c) {
      for (int64_t t = 0; t < z.taps; ++t) to[r * z.k + t * z.channels + c] = weights[r * z.k + c * z.taps + t];
    }
  }
}

// Terms [first, first + count) of columns [begin, end), a row for each term.
void gather(ThreadPool& pool, const Windows& w, const Sizes& z, const float* planes, int64_t first, int64_t count,
            int64_t begin, int64_t end, float* tile) {
  const auto copy = [](int64_t n, const float* from, float* to) { std::copy_n(from, n, to); };
  pool.parallel_for(count, grain_of(end - begin), [&](int64_t row, int64_t last) {
    for (; row < last; ++row) {
      const int64_t term = first + row, of_im2col = term % z.channels * z.taps + term / z.channels;
      product::read_row(w, planes, of_im2col, begin, end, tile + row * (end - begin), copy);
    }
  });
}

// sums [m][columns of the tile] to where they belong, with the bias.
void store(const ConvShape& s, const Sizes& z, int64_t group, int64_t begin, int64_t end, const float* sums,
           const Call& call) {
  const int64_t area = s.oh() * s.ow();
  for (int64_t i = 0; i < z.m; ++i) {
    const int64_t oc = group * z.m + i;
    const float* from = sums + i * (end - begin);
    for (int64_t j = begin; j < end; ++j) {
      const float sum = from[j - begin];
      call.dst[(j / area * s.oc + oc) * area + j % area] = call.bias == nullptr ? sum : sum + call.bias[oc];
    }
  }
}

}  // namespace

std::string ImplicitGemm::refuses(const ConvShape& s) const {
  const Sizes z(s);
  const int64_t floats = kWorkspaceBytes / static_cast<int64_t>(sizeof(float));
  // The weights in another order, two tiles of sums and one of terms.
  if (z.k > floats / s.oc || s.oc * z.k + kColumns * (2 * z.m + kTerms) > floats) {
    return "its weights do not fit the workspace";
  }
  return "";
}

Status ImplicitGemm::forward(const Call& call) {
  const ConvShape& s = call.shape;
  const Sizes z(s);
  const Windows w = product::forward_windows(s);
  ScratchVector<float> weights(static_cast<size_t>(s.oc * z.k)), terms(static_cast<size_t>(kTerms * kColumns));
  ScratchVector<float> sums(static_cast<size_t>(z.m * kColumns)), part(static_cast<size_t>(z.m * kColumns));
  reorder_weights(z, s.oc, call.weights, weights.data());
  for (int64_t group = 0; group < s.groups; ++group) {
    const float* planes = call.src + group * z.channels * w.plane();
    for (int64_t begin = 0; begin < z.columns; begin += kColumns) {
      const int64_t end = std::min(begin + kColumns, z.columns), width = end - begin;
      for (int64_t first = 0; first < z.k; first += kTerms) {
        GemmArgs<float> g;
        g.m = z.m, g.n = width, g.k = std::min(kTerms, z.k - first);
        gather(pool_, w, z, planes, first, g.k, begin, end, terms.data());
        g.a = weights.data() + group * z.m * z.k + first, g.lda = z.k;
        g.b = terms.data(), g.ldb = width;
        g.c = first == 0 ? sums.data() : part.data(), g.ldc = width;
        ISOBIT_RETURN_IF_ERROR(product_->multiply(g));
        for (int64_t i = 0; first > 0 && i < z.m * width; ++i)
          sums[static_cast<size_t>(i)] += part[static_cast<size_t>(i)];
      }
      store(s, z, group, begin, end, sums.data(), call);
    }
  }
  return {};
}

}  // namespace isobit::kernels::algorithms
