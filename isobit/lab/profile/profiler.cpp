#include "isobit/lab/profile/profiler.h"

#include "isobit/base/status.h"
#include "isobit/graph/op.h"

namespace isobit::lab::profile {
namespace {

std::string name_of(const runtime::NodeRun& run) {
  std::string name = graph::short_name(run.node.op);
  for (const graph::Node* node : run.following) name += "+" + graph::short_name(node->op);
  return name;
}

}  // namespace

Profiler::Profiler(const platform::Platform& platform, platform::Clock clock, size_t most_spans)
    : names_(platform), clock_(std::move(clock)), most_spans_(most_spans) {}

void Profiler::begin_step(int64_t step) {
  // The first step is forgotten when there is a second one.
  if (++seen_ == 2) {
    sums_ = {};
    sums_.kernels.resize(nodes_.size());
    sums_.stages.resize(nodes_.size());
  }
  step_ = step;
  begin_ = batch_end_ = clock_();
  if (seen_ > 2) sums_.between += begin_ - end_;
}

void Profiler::begin_run(const graph::Graph& graph) {
  place_.resize(graph.nodes().size(), -1);
  batch_end_ = last_ = clock_();
  keep(Span::Kind::kBatch, 0, begin_, batch_end_);
}

Status Profiler::before_stage(const runtime::NodeRun& run) {
  const double now = clock_();
  ISOBIT_CHECK(run.index < place_.size());
  int64_t& place = place_[run.index];
  if (place < 0) {
    place = static_cast<int64_t>(nodes_.size());
    nodes_.push_back(
        {.index = run.index,
         .op = name_of(run),
         .name = run.graph.value((run.following.empty() ? run.node : *run.following.back()).outputs[0]).name,
         .kernel = names_.of(run),
         .is_product = graph::op_of(run.node).is_inner_product(),
         .work = work_of(run.graph, run.node, run.following)});
    sums_.kernels.push_back(0);
    sums_.stages.push_back(0);
  }
  sums_.kernels[static_cast<size_t>(place)] += now - last_;
  keep(Span::Kind::kKernel, static_cast<size_t>(place), last_, now);
  last_ = clock_();
  return {};
}

Status Profiler::after_stage(const runtime::NodeRun& run) {
  if (run.is_view) return {};
  const double now = clock_();
  const auto place = static_cast<size_t>(place_[run.index]);
  sums_.stages[place] += now - last_;
  keep(Span::Kind::kStage, place, last_, now);
  last_ = clock_();
  return {};
}

void Profiler::ran_again(size_t index) {
  const double now = clock_();
  sums_.again += now - last_;
  keep(Span::Kind::kKernel, static_cast<size_t>(place_[index]), last_, now);
  last_ = clock_();
}

void Profiler::end_step() {
  end_ = clock_();
  sums_.step += end_ - begin_;
  sums_.batch += batch_end_ - begin_;
  ++sums_.steps;
  keep(Span::Kind::kStep, 0, begin_, end_);
}

void Profiler::keep(Span::Kind kind, size_t node, double begin, double end) {
  if (spans_.size() < most_spans_) spans_.push_back({kind, step_, node, begin, end});
}

Profile Profiler::profile() const {
  Profile p;
  p.steps = sums_.steps;
  if (p.steps == 0) return p;
  const auto steps = static_cast<double>(p.steps);
  p.step = sums_.step / steps;
  p.batch = sums_.batch / steps;
  if (p.steps > 1) p.between = sums_.between / (steps - 1);
  p.nodes = nodes_;
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    p.nodes[i].seconds = sums_.kernels[i] / steps;
    p.nodes[i].stage_seconds = sums_.stages[i] / steps;
    p.kernels += p.nodes[i].seconds;
    p.stages += p.nodes[i].stage_seconds;
  }
  p.again = sums_.again / steps;
  p.rest = p.step - p.batch - p.kernels - p.stages - p.again;
  return p;
}

}  // namespace isobit::lab::profile
