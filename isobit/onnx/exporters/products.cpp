// Inner products.
#include <algorithm>
#include <numeric>

#include "isobit/onnx/exporter_internal.h"

namespace isobit::onnx {
namespace {

// ONNX's takes matrices as they lie.
Status matmul(Writing& w) {
  Names inputs = w.names_in();
  const char* const flags[] = {"transA", "transB"};
  for (int i = 0; i < 2; ++i) {
    if (w.attributes().integer(flags[i], 0) == 0) continue;
    if (!w.in(i).has_rank()) return w.error("the ranks of both inputs have to be known before the run");
    std::vector<int64_t> perm(w.in(i).dims.size());
    std::iota(perm.begin(), perm.end(), int64_t{0});
    std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
    inputs[static_cast<size_t>(i)] = w.add("Transpose", {w.name_in(i)}, {attribute("perm", std::move(perm))},
                                           i == 0 ? "a_transposed" : "b_transposed");
  }
  w.add_last("MatMul", std::move(inputs), {});
  return {};
}

}  // namespace

void add_product_writers(WriterTable& table) {
  table.own("MatMul", matmul);
  for (const char* op : {"Gemm", "Conv", "ConvTranspose", "Det"}) table.same(op);
}

}  // namespace isobit::onnx
