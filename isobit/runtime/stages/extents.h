// How large each real value of a graph is, as far as it is known without another pass over it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "isobit/graph/op.h"
#include "isobit/kernels/rounding/matrix_norms.h"
#include "isobit/kernels/rounding/table.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

// Whether the operands of an inner product are matrices, not images and windows.
inline bool has_matrices(const graph::Node& node) {
  const graph::ProductForm form = graph::op_of(node).product;
  return form == graph::ProductForm::kMatmul || form == graph::ProductForm::kGemm;
}

class Extents {
 public:
  using Extent = kernels::rounding::Extent;

  // Before a run of the graph. Without it nothing is remembered, and every tensor is measured.
  void begin(const graph::Graph& graph);
  // At least that of the tensor, the value `id`.
  Extent of(const kernels::KernelContext& ctx, graph::ValueId id, const Tensor& tensor);
  // Whether the norms of its matrices, those of the last two dimensions, take little memory beside the tensor: an
  // eighth.
  static bool keeps_norms_of(const Tensor& tensor);
  // The norms of the rows and columns of the value's matrices, kept for the next product that reads it. REQUIRES
  // keeps_norms_of(tensor).
  std::shared_ptr<const kernels::rounding::MatrixNorms> norms_of(const kernels::KernelContext& ctx, graph::ValueId id,
                                                                 const Tensor& tensor);
  // Whether anybody will ask for it: a convolution of the graph, a product for its bias, or one of them for what is
  // moved from it.
  bool wants(graph::ValueId id) const {
    return id != graph::kNoValue && !extents_.empty() &&
           wanted_[static_cast<size_t>(same_as_[static_cast<size_t>(id)])];
  }
  void set(graph::ValueId id, const Extent& extent);
  // After an element of the value has become x.
  void include(graph::ValueId id, double x);
  // Of an output of the call, from what its elements were moved from. REQUIRES a `def` that names some inputs.
  void set_of_moved(const KernelCall& call, const graph::OutputDef& def, size_t output);

 private:
  static constexpr double kUnknown = -1;  // for a peak
  Extent* find(graph::ValueId id);
  void find_wanted(const graph::Graph& graph);

  std::vector<graph::ValueId> same_as_;  // the value whose elements a view has
  std::vector<Extent> extents_;
  std::vector<char> wanted_;
  std::map<graph::ValueId, std::shared_ptr<const kernels::rounding::MatrixNorms>> norms_;  // of what views are of
};

}  // namespace isobit::runtime
