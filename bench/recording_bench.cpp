// What it costs to record every operator of an inference (isobit/lab/measure/recorder.h): processor time of runs with
// and without, alternating, on one thread. Both give the same bits, or nothing is timed.
//
// usage: recording_bench [MODEL.onnx [PLATFORM [NAME=X.npy ...]]]
// Without a model: resnet20-cifar10.onnx of the optional data, in the folder that ISOBIT_SHARED_DATA names.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "isobit/base/text.h"
#include "isobit/formats/npy.h"
#include "isobit/lab/inference.h"
#include "isobit/lab/measure/recorder.h"

namespace isobit::bench {
namespace {

constexpr int kRounds = 15;

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Timed {
  double seconds = 0;
  std::vector<NamedTensor> outputs;
  std::vector<lab::records::ValueRecord> values;
};

Expected<Timed> run(lab::ReadyInference& ready, const platform::Platform& p, bool records) {
  lab::measure::Keeper keeper({}, {}, 0);
  Timed timed;
  const double begin = processor_seconds();
  lab::measure::Recorder recorder(ready.graph(), p, keeper);
  ISOBIT_TRY(lab::ReadyInference::Run done, ready.run(records ? &recorder : nullptr));
  timed.values = recorder.take();
  timed.seconds = processor_seconds() - begin;
  timed.outputs = std::move(done.outputs);
  return timed;
}

Status check_same(const Timed& a, const Timed& b) {
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (!identical(a.outputs[i].tensor, b.outputs[i].tensor)) return unavailable("recording changes the bits");
  }
  return {};
}

Status measure(const lab::InferenceRequest& request, const platform::Platform& p) {
  platform::Engine engine(p);
  ISOBIT_TRY(lab::ReadyInference ready, lab::ReadyInference::prepare(request, engine));
  ISOBIT_TRY(const Timed first, run(ready, p, false));
  std::vector<double> without, with, ratios;
  size_t values = 0;
  for (int r = 0; r < kRounds; ++r) {
    for (const bool records : {r % 2 == 0, r % 2 != 0}) {
      // Nothing of one run is held during the next, which would find other memory then.
      ISOBIT_TRY(const Timed timed, run(ready, p, records));
      ISOBIT_RETURN_IF_ERROR(check_same(first, timed));
      (records ? with : without).push_back(timed.seconds);
      values = std::max(values, timed.values.size());
    }
    ratios.push_back(with.back() / without.back());
  }
  std::printf("%s on %s: %zu values; %.3f ms without, %.3f ms with, ratio %.3f (medians of %d alternating pairs)\n",
              request.model.filename().c_str(), p.text().c_str(), values, 1e3 * median(without), 1e3 * median(with),
              median(ratios), kRounds);
  return {};
}

Status main_of(int argc, char** argv) {
  lab::InferenceRequest request;
  request.arithmetic = "float32";
  const char* data = std::getenv("ISOBIT_SHARED_DATA");
  request.model = argc > 1 ? fs::path(argv[1]) : fs::path(data == nullptr ? "" : data) / "models/resnet20-cifar10.onnx";
  if (argc < 2 && !fs::exists(request.model)) {
    std::puts("skipped: no model; usage: recording_bench MODEL.onnx [PLATFORM [NAME=X.npy ...]]");
    return {};
  }
  ISOBIT_TRY(const platform::Platform p, platform::parse_platform(argc > 2 ? argv[2] : "ordered/1t"));
  for (int i = 3; i < argc; ++i) {
    const char* equals = std::strchr(argv[i], '=');
    if (equals == nullptr) return usage_error(text_of("found '", argv[i], "', expected NAME=X.npy"));
    ISOBIT_TRY(Tensor tensor, formats::read_npy(equals + 1));
    request.inputs.push_back({std::string(argv[i], static_cast<size_t>(equals - argv[i])), std::move(tensor)});
  }
  return measure(request, p);
}

}  // namespace
}  // namespace isobit::bench

int main(int argc, char** argv) {
  const isobit::Status done = isobit::bench::main_of(argc, argv);
  if (!done) std::fprintf(stderr, "recording_bench: %s\n", done.error().message.c_str());
  return done ? 0 : static_cast<int>(done.error().code);
}
