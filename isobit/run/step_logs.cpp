#include "isobit/run/step_logs.h"

#include <algorithm>
#include <utility>

#include "isobit/base/text.h"
#include "isobit/log/segment.h"

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

// Decodes segments of a job, which speak of these outputs alone.
struct SegmentDecoder {
  SegmentDecoder(const train::Job& job, const train::StepGraph& graph)
      : kind(job.rounding.log), outputs(runtime::logged_outputs(graph.graph, kind)) {}

  Expected<log::Segment> decode(uint64_t step, ByteView segment) const {
    return log::decode_segment(segment, step, kind, outputs, "rounding log");
  }

  log::Kind kind;
  std::vector<log::LoggedOutput> outputs;
};

class HonestStepLogWriter final : public StepLogWriter {
 public:
  HonestStepLogWriter(const train::Job& job, const train::StepGraph& graph,
                      std::unique_ptr<runtime::LogRecorder> recorder)
      : decoder_(job, graph), recorder_(std::move(recorder)) {}

  runtime::Stage& begin(uint64_t step) override {
    step_ = step;
    recorder_->begin_step(step);
    return *recorder_;
  }
  Expected<WrittenSegment> end() override {
    const log::Segment segment{step_, recorder_->take_log()};
    return WrittenSegment{log::encode(segment), verify::log_segment_root(segment)};
  }
  Expected<commit::Digest> root_of(uint64_t step, ByteView segment) const override {
    ISOBIT_TRY(const log::Segment decoded, decoder_.decode(step, segment));
    return verify::log_segment_root(decoded);
  }
  const log::CountsByOperator& counts() const override { return recorder_->counts(); }

 private:
  SegmentDecoder decoder_;
  std::unique_ptr<runtime::LogRecorder> recorder_;
  uint64_t step_ = 0;
};

}  // namespace

std::unique_ptr<StepLogWriter> make_step_log_writer(const train::Job& job, const train::StepGraph& graph) {
  return make_step_log_writer(job, graph, runtime::make_recorder(rounding_rules(job)));
}

std::unique_ptr<StepLogWriter> make_step_log_writer(const train::Job& job, const train::StepGraph& graph,
                                                    std::unique_ptr<runtime::LogRecorder> recorder) {
  return std::make_unique<HonestStepLogWriter>(job, graph, std::move(recorder));
}

StepLogReader::StepLogReader(const train::Job& job, const train::StepGraph& graph, runtime::OnIllegal on_illegal)
    : kind_(job.rounding.log),
      on_illegal_(on_illegal),
      follower_(runtime::make_follower(rounding_rules(job), on_illegal)),
      outputs_(runtime::logged_outputs(graph.graph, kind_)) {}

Expected<runtime::Stage*> StepLogReader::begin(uint64_t step, ByteView segment,
                                               const std::optional<commit::Digest>& leaf, runtime::StateBefore before) {
  fault_.reset();
  leaf_ = leaf.value_or(commit::Digest{});
  auto decoded = log::decode_segment(segment, step, kind_, outputs_, "rounding log");
  if (!decoded) {
    const ErrorCode code = decoded.error().code;  // without memory for it this machine is at fault
    const bool is_none = code == ErrorCode::kRejected || code == ErrorCode::kUnreadable;
    if (is_none && on_illegal_ == runtime::OnIllegal::kTakeExact) return begin_without_log(step);
    if (is_none) fault_ = log::Fault{log::FaultKind::kDamaged, "", decoded.error().message};
    return tl::unexpected<Error>(std::move(decoded).error());
  }
  if (const commit::Digest root = verify::log_segment_root(*decoded); root != leaf) {
    if (on_illegal_ == runtime::OnIllegal::kTakeExact) return begin_without_log(step);
    fault_ = log::Fault{log::FaultKind::kDamaged, "",
                        text_of("rounding log, step ", step, ": its entries have the root ", commit::hex_of(root),
                                ", the leaf commits to ", leaf ? commit::hex_of(*leaf) : std::string("none"))};
    return rejected(fault_->what);
  }
  if (on_illegal_ == runtime::OnIllegal::kTakeExact) segment_ = *decoded;
  follower_->begin_step(step, std::move(decoded->log), before);
  return follower_.get();
}

// As if the log were empty.
runtime::Stage* StepLogReader::begin_without_log(uint64_t step) {
  segment_ = {step, log::SparseLog{}};
  follower_->begin_step(step, log::SparseLog{}, runtime::StateBefore::kUnknown);
  return follower_.get();
}

std::optional<runtime::EntryPlace> StepLogReader::first_illegal() const {
  return follower_->illegal().empty() ? std::nullopt : std::optional(follower_->illegal().front());
}

commit::Digest StepLogReader::root_of_rest() const {
  if (follower_->illegal().empty()) return leaf_;
  log::Segment rest = segment_;
  auto& nodes = std::get<log::SparseLog>(rest.log).nodes;
  for (log::SparseNode& node : nodes) {
    std::erase_if(node.entries, [&](const log::SparseEntry& entry) {
      return std::ranges::binary_search(follower_->illegal(), runtime::EntryPlace{node.node, entry.position});
    });
  }
  std::erase_if(nodes, [](const log::SparseNode& node) { return node.entries.empty(); });
  return verify::log_segment_root(rest);
}

Status StepLogReader::end() {
  const Status status = follower_->end_step();
  note_fault();
  return status;
}

Expected<verify::LogTree> read_log_tree(const train::Job& job, const train::StepGraph& graph, uint64_t step,
                                        ByteView segment) {
  return SegmentDecoder(job, graph).decode(step, segment).map([](const log::Segment& s) { return verify::LogTree(s); });
}

bool leaves_log_unchecked(const train::Job& job) {
  return arithmetic_of(job).logs && job.rounding.log == log::Kind::kOvt && !job.rounding.distance;
}

}  // namespace isobit::run
