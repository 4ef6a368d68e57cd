// The libraries that the ordered kernels are measured against, as they come from the Python registry into the
// environment that scripts/bench/libraries makes. OpenBLAS and MKL are opened by path, oneDNN is linked where its
// headers are; the normal build has none of them. $ISOBIT_BENCH_LIBRARIES is another environment than that of the
// build.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isobit/kernels/conv/conv.h"

namespace isobit::bench {

// Row-major c = a b, the operands dense; a transposed one lies as its transpose.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
};

struct Rival {
  std::string name, version;
  std::function<void(const Product&)> sgemm;
};

// Of those that are there and asked for by `wanted`, each told to use `threads`; says on stderr which are not there.
std::vector<Rival> blas_libraries(int threads, const std::function<bool(const std::string&)>& wanted);

enum class Pass { kForward, kGradSrc, kGradWeights };
constexpr const char* kPassNames[] = {"forward", "grad_src", "grad_weights"};

// A result that can be computed again and again.
struct Prepared {
  std::function<void()> run;
  std::function<void()> fetch;  // brings what was computed to where the caller's tensors lie; may be empty
};

// oneDNN uses as many threads as this process may run on processors when it is loaded.
namespace onednn {

std::string version();  // empty: it was not linked
void sgemm(const Product& product);
Prepared matmul(const Product& product);

// Where images lie; weights and the layout of kChosen are for oneDNN to choose for this pass. The reordering from and
// to the caller's layout, nchw, is part of the preparation and of fetch.
enum class Images { kChosen, kNchw, kNhwc };

// The gradients take the place of what they belong to. Without `run` where oneDNN has nothing but its reference loops.
Prepared convolution(const kernels::ConvShape& shape, Pass pass, float* src, float* weights, float* dst, Images images);

}  // namespace onednn
}  // namespace isobit::bench
