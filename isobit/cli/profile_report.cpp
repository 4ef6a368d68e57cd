#include "isobit/cli/profile_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "isobit/base/new_file.h"
#include "isobit/base/text.h"
#include "isobit/cli/json_text.h"
#include "isobit/lab/profile/rows.h"

namespace isobit::cli {
namespace {

using lab::profile::MachinePace;
using lab::profile::NodeTime;
using lab::profile::Profile;
using lab::profile::Row;
using lab::profile::Span;

constexpr int kSteps = 1, kOperators = 2;  // tracks of a trace
constexpr size_t kMostSpans = 200'000;     // of a trace; 60 MB of text at most

std::string number(double value, const char* format) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string share(double part, double whole) { return number(whole > 0 ? 100 * part / whole : 0, "%.1f %%"); }

using Cells = std::vector<std::string>;

// The first column to the left, the others to the right.
void print_table(const std::vector<Cells>& rows, const Console& console) {
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Cells& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + pad : "  " + pad + row[i];
    }
    console.line(line);
  }
}

void print_rows(const char* what, const std::string& unit, const std::vector<Row>& rows, const Profile& p,
                const MachinePace& pace, const Console& console) {
  std::vector<Cells> table = {
      {what, "nodes", "ms a " + unit, "of the " + unit, "GFLOP/s", "of the peak", "GB/s", "of memory"}};
  for (const Row& r : rows) {
    const bool counts = r.work.operations > 0;
    table.push_back({r.name, text_of(r.nodes), number(1e3 * r.seconds, "%.3f"), share(r.seconds, p.step),
                     counts ? number(1e-9 * r.operations_per_second(), "%.1f") : "-",
                     counts ? share(r.least_seconds, r.seconds) : "-", number(1e-9 * r.bytes_per_second(), "%.1f"),
                     share(r.bytes_per_second(), pace.bytes)});
  }
  console.line("");
  print_table(table, console);
}

nlohmann::ordered_json work_json(const lab::profile::Work& work) {
  return {{"operations", work.operations}, {"bytes", work.bytes}};
}

nlohmann::ordered_json rows_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Row& r : rows) {
    nlohmann::ordered_json row = {{"name", r.name}, {"nodes", r.nodes}};
    row.update(work_json(r.work));
    row.update(
        {{"seconds", r.seconds}, {"of_which_stages", r.stage_seconds}, {"seconds_at_the_peak", r.least_seconds}});
    all.push_back(std::move(row));
  }
  return all;
}

nlohmann::ordered_json nodes_json(const Profile& p) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const NodeTime& n : p.nodes) {
    nlohmann::ordered_json node = {{"node", n.index}, {"operator", n.op}, {"value", n.name}};
    node["kernel"] = n.kernel;
    node.update(work_json(n.work));
    node.update({{"seconds", n.seconds + n.stage_seconds}, {"of_which_stages", n.stage_seconds}});
    all.push_back(std::move(node));
  }
  return all;
}

// A complete event of the trace event format; microseconds.
nlohmann::ordered_json event(std::string_view name, const char* category, int track, const Span& span, double origin) {
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"pid", 1},
          {"tid", track},
          {"ts", 1e6 * (span.begin - origin)},
          {"dur", 1e6 * (span.end - span.begin)},
          {"args", {{"step", span.step}}}};
}

nlohmann::ordered_json event_of(const Span& span, const Profile& p, double origin) {
  if (span.kind == Span::Kind::kStep) return event(text_of("step ", span.step), "step", kSteps, span, origin);
  if (span.kind == Span::Kind::kBatch) return event("batch", "batch", kOperators, span, origin);
  const NodeTime& n = p.nodes[span.node];
  const char* category = span.kind == Span::Kind::kKernel ? "operator" : "rounding and log";
  nlohmann::ordered_json of_node = event(n.op, category, kOperators, span, origin);
  nlohmann::ordered_json& args = of_node["args"];
  args.update({{"node", n.index}, {"value", n.name}, {"kernel", n.kernel}});
  args.update(work_json(n.work));
  return of_node;
}

nlohmann::ordered_json named_track(const char* kind, int track, const char* name) {
  return {{"name", kind}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", {{"name", name}}}};
}

}  // namespace

ProfileReport::ProfileReport(const platform::Platform& platform, std::string unit, const std::string& trace)
    : threads_(platform.threads),
      unit_(std::move(unit)),
      trace_(trace),
      pace_(lab::profile::measure_pace(platform, monotonic_seconds)),
      profiler_(platform, monotonic_seconds, trace.empty() ? 0 : kMostSpans) {}

void ProfileReport::watch(run::Conduct& conduct) {
  conduct.step = [this, step = conduct.step](train::Trainer& trainer,
                                             runtime::RunOptions options) -> Expected<train::StepResult> {
    options.observer = &profiler_;
    profiler_.begin_step(trainer.step() + 1);
    ISOBIT_TRY(const train::StepResult result, step(trainer, options));
    profiler_.end_step();
    return result;
  };
}

void ProfileReport::add_to(nlohmann::ordered_json& document) const {
  const Profile p = profiler_.profile();
  document["profile"] = {{"steps", p.steps},
                         {"threads", threads_},
                         {"machine",
                          {{"float32_operations_per_second", pace_.float32},
                           {"float64_operations_per_second", pace_.float64},
                           {"bytes_per_second", pace_.bytes}}},
                         {"seconds",
                          {{"step", p.step},
                           {"batch", p.batch},
                           {"kernels", p.kernels},
                           {"stages", p.stages},
                           {"again", p.again},
                           {"rest", p.rest},
                           {"between_steps", p.between}}},
                         {"operators", rows_json(rows_by_operator(p, pace_))},
                         {"kernels", rows_json(rows_by_kernel(p, pace_))},
                         {"nodes", nodes_json(p)}};
}

void ProfileReport::print(const Console& console) const {
  const Profile p = profiler_.profile();
  if (p.steps == 0) return console.line(text_of("profile       no ", unit_, " was computed"));
  const auto part = [&](const char* what, double seconds) {
    return seconds >= 5e-4 * p.step ? text_of(", ", what, " ", share(seconds, p.step)) : std::string();
  };
  console.line(text_of("profile       ", number(1e3 * p.step, "%.3g"), " ms a ", unit_, ", the average of ", p.steps,
                       ": operators ", share(p.kernels, p.step), part("batch", p.batch),
                       part("rounding and log", p.stages), part("computing again", p.again), part("the rest", p.rest)));
  if (unit_ == "step") {
    console.line(text_of("between       ", number(1e3 * p.between, "%.3g"),
                         " ms from one step to the next: commitments, heads, checkpoints, scores"));
  }
  console.line(text_of("this machine  ", number(1e-9 * pace_.float32, "%.0f"), " GFLOP/s in float32, ",
                       number(1e-9 * pace_.float64, "%.0f"), " in float64, memory ", number(1e-9 * pace_.bytes, "%.1f"),
                       " GB/s, measured on ", threads_, threads_ == 1 ? " thread" : " threads"));
  print_rows("operator", unit_, rows_by_operator(p, pace_), p, pace_, console);
  print_rows("kernel", unit_, rows_by_kernel(p, pace_), p, pace_, console);
  console.line("");
  if (!trace_.empty()) {
    console.line(text_of("trace         ", trace_.string(), "   (open it in ui.perfetto.dev or chrome://tracing)"));
  }
}

Status ProfileReport::write_trace() const {
  if (trace_.empty()) return {};
  const Profile p = profiler_.profile();
  nlohmann::ordered_json events = {named_track("process_name", kSteps, "isobit train"),
                                   named_track("thread_name", kSteps, "steps"),
                                   named_track("thread_name", kOperators, "operators")};
  const double origin = profiler_.spans().empty() ? 0 : profiler_.spans().front().begin;
  for (const Span& span : profiler_.spans()) events.push_back(event_of(span, p, origin));
  const nlohmann::ordered_json document = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  const std::string text = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return create_file_durably(trace_, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace isobit::cli
