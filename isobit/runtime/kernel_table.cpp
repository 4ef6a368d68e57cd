#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

const KernelTable& kernel_table() {
  static const KernelTable kTable = [] {
    KernelTable table;
    add_elementwise_kernels(table);
    add_activation_kernels(table);
    add_logic_kernels(table);
    add_quantize_kernels(table);
    add_linear_kernels(table);
    add_pool_kernels(table);
    add_columns_kernels(table);
    add_sampling_kernels(table);
    add_detection_kernels(table);
    add_quantized_product_kernels(table);
    add_norm_kernels(table);
    add_softmax_kernels(table);
    add_reduce_kernels(table);
    add_order_kernels(table);
    add_movement_kernels(table);
    add_slicing_kernels(table);
    add_indexing_kernels(table);
    add_extent_kernels(table);
    add_optimizer_kernels(table);
    add_control_kernels(table);
    add_composite_kernels(table);
    return table;
  }();
  return kTable;
}

}  // namespace isobit::runtime
