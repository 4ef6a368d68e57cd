#include <algorithm>

#include "isobit/base/counted.h"
#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/comparison_report.h"
#include "isobit/cli/engine_places.h"
#include "isobit/cli/interrupt.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/model_inputs.h"
#include "isobit/lab/measure/dumps.h"
#include "isobit/lab/measure/sweep.h"

namespace isobit::cli {
namespace {

namespace measure = lab::measure;

struct Options {
  std::string model, platforms, keep, max_kept = "1G", out, import, name;
  ModelInputOptions inputs;
  EngineOptions engines;
  std::optional<uint64_t> repeat, max_seconds, steps;
  std::vector<std::string> overrides;
  LimitOptions limits;
};

Expected<measure::Keep> keep_of(const std::string& text) {
  if (text.empty() || text == "forks") return measure::Keep::kForks;
  if (text == "all") return measure::Keep::kAll;
  if (text == "none") return measure::Keep::kNone;
  return usage_error(text_of("--keep: found '", text, "', expected forks, all or none"));
}

Expected<measure::SweepRequest> sweep_of(const Options& o, const run::Limits& limits, Console& console) {
  measure::SweepRequest request;
  request.places = places_of(o.engines);
  request.lab = o.out;
  request.platforms = names_in(o.platforms);
  const uint64_t repeat = o.repeat.value_or(1);
  if (repeat < 1 || repeat > 1000) return usage_error(text_of("--repeat: found ", repeat, ", expected 1 to 1000"));
  request.repeat = static_cast<int>(repeat);
  ISOBIT_TRY(request.keep, keep_of(o.keep));
  ISOBIT_TRY(request.max_kept, byte_count("--max-kept", o.max_kept));
  request.max_seconds = static_cast<double>(o.max_seconds.value_or(600));
  request.max_memory = limits.max_memory;
  request.progress = [&console](const std::string& text) { console.progress(text); };
  request.note = [&console](const std::string& text) {
    console.end_progress();
    console.note(text);
  };
  return request;
}

// What the lab says of the subject now.
Expected<lab::deviation::LabComparison> compared(const Options& o, const lab::records::Subject& subject) {
  using lab::records::LabFile;
  ISOBIT_TRY(LabFile lab, LabFile::open(o.out, LabFile::Mode::kRead));
  ISOBIT_TRY(const auto runs, lab.runs(subject));
  const auto tensors = [&](const lab::records::Hash128& hash) { return lab.tensor(hash); };
  ISOBIT_TRY(const auto graph, lab.graph(subject));
  ISOBIT_TRY(auto comparison, lab::deviation::compare_runs(subject, runs, graph, tensors));
  lab::deviation::LabComparison all;
  all.remarks = lab::deviation::words_of_contested(comparison, std::vector<std::string>(runs.size(), o.out));
  all.subjects.push_back(std::move(comparison));
  return all;
}

void print(const measure::SweepReport& sweep, const lab::deviation::LabComparison& comparison, const Options& o,
           double seconds, Console& console) {
  nlohmann::ordered_json document = {{"lab", o.out},
                                     {"platforms", sweep.platforms},
                                     {"measured", sweep.measured},
                                     {"measured_again", sweep.again},
                                     {"known", sweep.known},
                                     {"of_others", sweep.others},
                                     {"not_here", sweep.not_here},
                                     {"kept_tensors", sweep.kept_tensors},
                                     {"kept_bytes", sweep.kept_bytes},
                                     {"left_out_tensors", sweep.left_out},
                                     {"seconds", seconds}};
  document["comparison"] = comparison_json(comparison, "");
  console.document(json_text(document));
  print_comparison(comparison, "", true, console);
  const bool none = comparison.subjects.front().ran() == 0;
  console.line(
      text_of(none ? "tried         " : "measured      ", counted(sweep.measured, "run on ", "runs on "),
              counted(sweep.platforms, "platform", "platforms"), none ? ", none of which ran" : "",
              sweep.again > 0 ? text_of(", ", sweep.again, " again for tensors") : "", " in ", human_seconds(seconds),
              sweep.known > 0 ? "; " + counted(sweep.known, "was", "were") + " measured into this lab before" : ""));
  if (!sweep.not_here.empty()) {
    console.line(text_of("not here      ", join_some(sweep.not_here, 40)));
  }
  console.line(text_of("lab           ", o.out, ", ", counted(sweep.kept_tensors, "tensor", "tensors"), " kept (",
                       human_bytes(sweep.kept_bytes), ")",
                       sweep.left_out > 0 ? text_of(", ", sweep.left_out, " left out") : ""));
}

// Tensors of somebody's own program.
Expected<int> run_import(const Options& o, Console& console) {
  measure::DumpsRequest request;
  request.folder = o.import;
  request.lab = o.out;
  request.platform = o.name;
  request.model = o.model;
  ISOBIT_TRY(const measure::Keep keep, keep_of(o.keep));
  ISOBIT_TRY(request.max_kept, byte_count("--max-kept", o.max_kept));
  if (keep == measure::Keep::kNone) request.max_kept = 0;
  ISOBIT_TRY(const run::Limits limits, limits_of(o.limits));
  request.max_memory = limits.max_memory;
  ISOBIT_TRY(const measure::DumpsReport done, measure::import_dumps(request));
  console.document(json_text({{"lab", o.out},
                              {"platform", done.platform},
                              {"steps", done.steps},
                              {"values", done.values},
                              {"kept_tensors", done.kept_tensors},
                              {"left_out_tensors", done.left_out}}));
  console.line(text_of("imported      ", counted(done.values, "tensor of ", "tensors of "),
                       counted(static_cast<uint64_t>(done.steps), "step", "steps"), " as platform ", done.platform));
  console.line(text_of("lab           ", o.out, ", ", counted(done.kept_tensors, "tensor", "tensors"), " kept",
                       done.left_out > 0 ? text_of(", ", done.left_out, " left out") : ""));
  return kAgreed;
}

// Which options go together.
Status check(const Options& o) {
  const bool trains = o.model.ends_with(".toml");
  const auto only = [](bool given, const char* option, const char* with) -> Status {
    return given ? usage_error(text_of(option, ": goes with ", with)) : Status();
  };
  if (o.model.empty() && o.import.empty())
    return usage_error("measure: name a MODEL.onnx, a JOB.toml or --import FOLDER");
  const bool feeds = !o.inputs.inputs.empty() || !o.inputs.dims.empty() || o.inputs.seed.has_value();
  if (trains || !o.import.empty()) ISOBIT_RETURN_IF_ERROR(only(feeds, "--input, --dim and --seed", "a MODEL.onnx"));
  if (!trains || !o.import.empty()) {
    ISOBIT_RETURN_IF_ERROR(only(o.steps || !o.overrides.empty(), "--steps and --set", "a JOB.toml"));
  }
  if (o.import.empty()) return only(!o.name.empty(), "--as", "--import");
  const bool runs = !o.platforms.empty() || o.repeat || o.max_seconds || !o.engines.python.empty() ||
                    !o.engines.engines.empty() || !o.engines.emulated.empty();
  ISOBIT_RETURN_IF_ERROR(only(runs, "--platforms, --repeat, --max-seconds, --python, --engines and --emulated",
                              "what is run here, and --import runs nothing"));
  return o.keep == "forks" ? usage_error("--keep: found forks, expected all or none: dumps of one platform do not fork")
                           : Status();
}

// Runs it everywhere: a training where the model is a job.
Expected<measure::SweepReport> swept(const Options& o, const run::Limits& limits,
                                     const measure::SweepRequest& request) {
  if (o.model.ends_with(".toml")) {
    const auto steps = static_cast<int64_t>(std::min<uint64_t>(o.steps.value_or(1), INT32_MAX));
    return measure::sweep({o.model, o.overrides, steps}, request);
  }
  lab::InferenceRequest model;
  model.model = o.model;
  model.max_memory = limits.max_memory;
  ISOBIT_RETURN_IF_ERROR(read_model_inputs(o.inputs, limits.max_memory, model));
  return measure::sweep(model, request);
}

Expected<int> run(const Options& o, Console& console) {
  const double begin = monotonic_seconds();
  ISOBIT_RETURN_IF_ERROR(check(o));
  ISOBIT_RETURN_IF_ERROR(lab::study::check_lab_name(o.out));
  if (!o.import.empty()) return run_import(o, console);
  ISOBIT_TRY(const run::Limits limits, limits_of(o.limits));
  ISOBIT_TRY(measure::SweepRequest request, sweep_of(o, limits, console));
  const Interruptible interruptible(Interruptible::Second::kIgnored);  // workers end, and their folder goes
  request.stop = &interruptible.stop();
  const Expected<measure::SweepReport> done = swept(o, limits, request);
  console.end_progress();
  if (!done && interruptible.stop().load()) {
    console.error(done.error());
    return kInterrupted;
  }
  ISOBIT_TRY(const measure::SweepReport report, done);
  ISOBIT_TRY(const auto comparison, compared(o, report.subject));
  print(report, comparison, o, monotonic_seconds() - begin, console);
  return comparison.subjects.front().ran() > 0 ? kAgreed : kInconclusive;  // whether they agree is for compare
}

}  // namespace

void add_measure(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add(
      "measure",
      "run a model, or some steps of a training, on every platform here, and record what each operator makes",
      "  isobit measure model.onnx --out measured.lab\n"
      "  isobit measure model.onnx --input image.npy --python venv/bin/python --out measured.lab\n"
      "  isobit measure model.onnx --platforms ordered/1t,openblas@haswell/1t,onnxruntime@all/2t,pytorch/1t --out "
      "m.lab\n"
      "  isobit measure model.onnx --platforms openblas/1t,openblas/1t~haswell,ordered/1t~nehalem --out m.lab\n"
      "  isobit measure model.onnx --repeat 5 --keep none --out measured.lab\n"
      "  isobit measure job.toml --steps 3 --platforms openblas@haswell/1t,eigen@avx2/1t --out training.lab\n"
      "  isobit measure --import dumps --as cluster-a --out dumps.lab\n");
  c.positional("MODEL.onnx|JOB.toml", o->model, "what runs", false);
  add_model_input_options(c, o->inputs);
  c.option("-p,--platforms", "P,Q,...", o->platforms, "where to run it (default: every platform here, on one thread)");
  add_engine_options(c, o->engines);
  c.option("--repeat", "N", o->repeat, "processes for each platform (default: 1): does it agree with itself?");
  c.option("--keep", "K", o->keep, "tensors to keep: forks (default), all or none; of --import all (default) or none");
  c.option("--max-kept", "BYTES", o->max_kept, "most bytes of tensors in the lab (default: 1G)");
  c.option("--max-seconds", "S", o->max_seconds, "end a worker after so long (default: 600)");
  c.option("--steps", "N", o->steps, "of the training (default: 1)");
  c.list("--set", "T.KEY=VALUE", o->overrides, "override a field of the job; may be repeated");
  c.option("--import", "FOLDER", o->import,
           "tensors of a program of your own: a .npz or .safetensors file for each step");
  c.option("--as", "NAME", o->name, "of the platform that wrote them (default: the folder's name)");
  c.option("-o,--out", "LAB", o->out, "the lab; what it has already is not measured again", true);
  add_memory_option(c, o->limits);
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
