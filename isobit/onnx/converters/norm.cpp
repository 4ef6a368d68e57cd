// Normalisations (isobit/graph/expansions/normalisation.h).
#include "isobit/base/text.h"
#include "isobit/graph/expansions/normalisation.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

namespace expansions = graph::expansions;

// Before opset 9 a mean could be asked for of each place, not of each channel; before opset 14 outputs 1 to 4 said that
// the node was one of training.
Expected<Operands> batch_norm(Conversion& c) {
  ISOBIT_TRY(const int64_t spatial, c.integer("spatial", 1));
  if (spatial != 1) return c.error("'spatial' is 0: isobit normalises by channel only");
  for (int i = 1; c.opset() < 14 && i < c.output_count(); ++i) {
    if (c.has_output(i)) return c.error(text_of("output ", i, " is there in training only"));
  }
  return expanded(c, expansions::batch_normalization);
}

}  // namespace

void add_norm_rows(Table& table) {
  table.own("BatchNormalization", batch_norm).to("BatchNormalization").without("spatial", 1);
  // Means and deviations have the type of stash_type.
  table.expanded("LayerNormalization", expansions::layer_normalization).own_type(1).own_type(2);
  table.expanded("RMSNormalization", expansions::rms_normalization);
  table.expanded("InstanceNormalization", expansions::instance_normalization);
  table.expanded("GroupNormalization", expansions::group_normalization_by_group).since(18).until(20);
  table.expanded("GroupNormalization", expansions::group_normalization).since(21);
  table.expanded("MeanVarianceNormalization", expansions::mean_variance_normalization);
  table.expanded("LpNormalization", expansions::lp_normalization);
  table.same("LRN");
}

}  // namespace isobit::onnx
