#include "isobit/adversary/cheat.h"

#include "isobit/adversary/false_value.h"
#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/model_inputs.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/receipt.h"
#include "isobit/cli/train_result.h"
#include "isobit/run/job_file.h"

namespace isobit::cli {

namespace {

struct Options {
  std::string job, out, kind, platform = "ordered", engagement, key_folder;
  std::string arithmetic = "ordered-1";
  ModelInputOptions inputs;
  bool trace = false;
  std::optional<uint64_t> at;
  std::vector<std::string> overrides;
};

// The receipt of an inference that says something false of one operator.
Expected<int> run_inference(const Options& o, Console& console) {
  if (o.kind != "value" || !o.at || !o.engagement.empty() || !o.overrides.empty()) {
    return usage_error(
        "cheat: of a model, --kind value --at NODE makes a false receipt; --engagement and --set are of "
        "jobs");
  }
  ISOBIT_TRY(const platform::Platform p, platform::parse_platform(o.platform));
  if (platform::find_arithmetic(o.arithmetic) == nullptr) {
    return usage_error(text_of("--arithmetic: ", platform::named_arithmetic(o.arithmetic).error().message));
  }
  lab::InferenceRequest request;
  request.model = o.job;
  request.arithmetic = o.arithmetic;
  ISOBIT_RETURN_IF_ERROR(read_model_inputs(o.inputs, UINT64_MAX, request));
  ReceiptOptions receipt;
  receipt.file = o.out;
  receipt.key_folder = o.key_folder;
  receipt.trace = o.trace;
  ISOBIT_TRY(const std::optional<ReceiptWriter> writer, receipt_writer(receipt, o.arithmetic, console));
  platform::Engine engine(p);
  adversary::FalseValue lie(*o.at);
  ISOBIT_TRY(const lab::Receipted made, lab::infer_with_receipt(request, writer->terms, writer->key, engine, &lie));
  if (!lie.applied()) return usage_error(text_of("--at ", *o.at, ": no operator computes something there"));
  console.note(text_of("a dishonest receipt: the first value of node ", *o.at,
                       " is another one, whether or not an output follows from it"));
  ISOBIT_RETURN_IF_ERROR(write_file_durably(o.out, verify::encode(made.receipt), {.replace = false}));
  console.document(json_text(nlohmann::ordered_json{{"receipt", receipt_json(made.receipt, o.out)}}));
  print_receipt(made.receipt, o.out, console);
  return kAgreed;
}

Expected<int> run(const Options& o, Console& console) {
  if (fs::path(o.job).extension() == ".onnx") return run_inference(o, console);
  if (!o.inputs.inputs.empty() || !o.inputs.dims.empty() || o.inputs.seed || o.trace) {
    return usage_error("cheat: --input, --dim, --seed and --trace go with a model (MODEL.onnx)");
  }
  run::TrainRequest request;
  ISOBIT_TRY(request.platform, platform::parse_platform(o.platform));
  ISOBIT_TRY(request.job, run::load_job(o.job, o.overrides, {}));
  request.out = o.out;
  const uint64_t at = o.at.value_or(static_cast<uint64_t>(request.job.steps));
  if (at > static_cast<uint64_t>(request.job.steps))
    return usage_error(text_of("--at ", at, ": expected 1 to ", request.job.steps, ", the steps of the job"));
  ISOBIT_RETURN_IF_ERROR(adversary::apply_cheat(o.kind, static_cast<int64_t>(at), request));
  ISOBIT_RETURN_IF_ERROR(sign_with_own_keys(o.key_folder, o.engagement, request, console));
  console.note(text_of("a dishonest run: '", o.kind, "' at step ", at));
  std::error_code ignored;
  const bool there = fs::exists(request.out, ignored);
  const Expected<int> done = train_and_report(std::move(request), false, console);
  // What could not be done leaves no run behind that would be resumed as an honest one.
  if (!done && done.error().code == ErrorCode::kUsage && !there) fs::remove_all(o.out, ignored);
  return done;
}

}  // namespace

void add_cheat(Commands& commands) {
  auto o = std::make_shared<Options>();
  static const std::string kKinds = [] {
    std::string text = "what to do:";
    for (const adversary::Cheat& c : adversary::cheats()) text += text_of("\n", c.name, ": ", c.what);
    return text + "\nvalue: of a model, the first value of node --at is another one";
  }();
  Command& c = commands.add("cheat", "make a dishonest run or receipt, to try auditors with",
                            "  isobit cheat examples/jobs/digits.toml --kind rate --at 120 --out bad.run\n"
                            "  isobit audit bad.run\n"
                            "  isobit cheat model.onnx --kind value --at 3 --out bad.receipt\n");
  c.positional("JOB.toml|MODEL.onnx", o->job, "the job; or a model, whose inference gets a false receipt");
  c.option("--kind", "KIND", o->kind, kKinds.c_str(), true);
  c.option("--at", "STEP", o->at, "at which step (default: the last); of a model, at which node");
  c.option("-o,--out", "RUN", o->out, "folder of the run, new or empty; or the receipt's file", true);
  c.option("-p,--platform", "P", o->platform, "where to run it (default: ordered)");
  c.option("--engagement", "FILE", o->engagement, "cheat under this engagement, which you have accepted");
  c.option("--keys", "FOLDER", o->key_folder, kKeysHelp);
  c.list("--set", "T.KEY=VALUE", o->overrides, "override a field of the job; may be repeated");
  add_model_input_options(c, o->inputs);
  c.option("-a,--arithmetic", "A", o->arithmetic, "of a model: ordered-1 (default) or correct-1");
  c.flag("--trace", o->trace, "of a model: commit to every value of the inference as well");
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
