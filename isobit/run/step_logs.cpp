#include "isobit/run/step_logs.h"

#include <utility>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/log/segment.h"
#include "isobit/runtime/stages/inner_product.h"
#include "isobit/verify/log_tree.h"

namespace isobit::run {

runtime::RoundingRules rounding_rules(const train::Job& job) {
  const train::Rounding& r = job.rounding;
  runtime::RoundingRules rules;
  rules.bits = static_cast<int>(r.bits);
  rules.log = r.log;
  rules.sound = r.bound == train::DivergenceBound::kSound;
  rules.divergence = r.divergence;
  rules.divergences = r.divergences;
  rules.threshold = r.threshold;
  rules.thresholds = r.thresholds;
  rules.distance = r.distance;
  return rules;
}

namespace {

// An honest recorder whose every node somebody changes afterwards.
class TamperedRecorder final : public runtime::LogRecorder {
 public:
  TamperedRecorder(std::unique_ptr<runtime::LogRecorder> honest, LogTamper tamper)
      : honest_(std::move(honest)), tamper_(std::move(tamper)) {}

  void begin_run(const graph::Graph& graph) override { honest_->begin_run(graph); }
  void begin_step(uint64_t step) override {
    step_ = step;
    sparse_.nodes.clear();
    ovt_.outputs.clear();
    honest_->begin_step(step);
  }
  Status apply(size_t index, runtime::KernelCall& call) override {
    ISOBIT_RETURN_IF_ERROR(honest_->apply(index, call));
    log::StepLog of_node = honest_->take_log();
    if (auto* ovt = std::get_if<log::OvtLog>(&of_node)) {
      for (log::OvtOutput& o : ovt->outputs) {
        if (tamper_.decisions) tamper_.decisions(step_, call, static_cast<int>(o.output), o.decisions);
        ovt_.outputs.push_back(std::move(o));
      }
      return {};
    }
    auto& sparse = std::get<log::SparseLog>(of_node);
    log::SparseNode node{static_cast<uint32_t>(index), {}};
    if (!sparse.nodes.empty()) node = std::move(sparse.nodes[0]);
    if (tamper_.product && graph::op_of(call.node).is_inner_product()) tamper_.product(step_, call, node.entries);
    if (!node.entries.empty()) sparse_.nodes.push_back(std::move(node));
    return {};
  }
  log::StepLog take_log() override {
    if (kind_of(honest_->take_log()) == log::Kind::kOvt) return std::exchange(ovt_, {});
    return std::exchange(sparse_, {});
  }
  const log::CountsByOperator& counts() const override { return honest_->counts(); }

 private:
  std::unique_ptr<runtime::LogRecorder> honest_;
  LogTamper tamper_;
  uint64_t step_ = 0;
  log::SparseLog sparse_;
  log::OvtLog ovt_;
};

std::unique_ptr<runtime::LogRecorder> recorder_of(const train::Job& job, const LogTamper& tamper) {
  auto honest = runtime::make_recorder(rounding_rules(job),
                                       tamper.unchecked ? runtime::SelfCheck::kNo : runtime::SelfCheck::kYes);
  if (!tamper.product && !tamper.decisions) return honest;
  return std::make_unique<TamperedRecorder>(std::move(honest), tamper);
}

}  // namespace

LogWriter::LogWriter(const train::Job& job, LogTamper tamper)
    : recorder_(recorder_of(job, tamper)), tamper_(std::move(tamper)) {}

runtime::Stage& LogWriter::begin(uint64_t step) {
  step_ = step;
  recorder_->begin_step(step);
  return *recorder_;
}

Expected<Bytes> LogWriter::segment() {
  const log::Segment segment{step_, recorder_->take_log()};
  root_ = verify::log_segment_root(segment);
  Bytes bytes = log::encode(segment);
  if (tamper_.segment) ISOBIT_RETURN_IF_ERROR(tamper_.segment(step_, bytes));
  bytes_ += bytes.size();
  return bytes;
}

LogReader::LogReader(const train::Job& job, const train::StepGraph& graph)
    : kind_(job.rounding.log),
      follower_(runtime::make_follower(rounding_rules(job))),
      schema_(runtime::logged_outputs(graph.graph, kind_)) {}

Expected<commit::Digest> LogReader::root_of(uint64_t step, ByteView segment) const {
  ISOBIT_TRY(const log::Segment decoded, log::decode_segment(segment, step, kind_, schema_, "rounding log"));
  return verify::log_segment_root(decoded);
}

Expected<runtime::Stage*> LogReader::begin(uint64_t step, ByteView segment, const std::optional<commit::Digest>& leaf,
                                           bool agreed) {
  fault_.reset();
  auto decoded = log::decode_segment(segment, step, kind_, schema_, "rounding log");
  if (!decoded) {
    const ErrorCode code = decoded.error().code;  // without memory for it this machine is at fault
    if (code == ErrorCode::kRejected || code == ErrorCode::kUnreadable)
      fault_ = log::Fault{log::FaultKind::kDamaged, "", decoded.error().message};
    return tl::unexpected<Error>(std::move(decoded).error());
  }
  if (const commit::Digest root = verify::log_segment_root(*decoded); root != leaf) {
    fault_ = log::Fault{log::FaultKind::kDamaged, "",
                        text_of("rounding log, step ", step, ": its entries have the root ", commit::hex_of(root),
                                ", the leaf commits to ", leaf ? commit::hex_of(*leaf) : std::string("none"))};
    return rejected(fault_->what);
  }
  follower_->begin_step(step, std::move(decoded->log), agreed);
  return follower_.get();
}

Status LogReader::end() {
  const Status status = follower_->end_step();
  note_fault();
  return status;
}

bool leaves_log_unchecked(const train::Job& job) {
  return arithmetic_of(job).logs && job.rounding.log == log::Kind::kOvt && !job.rounding.distance;
}

}  // namespace isobit::run
