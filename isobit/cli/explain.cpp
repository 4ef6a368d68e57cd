#include <nlohmann/json.hpp>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/comparison_report.h"
#include "isobit/cli/engine_places.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/model_inputs.h"
#include "isobit/cli/own_files.h"
#include "isobit/lab/explain/replay.h"
#include "isobit/report/node_data.h"
#include "isobit/report/page.h"
#include "isobit/report/report.h"

namespace isobit::cli {
namespace {

struct Options {
  std::vector<std::string> labs, overrides;
  std::optional<uint64_t> subject;
  std::string model, python, out, model_explorer, node_data;
  ModelInputOptions inputs;
  LimitOptions limits;
};

constexpr size_t kMostListed = 20;

// The subject that is meant, where there are several.
Expected<lab::records::Subject> chosen(const Options& o, const std::vector<lab::records::Subject>& subjects) {
  if (subjects.empty()) return usage_error(text_of(o.labs.front(), ": no runs in it; measure something first"));
  if (o.subject ? *o.subject >= 1 && *o.subject <= subjects.size() : subjects.size() == 1) {
    return subjects[o.subject.value_or(1) - 1];
  }
  std::string list;
  for (size_t i = 0; i < std::min(subjects.size(), kMostListed); ++i) {
    list += text_of(i == 0 ? "" : "; ", i + 1, " is ", lab::deviation::title_of(subjects[i]));
  }
  if (subjects.size() > kMostListed) list += text_of("; and ", subjects.size() - kMostListed, " more");
  return usage_error(text_of("--subject: ", o.subject ? text_of("found ", *o.subject) : std::string("not given"),
                             ", expected 1 to ", subjects.size(), ": ", list));
}

// What to look for causes with; none where neither a model nor a job is named.
Expected<std::optional<lab::explain::CausesRequest>> causes_of(const Options& o) {
  const bool trains = o.model.ends_with(".toml");
  if (!trains && !o.overrides.empty()) return usage_error("--set overrides fields of a job: name it with --model");
  if ((o.model.empty() || trains) && !(o.inputs.inputs.empty() && o.inputs.dims.empty() && !o.inputs.seed)) {
    return usage_error("--input, --dim and --seed say what was fed to a model: name that with --model");
  }
  if (o.model.empty()) {
    if (o.python.empty() && o.limits.max_memory.empty()) return std::nullopt;
    return usage_error("--python and --max-memory are about what runs again: name the model with --model");
  }
  lab::explain::CausesRequest request;
  ISOBIT_TRY(const run::Limits limits, limits_of(o.limits));
  request.replay.inference.model = o.model;
  request.replay.inference.max_memory = limits.max_memory;
  request.overrides = o.overrides;
  if (!trains) ISOBIT_RETURN_IF_ERROR(read_model_inputs(o.inputs, limits.max_memory, request.replay.inference));
  request.python = python_of(o.python);
  return request;
}

// Whatever of it is named on the command line, and what lies beside: nothing of that is replaced. Files with weights
// beside a model are known once it is loaded.
Expected<std::vector<std::string>> files_read(const Options& o) {
  std::vector<std::string> read = {o.model};
  for (const std::string& lab : o.labs) {
    read.push_back(lab);
    const auto beside = files_beside_lab(lab);
    read.insert(read.end(), beside.begin(), beside.end());
    ISOBIT_TRY(const std::vector<fs::path> records, lab::study::record_files(lab));
    read.insert(read.end(), records.begin(), records.end());
  }
  for (const std::string& input : o.inputs.inputs) {  // [NAME=]FILE
    read.push_back(input);
    read.push_back(input.substr(input.find('=') + 1));
  }
  if (o.model.ends_with(".toml")) {
    ISOBIT_TRY(const train::Job job, train::load_job(o.model, o.overrides));
    const auto named = files_named_by(job);
    read.insert(read.end(), named.begin(), named.end());
  }
  return read;
}

// The model that replays take parts of; none of a training and where none is named.
Expected<std::optional<onnx::Model>> loaded(const std::optional<lab::explain::CausesRequest>& causes,
                                            const lab::records::Subject& subject) {
  if (!causes || subject.kind != lab::records::SubjectKind::kInference) return std::nullopt;
  return lab::explain::measured_model(subject, causes->replay.inference).map([](onnx::Model&& model) {
    return std::optional<onnx::Model>(std::move(model));
  });
}

void print(const nlohmann::ordered_json& document, Console& console) {
  for (const auto& sentence : document["answer"]) console.line(sentence.get<std::string>());
  if (!document["causes"].is_null()) {
    for (const auto& sentence : document["causes"]["words"]) console.line(sentence.get<std::string>());
  }
  for (const auto& sentence : document["left_out"]) console.line(sentence.get<std::string>());
}

Expected<int> run(const Options& o, Console& console) {
  for (const std::string& file : {o.out, o.model_explorer}) {
    if (!file.empty()) ISOBIT_RETURN_IF_ERROR(check_writable_name(file, true));
  }
  const std::vector<std::pair<std::string, std::string>> written = {{"--out", o.out},
                                                                    {"--model-explorer", o.model_explorer}};
  ISOBIT_TRY(const std::vector<std::string> read, files_read(o));
  ISOBIT_RETURN_IF_ERROR(check_apart(written, read));
  if (o.model_explorer.empty() && !o.node_data.empty()) return usage_error("--node-data: goes with --model-explorer");
  ISOBIT_TRY(const auto metric, report::parse_node_metric(o.node_data.empty() ? "introduced" : o.node_data));
  ISOBIT_TRY(auto labs, lab::deviation::open_labs(o.labs));
  ISOBIT_TRY(const auto subjects, lab::deviation::subjects_of(labs));
  ISOBIT_TRY(const auto subject, chosen(o, subjects));
  ISOBIT_TRY(const auto causes, causes_of(o));
  Deadline deadline(o.limits, console);
  ISOBIT_TRY(auto model, loaded(causes, subject));
  if (model) {
    std::vector<std::string> weights;
    for (const std::string& name : model->external) weights.push_back(fs::path(o.model).parent_path() / name);
    ISOBIT_RETURN_IF_ERROR(check_apart(written, weights));
  }
  ISOBIT_TRY(const report::Report made, report::make_report(labs, subject, causes, std::move(model)));
  const auto& document = made.document;
  deadline.finish();
  if (!o.out.empty()) ISOBIT_RETURN_IF_ERROR(write_file_durably(o.out, as_bytes(report::page_of(document))));
  if (!o.model_explorer.empty()) {
    const std::string text = json_text(report::node_data_of(document, metric));
    ISOBIT_RETURN_IF_ERROR(write_file_durably(o.model_explorer, as_bytes(text)));
  }
  console.document(json_text(document));
  print(document, console);
  for (const std::string& file : {o.out, o.model_explorer}) {
    if (!file.empty()) console.line("wrote " + file);
  }
  return exit_code_of(made.agreement);
}

}  // namespace

void add_explain(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add("explain", "where platforms begin to differ and what goes with it, as a report",
                            "  isobit explain measured.lab --out report.html\n"
                            "  isobit explain measured.lab --model model.onnx --seed 1 --out report.html\n"
                            "  isobit explain training.lab --model job.toml\n"
                            "  isobit explain measured.lab --model model.onnx --model-explorer nodes.json\n"
                            "  isobit explain here.lab elsewhere.lab --subject 2 --json\n");
  c.positionals("LAB...", o->labs, "labs, or folders or archives with the JSON records of the published study");
  c.option("--subject", "N", o->subject, "which model and input, where the labs have several; 1 is the first");
  c.option("--model", "FILE", o->model,
           "the model or the JOB.toml that was measured: operators that fork run again here, on equal inputs");
  c.list("--set", "T.KEY=VALUE", o->overrides, "override a field of the job, as it was measured; may be repeated");
  add_model_input_options(c, o->inputs);
  c.option("--python", "PY", o->python, "interpreter that has the engines (default: $ISOBIT_PYTHON, or python3)");
  add_memory_option(c, o->limits);
  add_time_option(c, o->limits);
  c.option("-o,--out", "FILE", o->out, "write the report there: one HTML file that needs nothing else");
  c.option("--model-explorer", "FILE", o->model_explorer,
           "write a number for each node there: node data for Model Explorer beside the ONNX file");
  c.option("--node-data", "WHAT", o->node_data,
           "that number: the largest difference where it is introduced (introduced, default), precision or classes");
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
