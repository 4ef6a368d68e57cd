#include "isobit/run/step_logs.h"

#include <utility>

#include "isobit/base/text.h"
#include "isobit/runtime/stages/inner_product.h"
#include "isobit/runtime/stages/ovt_stage.h"
#include "isobit/runtime/stages/sparse_stage.h"
#include "isobit/verify/log_tree.h"

namespace isobit::run {

runtime::RoundingRules rounding_rules(const train::Job& job) {
  const train::Rounding& r = job.rounding;
  runtime::RoundingRules rules;
  rules.bits = static_cast<int>(r.bits);
  rules.ovt = r.log == train::RoundingLog::kOvt;
  rules.sound = r.bound == train::DivergenceBound::kSound;
  rules.divergence = r.divergence;
  rules.divergences = r.divergences;
  rules.threshold = r.threshold;
  rules.thresholds = r.thresholds;
  rules.distance = r.distance;
  return rules;
}

verify::LogKind log_kind(const train::Job& job) {
  return job.rounding.log == train::RoundingLog::kOvt ? verify::LogKind::kOvt : verify::LogKind::kSparse;
}

namespace {

// An honest recorder whose every node somebody changes afterwards.
class TamperedRecorder final : public runtime::Stage {
 public:
  TamperedRecorder(runtime::SparseRecorder& honest, const LogTamper& tamper) : honest_(honest), tamper_(tamper) {}

  void begin_step(uint64_t step) {
    step_ = step;
    log_.nodes.clear();
  }

  void begin_run(const graph::Graph& graph) override { honest_.begin_run(graph); }
  Status apply(size_t index, runtime::KernelCall& call) override {
    const size_t before = honest_.log().nodes.size();
    ISOBIT_RETURN_IF_ERROR(honest_.apply(index, call));
    if (!runtime::is_inner_product(call.node.op)) return {};
    runtime::SparseNode node{static_cast<uint32_t>(index), {}};
    if (honest_.log().nodes.size() > before) node.entries = honest_.log().nodes.back().entries;
    tamper_.product(step_, call, node.entries);
    if (!node.entries.empty()) log_.nodes.push_back(std::move(node));
    return {};
  }

  const runtime::SparseLog& log() const { return log_; }

 private:
  runtime::SparseRecorder& honest_;
  const LogTamper& tamper_;
  uint64_t step_ = 0;
  runtime::SparseLog log_;
};

// The same of an ovt log.
class TamperedOvtRecorder final : public runtime::Stage {
 public:
  TamperedOvtRecorder(runtime::OvtRecorder& honest, const LogTamper& tamper) : honest_(honest), tamper_(tamper) {}

  void begin_step(uint64_t step) {
    step_ = step;
    log_.outputs.clear();
  }

  void begin_run(const graph::Graph& graph) override { honest_.begin_run(graph); }
  Status apply(size_t index, runtime::KernelCall& call) override {
    const size_t before = honest_.log().outputs.size();
    ISOBIT_RETURN_IF_ERROR(honest_.apply(index, call));
    for (size_t o = before; o < honest_.log().outputs.size(); ++o) {
      log_.outputs.push_back(honest_.log().outputs[o]);
      tamper_.decisions(step_, call, static_cast<int>(log_.outputs.back().output), log_.outputs.back().decisions);
    }
    return {};
  }

  runtime::OvtLog take_log() { return std::exchange(log_, {}); }

 private:
  runtime::OvtRecorder& honest_;
  const LogTamper& tamper_;
  uint64_t step_ = 0;
  runtime::OvtLog log_;
};

}  // namespace

struct LogWriter::Impl {
  Impl(const train::Job& job, LogTamper what)
      : kind(log_kind(job)),
        self_check(what.unchecked ? runtime::SelfCheck::kNo : runtime::SelfCheck::kYes),
        sparse(rounding_rules(job), self_check),
        ovt(rounding_rules(job), self_check),
        tamper(std::move(what)) {}
  verify::LogKind kind;
  runtime::SelfCheck self_check;
  runtime::SparseRecorder sparse;
  runtime::OvtRecorder ovt;
  LogTamper tamper;
  TamperedRecorder tampered{sparse, tamper};
  TamperedOvtRecorder tampered_ovt{ovt, tamper};
  uint64_t step = 0;
};

LogWriter::LogWriter(const train::Job& job, LogTamper tamper) : impl_(std::make_unique<Impl>(job, std::move(tamper))) {}
LogWriter::~LogWriter() = default;

runtime::Stage& LogWriter::begin(uint64_t step) {
  impl_->step = step;
  if (impl_->kind == verify::LogKind::kOvt) {
    impl_->ovt.begin_step(step);
    if (!impl_->tamper.decisions) return impl_->ovt;
    impl_->tampered_ovt.begin_step(step);
    return impl_->tampered_ovt;
  }
  impl_->sparse.begin_step(step);
  if (!impl_->tamper.product) return impl_->sparse;
  impl_->tampered.begin_step(step);
  return impl_->tampered;
}

Expected<Bytes> LogWriter::segment() {
  verify::LogSegment segment{impl_->step, {}};
  if (impl_->kind == verify::LogKind::kOvt) {
    segment.log = impl_->tamper.decisions ? impl_->tampered_ovt.take_log() : impl_->ovt.take_log();
  } else {
    segment.log = impl_->tamper.product ? impl_->tampered.log() : impl_->sparse.log();
  }
  root_ = verify::log_segment_root(segment);
  Bytes bytes = verify::encode(segment);
  if (impl_->tamper.segment) ISOBIT_RETURN_IF_ERROR(impl_->tamper.segment(impl_->step, bytes));
  bytes_ += bytes.size();
  return bytes;
}

const runtime::CountsByOperator& LogWriter::counts() const {
  return impl_->kind == verify::LogKind::kSparse ? impl_->sparse.counts() : impl_->ovt.counts();
}

struct LogReader::Impl {
  Impl(const train::Job& job, const train::StepGraph& graph)
      : kind(log_kind(job)),
        sparse(rounding_rules(job)),
        ovt(rounding_rules(job)),
        schema(runtime::logged_outputs(graph.graph, kind == verify::LogKind::kOvt)) {}
  verify::LogKind kind;
  runtime::SparseFollower sparse;
  runtime::OvtFollower ovt;
  std::vector<runtime::LoggedOutput> schema;
};

LogReader::LogReader(const train::Job& job, const train::StepGraph& graph)
    : impl_(std::make_unique<Impl>(job, graph)) {}
LogReader::~LogReader() = default;

Expected<commit::Digest> LogReader::root_of(uint64_t step, ByteView segment) const {
  ISOBIT_TRY(const verify::LogSegment decoded,
             verify::decode_log_segment(segment, step, impl_->kind, impl_->schema, "rounding log"));
  return verify::log_segment_root(decoded);
}

Expected<runtime::Stage*> LogReader::begin(uint64_t step, ByteView segment, const std::optional<commit::Digest>& leaf,
                                           bool agreed) {
  fault_.reset();
  auto decoded = verify::decode_log_segment(segment, step, impl_->kind, impl_->schema, "rounding log");
  if (!decoded) {
    const ErrorCode code = decoded.error().code;  // without memory for it this machine is at fault
    if (code == ErrorCode::kRejected || code == ErrorCode::kUnreadable)
      fault_ = runtime::LogFault{runtime::FaultKind::kDamaged, "", decoded.error().message};
    return tl::unexpected<Error>(std::move(decoded).error());
  }
  if (const commit::Digest root = verify::log_segment_root(*decoded); root != leaf) {
    fault_ =
        runtime::LogFault{runtime::FaultKind::kDamaged, "",
                          text_of("rounding log, step ", step, ": its entries have the root ", commit::hex_of(root),
                                  ", the leaf commits to ", leaf ? commit::hex_of(*leaf) : std::string("none"))};
    return rejected(fault_->what);
  }
  if (auto* sparse = std::get_if<runtime::SparseLog>(&decoded->log)) {
    impl_->sparse.begin_step(step, std::move(*sparse), agreed);
    return &impl_->sparse;
  }
  impl_->ovt.begin_step(step, std::get<runtime::OvtLog>(std::move(decoded->log)), agreed);
  return &impl_->ovt;
}

Status LogReader::end() {
  const Status status = impl_->kind == verify::LogKind::kSparse ? impl_->sparse.end_step() : impl_->ovt.end_step();
  note_fault();
  return status;
}

void LogReader::note_fault() {
  fault_ = impl_->kind == verify::LogKind::kSparse ? impl_->sparse.fault() : impl_->ovt.fault();
}

const runtime::CountsByOperator& LogReader::counts() const {
  return impl_->kind == verify::LogKind::kSparse ? impl_->sparse.counts() : impl_->ovt.counts();
}

bool leaves_log_unchecked(const train::Job& job) {
  return arithmetic_of(job).logs && job.rounding.log == train::RoundingLog::kOvt && !job.rounding.distance;
}

}  // namespace isobit::run
