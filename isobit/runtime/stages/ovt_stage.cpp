#include "isobit/runtime/stages/ovt_stage.h"

#include <atomic>

#include "isobit/base/text.h"
#include "isobit/kernels/rounding/places.h"
#include "isobit/kernels/rounding/steps.h"
#include "isobit/runtime/stages/inner_product.h"

namespace isobit::runtime {
namespace {

constexpr int64_t kGrain = 1 << 14;

// f(output) for every output that is rounded.
template <class F>
Status for_each_rounded(KernelCall& call, F f) {
  if (only_moves_values(call.node.op)) return {};
  for (size_t o = 0; o < call.outputs.size(); ++o) {
    const Tensor& tensor = call.outputs[o];
    if (tensor.defined() && tensor.dtype() == DType::kFloat64) ISOBIT_RETURN_IF_ERROR(f(static_cast<int>(o)));
  }
  return {};
}

}  // namespace

Status OvtRecorder::apply(size_t index, KernelCall& call) {
  const kernels::rounding::Steps& steps = kernels::rounding::steps_of(call.ctx.isa);
  const double threshold = rules_.threshold_of(call.node.op);
  return for_each_rounded(call, [&](int o) -> Status {
    Tensor& tensor = call.outputs[static_cast<size_t>(o)];
    double* x = tensor.data<double>();
    OvtOutput entry{static_cast<uint32_t>(index), static_cast<uint32_t>(o),
                    std::vector<uint8_t>(static_cast<size_t>(tensor.elements()))};
    std::atomic<uint64_t> written{0};
    const bool no_sign = is_inner_product(call.node.op);
    call.ctx.pool->parallel_for(tensor.elements(), kGrain, [&](int64_t begin, int64_t end) {
      steps.classify(end - begin, threshold, bits_, x + begin, entry.decisions.data() + begin);
      uint64_t own = 0;
      for (int64_t i = begin; i < end; ++i) own += entry.decisions[static_cast<size_t>(i)] != 1 ? 1 : 0;
      for (int64_t i = begin; no_sign && i < end; ++i) x[i] += 0.0;
      written += own;
    });
    LogCounts& counts = counts_[call.node.op];
    counts.elements += entry.decisions.size();
    counts.entries += written;
    log_.outputs.push_back(std::move(entry));
    return {};
  });
}

void OvtFollower::begin_step(OvtLog log) {
  log_ = std::move(log);
  next_ = 0;
  fault_.reset();
}

Status OvtFollower::end_step() {
  if (next_ == log_.outputs.size()) return {};
  return reject(text_of("node ", log_.outputs[next_].node), "the log has decisions for an output that takes none");
}

Status OvtFollower::reject(const std::string& op, const std::string& what) {
  fault_ = LogFault{op, text_of(op, ": ", what)};
  return rejected(fault_->what);
}

Status OvtFollower::apply(size_t index, KernelCall& call) {
  const kernels::rounding::Steps& steps = kernels::rounding::steps_of(call.ctx.isa);
  return for_each_rounded(call, [&](int o) -> Status {
    Tensor& tensor = call.outputs[static_cast<size_t>(o)];
    const OvtOutput* entry = next_ < log_.outputs.size() ? &log_.outputs[next_] : nullptr;
    if (entry == nullptr || entry->node != index || entry->output != static_cast<uint32_t>(o) ||
        entry->decisions.size() != static_cast<size_t>(tensor.elements())) {
      return reject(call.node.name,
                    text_of("the log has no decisions for its output ", o, " of ", tensor.elements(), " elements"));
    }
    ++next_;
    double* data = tensor.data<double>();
    const bool no_sign = is_inner_product(call.node.op);
    std::atomic<uint64_t> corrections{0}, entries{0};
    call.ctx.pool->parallel_for(tensor.elements(), kGrain, [&](int64_t begin, int64_t end) {
      const uint8_t* decisions = entry->decisions.data() + begin;
      std::vector<uint8_t> against(static_cast<size_t>(end - begin));
      uint64_t corrected = 0, read = 0;
      if (steps.compare(end - begin, decisions, bits_, data + begin, against.data())) {
        for (int64_t i = 0; i < end - begin; ++i) {
          if (against[static_cast<size_t>(i)] == 0) continue;
          data[begin + i] = kernels::rounding::neighbour(data[begin + i], decisions[i] == 2, bits_);
          ++corrected;
        }
      }
      for (int64_t i = begin; no_sign && i < end; ++i) data[i] += 0.0;
      for (int64_t i = 0; i < end - begin; ++i) read += decisions[i] != 1 ? 1 : 0;
      corrections += corrected;
      entries += read;
    });
    LogCounts& counts = counts_[call.node.op];
    counts.elements += entry->decisions.size();
    counts.entries += entries;
    counts.corrections += corrections;
    return {};
  });
}

}  // namespace isobit::runtime
