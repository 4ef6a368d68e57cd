#include "isobit/data/order.h"

#include <limits>

#include "isobit/base/status.h"
#include "isobit/numerics/philox.h"

namespace isobit::data {

EpochPosition epoch_position(int64_t batch, int64_t count, int64_t step, int64_t j) {
  ISOBIT_CHECK(batch > 0 && count > 0 && step >= 0 && j >= 0 && j < batch);
  ISOBIT_CHECK(step <= (std::numeric_limits<int64_t>::max() - j) / batch);
  const int64_t place = step * batch + j;
  return {place / count, place % count};
}

int64_t steps_of_epochs(int64_t epochs, int64_t batch, int64_t count) {
  ISOBIT_CHECK(epochs > 0 && batch > 0 && count > 0);
  ISOBIT_CHECK(epochs <= (std::numeric_limits<int64_t>::max() - batch) / count);
  return (epochs * count + batch - 1) / batch;
}

int64_t sample_index(uint64_t seed, int64_t batch, int64_t count, int64_t step, int64_t j) {
  const EpochPosition at = epoch_position(batch, count, step, j);
  ISOBIT_CHECK(at.epoch <= std::numeric_limits<uint32_t>::max());
  const numerics::Stream stream{seed, numerics::Purpose::kBatchOrder, static_cast<uint32_t>(at.epoch)};
  return static_cast<int64_t>(
      numerics::permute(stream, static_cast<uint64_t>(count), static_cast<uint64_t>(at.position)));
}

}  // namespace isobit::data
