#include <algorithm>
#include <cstdio>

#include "isobit/base/text.h"
#include "isobit/bundle/disk.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/model_inputs.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/profile_report.h"
#include "isobit/cli/receipt.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/formats/npy.h"
#include "isobit/kernels/elementwise/unary.h"

namespace isobit::cli {

namespace {

struct Options {
  std::string model, out, platform = "ordered", arithmetic = "ordered-1";
  ModelInputOptions inputs;
  ReceiptOptions receipt;
  std::string max_tensor;
  std::optional<uint64_t> repeat, max_trips;
  bool profile = false;
  LimitOptions limits;
};

Expected<lab::InferenceRequest> request_of(const Options& o, const run::Limits& limits) {
  lab::InferenceRequest request;
  request.model = o.model;
  request.arithmetic = o.arithmetic;
  request.max_memory = limits.max_memory;
  const uint64_t repeat = o.repeat.value_or(1);
  if (repeat < 1 || repeat > 1'000'000) {
    return usage_error(text_of("--repeat: found ", repeat, ", expected 1 to 1000000"));
  }
  request.repeat = static_cast<int>(repeat);
  if (!o.max_tensor.empty()) {
    ISOBIT_TRY(request.max_tensor, byte_count("--max-tensor", o.max_tensor));
  }
  if (o.max_trips) request.max_trips = static_cast<int64_t>(std::min<uint64_t>(*o.max_trips, INT64_MAX));
  ISOBIT_RETURN_IF_ERROR(read_model_inputs(o.inputs, limits.max_memory, request));
  return request;
}

// What .npy can hold: bfloat16 as the float32 that it is.
Tensor storable(const Tensor& tensor, ThreadPool& pool) {
  if (tensor.dtype() != DType::kBfloat16) return tensor;
  Tensor wide(DType::kFloat32, tensor.shape());
  kernels::cast({kernels::Isa::kPortable, &pool}, tensor.dtype(), wide.dtype(), tensor.elements(), tensor.raw(),
                wide.raw());
  return wide;
}

// Names of outputs may hold anything: those characters that a file of every system may have stay.
std::string file_name(size_t place, const std::string& name) {
  std::string safe;
  for (const char c : name.substr(0, 100)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    safe += plain ? c : '_';
  }
  return text_of(place, "-", safe, ".npy");
}

// Whether the outputs may go there: an empty folder, or none yet, outside the folders of runs.
Status check_folder(const std::string& folder) {
  ISOBIT_RETURN_IF_ERROR(bundle::check_outside_runs(fs::path(folder) / "0.npy"));
  std::error_code error;
  if (!fs::exists(folder, error) || (fs::is_directory(folder, error) && fs::is_empty(folder, error))) return {};
  return usage_error(text_of("--out: '", folder, "' is there already and not an empty folder; choose another"));
}

Status write_outputs(const std::string& folder, const std::vector<NamedTensor>& outputs, ThreadPool& pool) {
  for (const NamedTensor& t : outputs) {
    if (t.tensor.shape().rank() <= formats::kNpyMaxRank) continue;
    return unreadable(text_of("--out: output '", t.name, "' has ", t.tensor.shape().rank(),
                              " axes, and .npy files have at most ", formats::kNpyMaxRank));
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return unavailable(text_of("--out: '", folder, "': ", error.message()));
  std::vector<fs::path> written;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const fs::path path = fs::path(folder) / file_name(i, outputs[i].name);
    // What another process has put there meanwhile is its own: it is neither replaced nor removed.
    const Status done = formats::write_npy(path, storable(outputs[i].tensor, pool), {.replace = false});
    if (done) {
      written.push_back(path);
      continue;
    }
    for (const fs::path& own : written) fs::remove(own, error);  // all or none
    return done;
  }
  return {};
}

nlohmann::ordered_json described(const std::vector<NamedTensor>& tensors, ThreadPool& pool) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const NamedTensor& t : tensors) {
    const commit::TensorRoot root = commit::tensor_root(t.name, t.tensor, {}, pool);
    list.push_back({{"name", t.name},
                    {"shape", t.tensor.shape().dims()},
                    {"dtype", name_of(t.tensor.dtype())},
                    {"digest", to_hex(root.digest())}});
  }
  return list;
}

void print_tensors(const char* label, const nlohmann::ordered_json& list, Console& console) {
  for (const auto& t : list) {
    console.line(text_of(label, t["name"].get<std::string>(), " ", t["dtype"].get<std::string>(), " ",
                         Shape(t["shape"].get<std::vector<int64_t>>()).text(), "  ", t["digest"].get<std::string>()));
  }
}

nlohmann::ordered_json described(const std::vector<lab::ChosenKernel>& chosen) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const lab::ChosenKernel& c : chosen) {
    list.push_back({{"node", c.node}, {"src", c.src}, {"weights", c.weights}, {"kernel", c.kernel}, {"why", c.why}});
  }
  return list;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Expected<int> run(const Options& o, Console& console) {
  ISOBIT_TRY(const platform::Platform p, platform::parse_platform(o.platform));
  if (platform::find_arithmetic(o.arithmetic) == nullptr) {
    return usage_error(text_of("--arithmetic: ", platform::named_arithmetic(o.arithmetic).error().message));
  }
  const platform::Arithmetic& arithmetic = platform::arithmetic_of(o.arithmetic);
  if (arithmetic.rounds || arithmetic.computes_in != DType::kFloat32) {
    return usage_error(
        text_of("--arithmetic: ", o.arithmetic, " is one of training; expected ordered-1, correct-1 or float32"));
  }
  ISOBIT_TRY(const run::Limits limits, limits_of(o.limits));
  ISOBIT_TRY(const lab::InferenceRequest request, request_of(o, limits));
  if (!o.out.empty()) ISOBIT_RETURN_IF_ERROR(check_folder(o.out));
  if (o.profile && !o.receipt.file.empty()) return usage_error("--profile: goes without --receipt");
  ISOBIT_TRY(const std::optional<ReceiptWriter> writer, receipt_writer(o.receipt, o.arithmetic, console));
  Deadline deadline(o.limits, console);
  const auto profile = o.profile ? std::make_unique<ProfileReport>(p, "run") : nullptr;
  platform::Engine engine(p);
  std::optional<verify::InferenceReceipt> receipt;
  lab::Inference done;
  if (writer) {
    ISOBIT_TRY(lab::Receipted both, lab::infer_with_receipt(request, writer->terms, writer->key, engine));
    receipt = std::move(both.receipt);
    done = std::move(both.inference);
  } else {
    ISOBIT_TRY(lab::ReadyInference ready, lab::ReadyInference::prepare(request, engine));
    ISOBIT_TRY(done, lab::infer(request, ready, nullptr, nullptr, profile ? &profile->profiler() : nullptr));
  }
  deadline.finish();
  if (!o.out.empty()) ISOBIT_RETURN_IF_ERROR(write_outputs(o.out, done.outputs, engine.pool()));
  if (receipt) ISOBIT_RETURN_IF_ERROR(write_file_durably(o.receipt.file, verify::encode(*receipt), {.replace = false}));
  nlohmann::ordered_json document;
  document["model"] = o.model;
  document["inputs"] = described(done.inputs, engine.pool());
  document["outputs"] = described(done.outputs, engine.pool());
  for (size_t i = 0; !o.out.empty() && i < done.outputs.size(); ++i) {
    document["outputs"][i]["file"] = file_name(i, done.outputs[i].name);
  }
  document["seconds"] = median(done.seconds);
  document["runs"] = done.seconds.size();
  document["platform"] = p.text();
  document["arithmetic"] = o.arithmetic;
  if (arithmetic.corrects) {
    document["inner_products"] = done.repairs.elements;
    document["repaired"] = done.repairs.repaired;
  }
  if (receipt) document["receipt"] = receipt_json(*receipt, o.receipt.file);
  if (!p.algorithm.empty()) document["chosen"] = described(done.chosen);
  if (profile) profile->add_to(document);
  console.document(json_text(document));
  print_tensors("input         ", document["inputs"], console);
  print_tensors("output        ", document["outputs"], console);
  for (const lab::ChosenKernel& c : done.chosen) {
    console.line(text_of("convolution   ", c.node, " ", c.src, " by ", c.weights, "  ", c.kernel,
                         c.why.empty() ? "" : " (" + c.why + ")"));
  }
  char time[32];
  std::snprintf(time, sizeof time, "%.3g s", median(done.seconds));
  console.line(text_of("time          ", time,
                       done.seconds.size() > 1 ? text_of(", median of ", done.seconds.size()) : std::string(), " on ",
                       p.text(), ", ", o.arithmetic));
  if (!o.out.empty())
    console.line(
        text_of("wrote         ", done.outputs.size(), done.outputs.size() == 1 ? " file in " : " files in ", o.out));
  if (receipt) print_receipt(*receipt, o.receipt.file, console);
  if (profile) profile->print(console);
  return kAgreed;
}

}  // namespace

void add_run(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add("run", "run an ONNX model: the same bits on every platform",
                            "  isobit run model.onnx --input image.npy\n"
                            "  isobit run model.onnx --input ids=ids.npy --input mask=mask.npy --out outputs\n"
                            "  isobit run model.onnx --input image.npy --out outputs --receipt image.receipt\n"
                            "  isobit run model.onnx --dim batch=8 --seed 3 --platform ordered@portable --repeat 5\n"
                            "  isobit run model.onnx --repeat 10 --profile\n"
                            "  isobit run model.onnx --arithmetic float32 --platform openblas/1t+winograd4\n");
  c.positional("MODEL.onnx", o->model, "the model");
  add_model_input_options(c, o->inputs);
  c.option("-p,--platform", "P", o->platform, "where to run it (default: ordered)");
  c.option("-a,--arithmetic", "A", o->arithmetic, "ordered-1 (default), correct-1 or float32");
  c.option("-o,--out", "FOLDER", o->out, "write the outputs there as .npy files");
  add_receipt_options(c, o->receipt);
  c.option("--repeat", "N", o->repeat, "run it N times, check that the bits stay, and say the median time");
  c.flag("--profile", o->profile,
         "show where the time goes, by operator and by kernel (of all runs but the first, if there are several)");
  c.option("--max-tensor", "BYTES", o->max_tensor,
           "refuse a larger tensor, given, drawn or made by a node (default: --max-memory)");
  c.option("--max-trips", "N", o->max_trips, "refuse more trips of all loops of a run together (default: 1048576)");
  add_memory_option(c, o->limits);
  add_time_option(c, o->limits);
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
