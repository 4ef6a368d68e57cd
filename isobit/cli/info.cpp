#include <charconv>
#include <optional>

#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/evaluation_report.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/onnx_info.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/formats/safetensors.h"
#include "isobit/platform/platform.h"
#include "isobit/run/open_run.h"

namespace isobit::cli {

namespace {

bool parse_number(const std::string& text, uint64_t& value) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

using Json = nlohmann::ordered_json;

std::string steps_text(const std::vector<uint64_t>& steps) {
  std::string text;
  for (uint64_t s : steps) text += text_of(text.empty() ? "" : ", ", s);
  return text.empty() ? "none" : text;
}

// "logged-1, 32 bits, sparse log"
std::string arithmetic_text(const train::Job& job) {
  const platform::Arithmetic& arithmetic = train::arithmetic_of(job);
  std::string text = job.arithmetic;
  if (arithmetic.rounds) text += text_of(", ", job.rounding.bits, " bits");
  if (arithmetic.logs) text += job.rounding.log == log::Kind::kOvt ? ", ovt log" : ", sparse log";
  return text;
}

Json describe(const bundle::BundleReader& r, const train::Job& job) {
  const verify::EngagementTerms& terms = r.engagement().terms;
  const verify::Transcript& t = r.transcript();
  Json j = {{"finished", r.finished()},
            {"steps_done", t.steps()},
            {"steps", t.rules().steps},
            {"commit_every", t.rules().commit_every},
            {"job_root", commit::hex_of(terms.job_root)},
            {"run_id", to_hex(terms.run_id)},
            {"client_key", commit::hex_of(terms.client_key)},
            {"trainer_key", commit::hex_of(r.engagement().trainer_key)},
            {"heads", r.heads().size()},
            {"checkpoints", r.checkpoints()},
            {"arithmetic", arithmetic_text(job)}};
  if (t.steps() > 0) j["last_loss"] = t.step(t.steps()).loss.value();
  if (r.finished()) {
    const verify::FinalLeaf& f = t.final();
    j["final_state_root"] = commit::hex_of(f.state_root);
    j["transcript_root"] = commit::hex_of(t.transcript_root());
    add_evaluation(f.evaluation.samples, f.evaluation.metrics, "test_", j);
    j["facts"] = r.manifest()->facts;
  }
  return j;
}

struct Options {
  std::string source;
  LimitOptions limits;
};

Expected<int> run(const Options& o, Console& console) {
  run::OpenRequest request{o.source, std::nullopt, {}};
  ISOBIT_TRY(request.limits, limits_of(o.limits));
  Deadline deadline(o.limits, console);
  ISOBIT_TRY(const run::OpenedRun opened, run::open_run(request));
  deadline.finish();
  const bundle::BundleReader& r = opened.reader;
  const Json j = describe(r, opened.job);
  console.document(json_text(j));
  auto show = [&](const char* label, const std::string& value) { console.line(text_of(label, value)); };
  auto text = [&](const char* key) { return j[key].get<std::string>(); };
  show("state         ", r.finished() ? "finished" : "unfinished (continue it: isobit train --resume)");
  show("steps         ", text_of(r.transcript().steps(), " of ", r.transcript().rules().steps,
                                 ", state committed every ", r.transcript().rules().commit_every));
  show("arithmetic    ", text("arithmetic"));
  if (j.contains("last_loss")) show("last loss     ", text_of(static_cast<float>(j["last_loss"].get<double>())));
  if (r.finished()) {
    const verify::Evaluation& e = r.transcript().final().evaluation;
    if (e.samples > 0) show("test          ", train::text_of_metrics(e.samples, e.metrics));
    show("state root    ", text("final_state_root"));
    show("transcript    ", text("transcript_root"));
    for (const auto& [key, value] : r.manifest()->facts) show("fact          ", printable(text_of(key, " = ", value)));
  }
  show("job root      ", text("job_root"));
  show("run id        ", text("run_id"));
  show("client key    ", text("client_key"));
  show("trainer key   ", text("trainer_key"));
  show("heads         ", text_of(r.heads().size(), " signed"));
  show("checkpoints   ", steps_text(r.checkpoints()));
  console.line(
      "Signatures were checked against the keys that the run itself names; 'isobit verify' and 'isobit audit' use "
      "yours.");
  return kAgreed;
}

// A checkpoint or exported weights: what is in the file and, where the step is known, the root of that state.
Expected<int> describe_state(const Options& o, Console& console) {
  ISOBIT_TRY(const run::Limits limits, limits_of(o.limits));
  Deadline deadline(o.limits, console);
  ISOBIT_TRY(const formats::Safetensors file,
             formats::read_safetensors(o.source, std::min(limits.max_memory, formats::kSafetensorsMaxBytes)));
  uint64_t step = 0;
  std::string root;
  const auto found = file.metadata.find("step");
  if (found != file.metadata.end() && parse_number(found->second, step)) {
    ThreadPool pool(platform::available_threads());
    ISOBIT_TRY(const commit::StateRoot state, commit::state_root(file.tensors, step, pool));
    root = commit::hex_of(state.digest());
  }
  deadline.finish();
  Json tensors = Json::array();
  uint64_t bytes = 0;
  for (const NamedTensor& t : file.tensors) {
    tensors.push_back({{"name", t.name}, {"dtype", name_of(t.tensor.dtype())}, {"shape", t.tensor.shape().dims()}});
    bytes += t.tensor.bytes();
    console.line(
        text_of("tensor        ", printable(t.name), " ", name_of(t.tensor.dtype()), " ", t.tensor.shape().text()));
  }
  Json j = {{"tensors", tensors}, {"bytes", bytes}, {"metadata", file.metadata}};
  console.line(text_of("in all        ", file.tensors.size(), " tensors, ", human_bytes(bytes)));
  for (const auto& [key, value] : file.metadata)
    console.line(text_of("metadata      ", printable(key), " = ", printable(value)));
  if (!root.empty()) {
    j["state_root"] = root;
    console.line(text_of("state root    ", root, "   (of these tensors after step ", step, ")"));
  }
  console.document(json_text(j));
  return kAgreed;
}

}  // namespace

void add_info(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add("info", "show what a run, a file of weights or an ONNX model says of itself",
                            "  isobit info digits.run\n  isobit info digits.run --json\n  isobit info "
                            "digits.run/checkpoints/step-300.safetensors\n  isobit info model.onnx\n");
  c.positional("RUN|FILE", o->source, "folder of the run, a .safetensors file, or an .onnx model");
  add_memory_option(c, o->limits);
  add_time_option(c, o->limits);
  c.action([o](Console& console) {
    if (o->source.ends_with(".onnx")) return describe_onnx(o->source, o->limits, console);
    return o->source.ends_with(".safetensors") ? describe_state(*o, console) : run(*o, console);
  });
}

}  // namespace isobit::cli
