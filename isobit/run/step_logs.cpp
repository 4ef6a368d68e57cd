#include "isobit/run/step_logs.h"

#include "isobit/runtime/stages/ovt_stage.h"
#include "isobit/runtime/stages/sparse_stage.h"

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
  return rules;
}

verify::LogKind log_kind(const train::Job& job) {
  return job.rounding.log == train::RoundingLog::kOvt ? verify::LogKind::kOvt : verify::LogKind::kSparse;
}

struct LogWriter::Impl {
  explicit Impl(const train::Job& job) : kind(log_kind(job)), sparse(rounding_rules(job)), ovt(rounding_rules(job)) {}
  verify::LogKind kind;
  runtime::SparseRecorder sparse;
  runtime::OvtRecorder ovt;
  uint64_t step = 0;
};

LogWriter::LogWriter(const train::Job& job) : impl_(std::make_unique<Impl>(job)) {}
LogWriter::~LogWriter() = default;

runtime::Stage& LogWriter::begin(uint64_t step) {
  impl_->step = step;
  if (impl_->kind == verify::LogKind::kSparse) {
    impl_->sparse.begin_step(step);
    return impl_->sparse;
  }
  impl_->ovt.begin_step();
  return impl_->ovt;
}

Bytes LogWriter::segment() const {
  verify::LogSegment segment{impl_->step, {}};
  if (impl_->kind == verify::LogKind::kSparse) {
    segment.log = impl_->sparse.log();
  } else {
    segment.log = impl_->ovt.log();
  }
  Bytes bytes = verify::encode(segment);
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

Expected<runtime::Stage*> LogReader::begin(uint64_t step, ByteView segment) {
  fault_.reset();
  auto decoded = verify::decode_log_segment(segment, step, impl_->kind, impl_->schema, "rounding log");
  if (!decoded) {
    fault_ = runtime::LogFault{"", decoded.error().message};
    return tl::unexpected<Error>(std::move(decoded).error());
  }
  if (auto* sparse = std::get_if<runtime::SparseLog>(&decoded->log)) {
    impl_->sparse.begin_step(std::move(*sparse));
    return &impl_->sparse;
  }
  impl_->ovt.begin_step(std::get<runtime::OvtLog>(std::move(decoded->log)));
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

}  // namespace isobit::run
