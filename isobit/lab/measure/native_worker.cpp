#include "isobit/lab/measure/native_worker.h"

#include "isobit/base/text.h"
#include "isobit/formats/npy.h"
#include "isobit/lab/inference.h"
#include "isobit/lab/measure/emulated_cpu.h"
#include "isobit/lab/measure/recorder.h"
#include "isobit/platform/vendor_product.h"

#ifndef ISOBIT_VERSION
#error "the version comes from CMakeLists.txt"
#endif

namespace isobit::lab::measure {
namespace {

constexpr const char* kPlainFloat = "float32";

// REQUIRES a platform that parse_native_platform has taken.
Machine machine_of_platform(const std::string& platform) {
  const EmulatedCpu* cpu = *emulated_cpu_of(platform);
  return cpu == nullptr ? this_machine() : machine_of(*cpu);
}

records::PlatformRecord record_of(const WorkerRequest& request, const NativePlatform& native) {
  const Machine machine = machine_of_platform(request.platform);
  const platform::Platform& p = native.platform;
  records::PlatformRecord record;
  record.name = request.platform;
  record.engine = p.is_ordered() ? kOwnEngine : p.library;
  record.cpu_flags = machine.flags;
  record.cores = machine.cores;
  record.fields = {{"cpu", machine.cpu},
                   {"machine", machine.architecture},
                   {"version", ISOBIT_VERSION},
                   {"threads", text_of(p.threads)},
                   {"isa", kernels::name_of(p.isa)},
                   {"arithmetic", native.arithmetic},
                   {"compiler", __VERSION__},
                   {"tap", "the same operators; their results are looked at"}};
  if (!p.algorithm.empty()) record.fields["convolutions"] = p.algorithm;
  if (p.is_ordered()) return record;
  // The library is open already; this asks it for what it says of itself.
  if (const auto library = platform::library_record(p.library, p.core, p.threads)) {
    record.fields["library"] = library->version;
    record.fields["core"] = library->core;
  }
  return record;
}

Expected<InferenceRequest> inference_of(const WorkerRequest& request, const std::string& arithmetic) {
  InferenceRequest inference;
  inference.model = request.model;
  inference.arithmetic = arithmetic;
  inference.max_memory = request.max_memory;
  for (const WorkerInput& input : request.inputs) {
    ISOBIT_TRY(Tensor tensor, formats::read_npy(input.file));
    inference.inputs.push_back({input.name, std::move(tensor)});
  }
  return inference;
}

Expected<WorkerRun> run_once(ReadyInference& ready, const platform::Platform& p, bool tapped, Keeper& keeper) {
  Recorder recorder(ready.graph(), p, keeper);
  ISOBIT_TRY(const ReadyInference::Run done, ready.run(tapped ? &recorder : nullptr));
  WorkerRun run{tapped, done.seconds, recorder.take()};
  if (tapped) return run;
  for (const NamedTensor& output : done.outputs) {
    run.values.push_back(value_record(output.name, output.tensor));
    run.values.back().is_output = true;
    ISOBIT_RETURN_IF_ERROR(keeper.offer(run.values.back().hash,
                                        {static_cast<const uint8_t*>(output.tensor.raw()), output.tensor.bytes()}));
  }
  return run;
}

Expected<WorkerAnswer> infer(const WorkerRequest& request, const NativePlatform& native, platform::Engine& engine,
                             const fs::path& folder) {
  ISOBIT_TRY(const InferenceRequest inference, inference_of(request, native.arithmetic));
  ISOBIT_TRY(ReadyInference ready, ReadyInference::prepare(inference, engine));
  Keeper keeper(folder, request.keep, request.keep_bytes);
  WorkerAnswer answer;
  for (const bool tapped : {false, true}) {
    if (tapped ? !request.tapped : !request.untapped) continue;
    ISOBIT_TRY(WorkerRun run, run_once(ready, native.platform, tapped, keeper));
    answer.runs.push_back(std::move(run));
  }
  answer.platform = record_of(request, native);
  answer.kept = keeper.kept();
  return answer;
}

// The arithmetic is the job's.
WorkerAnswer training_answer(const WorkerRequest& request, NativePlatform native, platform::Engine& engine,
                             const fs::path& folder, const Trainer& train) {
  if (!train) return silent(WorkerAnswer::Outcome::kRefused, "this worker runs models and trains nothing");
  WorkerAnswer answer = train(request, engine, folder, native.arithmetic);
  if (answer.outcome == WorkerAnswer::Outcome::kRan) answer.platform = record_of(request, native);
  return answer;
}

}  // namespace

std::string NativePlatform::text() const {
  // The one arithmetic of inference that promises nothing is the usual one here, and goes without saying.
  const bool usual = !platform::arithmetic_of(arithmetic).promises;
  return usual ? platform.text() : text_of(platform.text(), ":", arithmetic);
}

Expected<NativePlatform> parse_native_platform(const std::string& text) {
  const size_t colon = text.find(':');
  NativePlatform native;
  native.arithmetic = colon == text.npos ? kPlainFloat : text.substr(colon + 1);
  ISOBIT_TRY(const platform::Arithmetic* arithmetic, platform::named_arithmetic(native.arithmetic));
  if (arithmetic->rounds || arithmetic->computes_in != DType::kFloat32) {
    return usage_error(text_of("platform '", text, "': ", native.arithmetic,
                               " is an arithmetic of training; expected float32, ordered-1 or correct-1"));
  }
  ISOBIT_TRY(native.platform, platform::parse_platform(text.substr(0, colon)));
  return native;
}

WorkerAnswer answer_of(const WorkerRequest& request, const fs::path& folder, const Trainer& train) {
  if (const auto cpu = emulated_cpu_of(request.platform); !cpu) return silent(cpu.error());
  const auto native = parse_native_platform(without_cpu(request.platform));
  if (!native) return silent(WorkerAnswer::Outcome::kUnavailable, native.error().message);
  platform::Engine engine(native->platform);
  if (request.steps > 0) return training_answer(request, *native, engine, folder, train);
  const auto arithmetic = platform::named_arithmetic(native->arithmetic);
  // Asked by itself, so that a library that is not here is told apart from a model that it does not take.
  if (const auto context = engine.context_for(**arithmetic); !context) {
    return silent(WorkerAnswer::Outcome::kUnavailable, context.error().message);
  }
  const auto answer = infer(request, *native, engine, folder);
  return answer ? *answer : silent(answer.error());
}

Status run_native_worker(const fs::path& request_file, const fs::path& folder, const Trainer& train) {
  ISOBIT_TRY(const Bytes bytes, read_file(request_file, kMaxRequest));
  ISOBIT_TRY(const WorkerRequest request, decode_request(bytes, request_file.string()));
  return write_file_durably(folder / "answer.json", as_bytes(encode(answer_of(request, folder, train))));
}

}  // namespace isobit::lab::measure
