// Any sparse log before an auditor: no crash, and what is accepted is the honest value wherever no rounding boundary is
// within the sound bound, and lies within that bound and half a spacing of the exact value elsewhere.
#include <algorithm>

#include "fuzz/follower_fuzz.h"
#include "isobit/graph/op.h"
#include "isobit/runtime/stages/inner_product.h"
#include "isobit/runtime/stages/sparse_stage.h"

using namespace isobit;

namespace {

struct Known {
  double own = 0, exact = 0, magnitude = 0;
  double sound = 0;  // how far any classical result may lie from the exact value, the rounding of ends included
};

// The net and its outputs without a log, by node and position; `exact` by sums in long double, which is enough here.
class Honest final : public runtime::Observer {
 public:
  Honest() {
    runtime::RoundingStage rounding(32);
    ISOBIT_CHECK(net.run(rounding, this).has_value());
  }
  Status after_stage(const runtime::NodeRun& run) override {
    outputs.resize(run.index + 1);
    std::vector<Known>& known = outputs[run.index];
    known.resize(static_cast<size_t>(run.outputs[0].elements()));
    if (graph::op_of(run.node).is_inner_product()) {
      for (const kernels::rounding::ProductBlock& b : product_blocks(run)) sum(b, known);
    }
    for (size_t i = 0; i < known.size(); ++i) known[i].own = run.outputs[0].data<double>()[i];
    return {};
  }
  fuzz::FollowedNet net;
  std::vector<std::vector<Known>> outputs;

 private:
  static void sum(const kernels::rounding::ProductBlock& b, std::vector<Known>& known) {
    std::vector<double> left(static_cast<size_t>(b.k)), right(left.size());
    for (int64_t i = 0; i < b.m; ++i) {
      for (int64_t j = 0; j < b.n; ++j) {
        b.left.read(i, left.data());
        b.right.read(j, right.data());
        long double total = b.bias(i, j), magnitude = std::fabs(b.bias(i, j));
        for (size_t l = 0; l < left.size(); ++l) {
          total += static_cast<long double>(left[l]) * right[l];
          magnitude += std::fabs(static_cast<long double>(left[l]) * right[l]);
        }
        const double units = runtime::sound_divergence(b.k) / 2 + 3;
        known[static_cast<size_t>(b.offset + b.at(i, j))] = {0, static_cast<double>(total),
                                                             static_cast<double>(magnitude),
                                                             units * 0x1p-53 * static_cast<double>(magnitude)};
      }
    }
  }
};

// Two bytes an entry (node and kind; position), four more for a value. Sorted, as the decoder hands them over.
log::SparseLog log_of(fuzz::Source input, size_t nodes) {
  std::vector<std::vector<log::SparseEntry>> by_node(nodes + 1);
  while (!input.empty()) {
    const uint8_t what = input.byte(), position = input.byte();
    const auto kind = static_cast<log::SparseEntry::Kind>(what / 16 % 3);
    log::SparseEntry entry{position, kind, 0};
    if (kind == log::SparseEntry::Kind::kValue) entry.value = numerics::f32_from_bits(input.word());
    auto& entries = by_node[what % by_node.size()];
    std::erase_if(entries, [&](const log::SparseEntry& e) { return e.position == position; });
    entries.push_back(entry);
  }
  log::SparseLog log;
  for (size_t n = 0; n < by_node.size(); ++n) {
    std::sort(by_node[n].begin(), by_node[n].end(),
              [](const auto& a, const auto& b) { return a.position < b.position; });
    if (!by_node[n].empty()) log.nodes.push_back({static_cast<uint32_t>(n), by_node[n]});
  }
  return log;
}

void check(const Known& k, double accepted) {
  if (accepted == k.own) return;
  const double spacing = kernels::rounding::spacing(std::fabs(k.exact) + k.sound, 32);
  ISOBIT_CHECK(std::fabs(accepted - k.exact) <= k.sound + spacing / 2);
  const double low = kernels::rounding::round_to_bits(k.exact - k.sound, 32),
               high = kernels::rounding::round_to_bits(k.exact + k.sound, 32);
  ISOBIT_CHECK(low != high);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Honest honest;
  runtime::RoundingRules rules;
  runtime::SparseFollower follower(rules);
  follower.begin_step(1, log_of({data, size}, honest.outputs.size()), runtime::StateBefore::kAgreed);
  const auto outputs = honest.net.run(follower);
  const bool accepted = outputs.has_value() && follower.end_step().has_value();
  ISOBIT_CHECK(accepted != follower.fault().has_value());
  if (!accepted) return 0;
  for (size_t n = 0; n < outputs->size(); ++n) {
    for (size_t i = 0; i < honest.outputs[n].size(); ++i) check(honest.outputs[n][i], (*outputs)[n].data<double>()[i]);
  }
  return 0;
}
