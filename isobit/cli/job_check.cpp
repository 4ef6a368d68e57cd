#include <algorithm>
#include <cstdio>

#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/own_files.h"
#include "isobit/data/dataset.h"
#include "isobit/run/job_file.h"
#include "isobit/run/job_root.h"
#include "isobit/run/network.h"
#include "isobit/run/price.h"
#include "isobit/tensor/tensor.h"
#include "isobit/train/trace_schema.h"
#include "isobit/verify/schema.h"

namespace isobit::cli {

namespace {

struct Options {
  std::string job, platform = "ordered";
  bool trace_schema = false;
  std::vector<std::string> overrides;
  LimitOptions limits;
};

// One line for each value of a step, or a document with all of them.
Expected<int> show_trace_schema(const train::Job& job, const run::Limits& limits, Console& console) {
  ISOBIT_TRY(const auto dataset, data::open_dataset(job.data, std::min(limits.max_memory, data::kMaxDatasetBytes)));
  ISOBIT_TRY(const auto network, run::open_network(job, limits));
  ISOBIT_TRY(const train::StepGraph step, train::build_step_graph(job, *dataset, *network));
  if (!step.disputable) {
    return unreadable(
        "--trace-schema: shapes or branches of this network follow from data, so that a step's trace has no schema");
  }
  const std::vector<train::TraceEntry> schema = train::trace_schema(step);
  const std::string root = commit::hex_of(verify::schema_root(schema));
  nlohmann::ordered_json document = {{"trace_schema_root", root}, {"entries", nlohmann::ordered_json::array()}};
  for (size_t i = 0; i < schema.size(); ++i) {
    const train::TraceEntry& e = schema[i];
    const std::string op = e.node < 0 ? "" : step.graph.nodes()[static_cast<size_t>(e.node)].op;
    document["entries"].push_back({{"entry", i},
                                   {"kind", train::name_of(e.kind)},
                                   {"node", e.node},
                                   {"place", e.place},
                                   {"operator", op},
                                   {"name", e.name},
                                   {"dtype", name_of(e.dtype)},
                                   {"dims", e.dims},
                                   {"split", e.split}});
    char front[64];
    std::snprintf(front, sizeof front, "%5zu  %-9s  %5s  ", i, train::name_of(e.kind),
                  e.node < 0 ? "" : text_of(e.node).c_str());
    console.line(text_of(front, e.name, "  ", name_of(e.dtype), " ", Shape(e.dims).text(),
                         e.dims.size() < 2 ? std::string() : text_of(" split ", e.split), op.empty() ? "" : "  ", op));
  }
  console.line(text_of("root   ", root));
  console.document(json_text(document));
  return kAgreed;
}

// "input float32 [1, 28, 28]; one of 10 classes"
std::string text_of_samples(const data::DataShape& data) {
  std::string text;
  for (const data::SampleInput& input : data.inputs) {
    text += text_of(text.empty() ? "" : ", ", input.name, " ", name_of(input.dtype), " ", Shape(input.shape).text());
  }
  const data::Target& target = data.target;
  const std::string shape = Shape(target.shape).text();
  switch (target.kind) {
    case data::TargetKind::kNone:
      return text + "; no target";
    case data::TargetKind::kClass:
      return text_of(text, "; one of ", target.classes, " classes");
    case data::TargetKind::kClassPerToken:
      return text_of(text, "; classes ", shape, " of ", target.classes);
    case data::TargetKind::kMultiLabel:
      return text_of(text, "; labels ", shape, ", each 0 or 1");
    case data::TargetKind::kRegression:
      return text_of(text, "; numbers ", shape);
  }
  return text;
}

nlohmann::ordered_json json_of_inputs(const data::DataShape& data) {
  auto inputs = nlohmann::ordered_json::array();
  for (const data::SampleInput& input : data.inputs) {
    inputs.push_back({{"name", input.name}, {"dtype", name_of(input.dtype)}, {"shape", input.shape}});
  }
  return inputs;
}

nlohmann::ordered_json json_of_target(const data::Target& target) {
  return {{"kind", data::target_kind_names()[static_cast<size_t>(target.kind)]},
          {"shape", target.shape},
          {"classes", target.classes}};
}

struct Checked {
  train::Job job;
  platform::Platform platform;
  run::Price price;
  uint64_t trial = 0;  // bytes that trying the platform's library takes
};

nlohmann::ordered_json json_of(const Checked& c) {
  const auto& [job, p, price, trial] = c;
  nlohmann::ordered_json document = {{"steps", job.steps},
                                     {"parameters", price.parameters},
                                     {"frozen_parameters", price.size.frozen_parameters},
                                     {"operators", price.nodes},
                                     {"disputable", price.disputable},
                                     {"remarks", price.remarks},
                                     {"train_samples", price.data.train_count},
                                     {"test_samples", price.data.test_count},
                                     {"inputs", json_of_inputs(price.data)},
                                     {"target", json_of_target(price.data.target)},
                                     {"data_held_bytes", price.data.bytes},
                                     {"seconds", price.seconds},
                                     {"seconds_per_step", price.seconds_per_step},
                                     {"seconds_per_commit", price.seconds_per_commit},
                                     {"memory_bytes", price.memory_bytes},
                                     {"memory_to_train", price.size.to_train},
                                     {"memory_to_audit", price.size.to_audit},
                                     {"memory_to_evaluate", price.size.to_evaluate},
                                     {"memory_of_trial", trial},
                                     {"disk_bytes", price.disk_bytes},
                                     {"state_bytes", price.state_bytes},
                                     {"commit_every", job.commit_every},
                                     {"proposed_commit_every", price.proposed_commit_every},
                                     {"platform", p.text()}};
  if (price.log_bytes_per_step) document["log_bytes_per_step"] = *price.log_bytes_per_step;
  return document;
}

// What it costs: time, memory, disk, commitments.
void print_costs(const Checked& c, const Console& console) {
  const auto& [job, p, price, trial] = c;
  char line[200];
  std::snprintf(line, sizeof line, "time          about %s (%lld steps at %.3g ms, evaluation not counted) on %s",
                human_seconds(price.seconds).c_str(), static_cast<long long>(job.steps), price.seconds_per_step * 1e3,
                p.text().c_str());
  console.line(line);
  console.line(text_of("memory        about ", human_bytes(price.memory_bytes), "; the whole process at most ",
                       human_bytes(price.size.to_train), " to train, ", human_bytes(price.size.to_audit), " to audit, ",
                       human_bytes(price.size.to_evaluate), " to evaluate"));
  if (trial > 0) {
    console.line(text_of("              and for a moment about ", human_bytes(trial),
                         " in a child process that tries the platform's library"));
  }
  console.line(text_of("disk          about ", human_bytes(price.disk_bytes), " (a checkpoint is ",
                       human_bytes(price.state_bytes), ")"));
  if (price.log_bytes_per_step) {
    const uint64_t each = *price.log_bytes_per_step, all = each * static_cast<uint64_t>(job.steps);
    console.line(text_of("log           about ", human_bytes(each), " a step, ", human_bytes(all), " of the disk"));
  }
  std::snprintf(line, sizeof line,
                "commitments   a state root takes %.3g ms; commit.every = %lld is %.2g %% of the training time",
                price.seconds_per_commit * 1e3, static_cast<long long>(job.commit_every),
                100 * price.seconds_per_commit / (static_cast<double>(job.commit_every) * price.seconds_per_step));
  console.line(line);
  if (price.proposed_commit_every > job.commit_every) {
    console.line(text_of("              commit.every = ", price.proposed_commit_every, " would keep it within 2 %"));
  }
}

void print(const Checked& c, const Console& console) {
  const auto& [job, p, price, trial] = c;
  console.line(text_of("job           ", job.name, ": ", job.model.builder, ", ", price.parameters, " parameters, ",
                       price.nodes, " operators a step"));
  if (price.size.frozen_parameters > 0) {
    console.line(text_of("frozen        ", price.size.frozen_parameters, " parameters and running statistics stay"));
  }
  for (const std::string& remark : price.remarks) console.line(text_of("network       ", remark));
  if (!price.disputable) {
    console.line(
        "dispute       shapes or branches follow from data: steps can be audited, but not disputed down to one value");
  }
  console.line(text_of("data          ", job.data.dataset, ": ", price.data.train_count, " samples to train on, ",
                       price.data.test_count, " to test on, ", human_bytes(price.data.bytes), " held in memory"));
  console.line(text_of("samples       ", text_of_samples(price.data)));
  print_costs(c, console);
}

Expected<int> run(const Options& o, Console& console) {
  Checked checked;
  ISOBIT_TRY(checked.platform, platform::parse_platform(o.platform));
  ISOBIT_TRY(const run::Limits limits, limits_of(o.limits));
  ISOBIT_TRY(checked.job, run::load_job(o.job, o.overrides, limits));
  if (o.trace_schema) ISOBIT_RETURN_IF_ERROR(refuse_recompute("job check --trace-schema", o.limits));
  if (o.trace_schema) return show_trace_schema(checked.job, limits, console);
  ISOBIT_TRY(checked.price, run::price_job(checked.job, checked.platform, limits, monotonic_seconds));
  checked.trial = run::trial_bytes(checked.job, checked.platform);
  console.document(json_text(json_of(checked)));
  print(checked, console);
  return kAgreed;
}

}  // namespace

void add_job_check(Commands& commands) {
  auto o = std::make_shared<Options>();
  const std::string examples = with_job_fields(
      "  isobit job check examples/jobs/mnist.toml\n"
      "  isobit job check examples/jobs/digits.toml --trace-schema\n");
  Command& c =
      commands.add("job check", "say what a job needs here before training it: time, memory, disk", examples.c_str());
  c.positional("JOB.toml", o->job, "the job");
  c.option("-p,--platform", "P", o->platform, "where it would run (default: ordered)");
  add_memory_option(c, o->limits);
  add_recompute_option(c, o->limits);
  c.list("--set", "T.KEY=VALUE", o->overrides, "override a field of the job; may be repeated");
  c.flag("--trace-schema", o->trace_schema, "list the values of a step's trace instead (docs/formats/trace-schema.md)");
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
