#include "isobit/run/network.h"

#include "isobit/run/imported_network.h"
#include "isobit/run/initial_weights.h"

namespace isobit::run {

bool declares_network(const train::Job& job) { return !models::traits_of(job.model.builder).is_file; }

bool names_files(const train::Job& job) {
  return !declares_network(job) || !job.model.onnx.empty() || !job.model.weights.empty();
}

Expected<std::shared_ptr<const models::Network>> open_network(const train::Job& job, const Limits& limits) {
  std::shared_ptr<const models::Network> network = models::built_in();
  if (!job.model.onnx.empty()) {
    ISOBIT_TRY(network, ImportedNetwork::open(job.model.onnx, job.model.outputs, limits));
  } else if (!declares_network(job)) {
    return tl::unexpected<Error>(network->build(job.model).error());  // says what to do
  }
  if (job.model.weights.empty()) return network;
  ISOBIT_TRY(network, InitialWeights::open(job.model.weights, std::move(network), limits,
                                           models::weight_names_of(job.model.builder)));
  return network;
}

}  // namespace isobit::run
