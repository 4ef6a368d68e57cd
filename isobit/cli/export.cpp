#include <algorithm>
#include <limits>

#include "isobit/base/text.h"
#include "isobit/cli/audited.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/trust.h"
#include "isobit/data/data_shape.h"
#include "isobit/data/dataset.h"
#include "isobit/formats/safetensors.h"
#include "isobit/onnx/encode.h"
#include "isobit/platform/platform.h"
#include "isobit/run/network_export.h"
#include "isobit/run/run_weights.h"

namespace isobit::cli {

namespace {

struct Options {
  std::string run, out;
  Trust trust;
  AuditedOptions audited;
  std::optional<uint64_t> step, opset, batch;
  std::vector<std::string> overrides;
  bool all = false, force = false, onnx = false;
  LimitOptions limits;
};

Status check_options(const Options& o) {
  const bool about_onnx = o.opset || o.batch || !o.overrides.empty();
  if (!o.onnx && about_onnx) return usage_error("export: --opset, --batch and --set are about --onnx");
  if (!o.onnx && o.out.empty()) return usage_error("--out: is missing; expected the name of the file to write");
  if (o.onnx && o.all) return usage_error("export: --all is about safetensors; a model has no optimizer");
  if (o.opset && (*o.opset < onnx::kOldestWrittenOpset || *o.opset > onnx::kNewestOpset)) {
    return usage_error(
        text_of("--opset: found ", *o.opset, ", expected ", onnx::kOldestWrittenOpset, " to ", onnx::kNewestOpset));
  }
  constexpr uint64_t kMostSamples = std::numeric_limits<int32_t>::max();
  if (o.batch && (*o.batch < 1 || *o.batch > kMostSamples)) {
    return usage_error(text_of("--batch: found ", *o.batch, ", expected 1 to ", kMostSamples));
  }
  return {};
}

// digits.run -> digits.onnx, in the current folder.
Expected<std::string> output_of(const Options& o) {
  if (!o.out.empty()) return o.out;
  fs::path run = fs::path(o.run).lexically_normal();
  if (!run.has_filename()) run = run.parent_path();
  const std::string stem = run.stem().string();
  if (!stem.empty() && stem != "." && stem != "..") return stem + ".onnx";
  return usage_error("--out: is missing, and the name of the run says none");
}

// What the job says of its data, or their files where it says nothing.
Expected<data::DataShape> shape_of_data(const train::Job& job, const run::Limits& limits) {
  if (auto declared = data::declared_shape(job.data)) return *std::move(declared);
  ISOBIT_TRY(const auto dataset, data::open_dataset(job.data, std::min(limits.max_memory, data::kMaxDatasetBytes)));
  return data::shape_of(*dataset);
}

Expected<run::ExportedNetwork> network_of(const Options& o, run::Weights& weights, platform::Engine& engine,
                                          const run::Limits& limits) {
  ISOBIT_TRY(const data::DataShape shape, shape_of_data(weights.job, limits));
  ISOBIT_RETURN_IF_ERROR(run::make_ready(weights, shape, engine, limits));
  run::NetworkExportOptions options;
  if (o.batch) options.batch = static_cast<int64_t>(*o.batch);
  if (o.opset) options.opset = static_cast<int64_t>(*o.opset);
  options.producer_version = ISOBIT_VERSION;
  return run::exported_network(weights, shape, options);
}

// What a file holds, for the report.
struct Written {
  size_t tensors = 0;
  uint64_t bytes = 0;
  std::string more{};  // behind them, for people
};

Expected<Written> write_network(const Options& o, const std::string& out, const run::ExportedNetwork& network,
                                Console& console, nlohmann::ordered_json& document) {
  const onnx::Model& model = network.model;
  ISOBIT_TRY(const onnx::WrittenModel files, onnx::write_model(out, model, {.replace = o.force}));
  document["opset"] = *model.opset("");
  document["ir_version"] = model.ir_version;
  document["nodes"] = model.graph.nodes.size();
  document["batch"] = network.batch == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(network.batch);
  document["data_file"] = files.data_file.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(files.data_file);
  if (!network.fixed_by.empty()) {
    const std::string samples = network.batch == 1 ? "one sample" : text_of(network.batch, " samples");
    console.note(text_of("the model takes ", samples, " at a time",
                         network.has_only_batch ? "" : " (--batch sets another number)", ": ", network.fixed_by));
  }
  Written written{model.graph.initializers.size(), files.bytes,
                  text_of(", ONNX opset ", *model.opset(""), ", ",
                          network.batch == 0 ? "any batch" : text_of("batches of ", network.batch))};
  if (!files.data_file.empty()) written.more += text_of(", tensors in ", files.data_file);
  return written;
}

Expected<Written> write_weights(const Options& o, const std::string& out, const run::Weights& weights) {
  const std::vector<NamedTensor> tensors = o.all ? weights.state : run::inference_tensors(weights.state);
  // Readers of Hugging Face ask for a format; this is what theirs of plain tensors have.
  const formats::Safetensors file{
      tensors, {{"builder", weights.job.model.builder}, {"format", "pt"}, {"step", text_of(weights.step)}}};
  ISOBIT_RETURN_IF_ERROR(formats::write_safetensors(out, file, {.replace = o.force}));
  Written written{tensors.size()};
  for (const NamedTensor& t : tensors) written.bytes += t.tensor.bytes();
  return written;
}

Expected<int> run(const Options& o, Console& console) {
  ISOBIT_RETURN_IF_ERROR(check_options(o));
  ISOBIT_TRY(const std::string out, output_of(o));
  ISOBIT_RETURN_IF_ERROR(check_output(out, o.force));
  ISOBIT_TRY(const Trusted named, trusted(o.trust));
  ISOBIT_TRY(const platform::Platform ordered, platform::parse_platform("ordered"));
  platform::Engine engine(ordered);
  run::OpenRequest open;
  open.run = o.run;
  open.client = named.client;
  open.terms = named.terms;
  open.overrides = o.overrides;
  if (o.onnx) open.home = home_of(o.trust);  // it may know where the data lie
  ISOBIT_TRY(open.limits, limits_of(o.limits));
  ISOBIT_TRY(open.verdict, named_verdict(o.audited, named, home_of(o.trust), o.step.has_value()));
  Deadline deadline(o.limits, console);
  ISOBIT_TRY(run::Weights weights, run::read_run_weights(open, o.step, engine.pool()));
  run::ExportedNetwork network;
  if (o.onnx) {
    ISOBIT_TRY(network, network_of(o, weights, engine, open.limits));
  }
  deadline.finish();
  nlohmann::ordered_json of_model = nlohmann::ordered_json::object();
  ISOBIT_TRY(const Written written,
             o.onnx ? write_network(o, out, network, console, of_model) : write_weights(o, out, weights));
  nlohmann::ordered_json document = {{"file", out},
                                     {"tensors", written.tensors},
                                     {"bytes", written.bytes},
                                     {"step", weights.step},
                                     {"client_pinned", weights.client_pinned},
                                     {"audited", audited_json(open.verdict)}};
  for (const auto& [name, value] : of_model.items()) document[name] = value;
  console.document(json_text(document));
  note_unpinned(weights.client_pinned, console);
  console.line(text_of("wrote         ", out, ": ", written.tensors, " tensors, ", human_bytes(written.bytes),
                       ", after step ", weights.step, written.more));
  print_audited(open.verdict, console);
  return kAgreed;
}

}  // namespace

void add_export(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add(
      "export", "write the weights of a run as a safetensors file, or its network as an ONNX model",
      "  isobit export digits.run --out weights.safetensors\n"
      "  isobit export digits.run --onnx\n"
      "  isobit export digits.run --onnx --out digits.onnx --opset 20 --batch 1\n"
      "  isobit export digits.run --verdict digits.verdict --auditor-key auditor.pub --out w.safetensors\n");
  c.positional("RUN", o->run, "folder of the run");
  c.option("-o,--out", "FILE", o->out, "file to write (with --onnx default: the name of the run, with .onnx)");
  c.flag("--onnx", o->onnx, "the network with its weights, as an ONNX model");
  c.option("--opset", "N", o->opset,
           "version of ONNX's operators, 17 to 25 (default: the lowest that has all of them)");
  c.option("--batch", "N", o->batch,
           "samples in a batch of the model (default: any number, where the network allows it)");
  c.option("--step", "STEP", o->step, "write the checkpoint of this step instead of the final state");
  add_trust_options(c, o->trust);
  add_audited_options(c, o->audited);
  c.flag("--force", o->force, "replace a file of that name");
  c.flag("--all", o->all, "the optimizer's state as well");
  add_memory_option(c, o->limits);
  add_time_option(c, o->limits);
  c.list("--set", "T.KEY=VALUE", o->overrides,
         "override a field of the job, for --onnx: data.path of data whose files alone say their shape, model.onnx");
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
