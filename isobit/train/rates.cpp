#include "isobit/train/rates.h"

#include "isobit/kernels/optimizer/optimizer.h"

namespace isobit::train {

Tensor rate_of(const Job& job, uint64_t step, DType dtype, uint64_t before) {
  const auto done = static_cast<int64_t>(step) - 1;
  if (dtype == DType::kInt64) return Tensor::scalar<int64_t>(done);
  if (before == 0) return Tensor::scalar(learning_rate(job, done));
  const double beta = before == 1 ? job.beta1 : job.beta2;
  return Tensor::scalar(kernels::beta_power(beta, done) * beta);
}

}  // namespace isobit::train
