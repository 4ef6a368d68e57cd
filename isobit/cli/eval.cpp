#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/cli/audited.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/evaluation_report.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/trust.h"
#include "isobit/data/data_shape.h"
#include "isobit/data/dataset.h"
#include "isobit/formats/safetensors.h"
#include "isobit/run/job_file.h"
#include "isobit/run/run_weights.h"
#include "isobit/train/trainer.h"

namespace isobit::cli {

namespace {

struct Options {
  std::string source, weights, platform = "ordered";
  Trust trust;
  AuditedOptions audited;
  std::vector<std::string> overrides;
  std::optional<uint64_t> step;
  LimitOptions limits;
};

// Of a run: whom to trust, and the verdict to take it on.
Expected<run::OpenRequest> request_of(const Options& o, const run::Limits& limits) {
  ISOBIT_TRY(const Trusted named, trusted(o.trust));
  run::OpenRequest request;
  request.run = o.source;
  request.client = named.client;
  request.overrides = o.overrides;
  request.home = home_of(o.trust);
  request.terms = named.terms;
  request.limits = limits;
  ISOBIT_TRY(request.verdict, named_verdict(o.audited, named, request.home, o.step.has_value()));
  return request;
}

// Of a job with a safetensors file.
Expected<run::Weights> weights_of_file(const Options& o, const run::Limits& limits) {
  const Trust& t = o.trust;
  const AuditedOptions& a = o.audited;
  if (o.step || !a.verdict.empty() || !a.auditor_key.empty() || a.partial || !t.client_key.empty() ||
      !t.engagement.empty() || !t.key_folder.empty()) {
    return usage_error(
        "eval: --step, --client-key, --engagement, --keys and --verdict are about a run; with --weights there is none");
  }
  run::Weights weights;
  ISOBIT_TRY(weights.job, run::load_job(o.source, o.overrides, limits));
  ISOBIT_TRY(formats::Safetensors file,
             formats::read_safetensors(o.weights, std::min(limits.max_memory, formats::kSafetensorsMaxBytes)));
  weights.file = o.weights;
  weights.state = std::move(file.tensors);
  return weights;
}

Expected<int> run(const Options& o, Console& console) {
  ISOBIT_TRY(const platform::Platform p, platform::parse_platform(o.platform));
  platform::Engine engine(p);
  ISOBIT_TRY(const run::Limits limits, limits_of(o.limits));
  Deadline deadline(o.limits, console);
  run::Weights weights;
  std::optional<verify::Verdict> verdict;
  if (o.weights.empty()) {
    ISOBIT_TRY(const run::OpenRequest request, request_of(o, limits));
    ISOBIT_TRY(weights, run::read_run_weights(request, o.step, engine.pool()));
    verdict = request.verdict;
  } else {
    ISOBIT_TRY(weights, weights_of_file(o, limits));
  }
  ISOBIT_TRY(const auto dataset,
             data::open_dataset(weights.job.data, std::min(limits.max_memory, data::kMaxDatasetBytes)));
  ISOBIT_RETURN_IF_ERROR(run::make_ready(weights, data::shape_of(*dataset), engine, limits));
  if (dataset->test_count() == 0)
    return unreadable(text_of("dataset '", dataset->name(), "' has no test samples to score"));
  const double begin = monotonic_seconds();
  const auto scored = run::score_weights(weights, *dataset, engine);
  if (!scored) {
    const bool signed_for = o.weights.empty() && scored.error().code == ErrorCode::kUnreadable;
    return tl::unexpected<Error>({signed_for ? ErrorCode::kRejected : scored.error().code,
                                  text_of(o.weights.empty() ? o.source : o.weights, ": ", scored.error().message)});
  }
  deadline.finish();
  const std::vector<train::Metric> metrics = scored->totals();
  nlohmann::ordered_json document;
  add_evaluation(scored->samples(), metrics, "", document);
  document["step"] = weights.step;
  document["seconds"] = monotonic_seconds() - begin;
  document["platform"] = p.text();
  if (o.weights.empty()) {
    document["client_pinned"] = weights.client_pinned;
    document["audited"] = audited_json(verdict);
    note_unpinned(weights.client_pinned, console);
  }
  console.document(json_text(document));
  console.line(text_of("samples       ", scored->samples()));
  const train::Metric* loss = train::find_metric(metrics, "loss");
  if (loss != nullptr && scored->samples() > 0)
    console.line(text_of("loss          ", static_cast<float>(train::value_of(*loss))));
  console.line(text_of("test          ", train::text_of_metrics(scored->samples(), metrics)));
  print_audited(verdict, console);
  return kAgreed;
}

}  // namespace

void add_eval(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add("eval", "score the weights of a run, or of a file, on the job's test samples",
                            "  isobit eval digits.run\n"
                            "  isobit eval digits.run --step 200\n"
                            "  isobit eval job.toml --weights weights.safetensors\n");
  c.positional("RUN|JOB.toml", o->source, "folder of a run; with --weights, a job");
  c.option("--weights", "FILE", o->weights, "safetensors file to score under the job");
  c.option("--step", "STEP", o->step, "score the checkpoint of this step instead of the final state");
  add_trust_options(c, o->trust);
  add_audited_options(c, o->audited);
  c.option("-p,--platform", "P", o->platform, "where to run it (default: ordered)");
  add_memory_option(c, o->limits);
  add_time_option(c, o->limits);
  c.list("--set", "T.KEY=VALUE", o->overrides,
         "override a field of the job; of a run, where your copies lie (data.path, model.onnx)");
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
