#include "isobit/lab/reveal/worker.h"

#include <algorithm>
#include <isobit_reveal_worker.inc>

#include "isobit/base/text.h"

namespace isobit::lab::reveal {

namespace {

constexpr int kSecondsToStart = 180;  // engines of a gigabyte on a cold disk
constexpr int kSecondsToAnswer = 300;

Bytes encode_setup(const SumRequest& request, const EngineChoice& choice, const std::string& target) {
  ByteWriter out;
  out.u32(2);
  out.text(choice.engine);
  out.text(target);
  out.text(name_of(request.format));
  const int64_t rows = request.target == Target::kMatmul && request.rows_at_once ? request.m : 1;
  for (const int64_t number :
       {request.k, request.m, request.n, request.column, rows, static_cast<int64_t>(choice.threads)}) {
    out.u64(static_cast<uint64_t>(number));
  }
  const ConvForm f = request.target == Target::kConv ? request.conv_form() : ConvForm();
  for (const int64_t number : {f.axes, f.ic, f.ih, f.iw, f.oc, f.kh, f.kw, f.stride_h, f.stride_w, f.pad_top,
                               f.pad_left, f.pad_bottom, f.pad_right, f.channel, f.row, f.column}) {
    out.u64(static_cast<uint64_t>(number));
  }
  return out.take();
}

struct Opened {
  std::unique_ptr<WorkerProcess> process;
  WorkerReady ready;
};

Expected<Opened> open(const SumRequest& request, const EngineChoice& choice, const std::string& target) {
  ISOBIT_TRY(std::unique_ptr<WorkerProcess> process,
             WorkerProcess::start(choice.python, kRevealWorker, choice.patience));
  ISOBIT_TRY(const Bytes answer,
             process->ask(encode_setup(request, choice, target), 4 * kMostWorkerText, kSecondsToStart));
  ISOBIT_TRY(WorkerReady ready, decode_ready(answer, text_of("platform '", choice.engine, "'")));
  return Opened{std::move(process), std::move(ready)};
}

Expected<std::vector<double>> ask_numbers(WorkerProcess& process, char kind, int64_t count, const double* numbers,
                                          uint64_t expected, const std::string& what) {
  ByteWriter frame;
  frame.u8(static_cast<uint8_t>(kind));
  frame.fixed({reinterpret_cast<const uint8_t*>(numbers), static_cast<size_t>(count) * sizeof(double)});
  ISOBIT_TRY(const Bytes answer, process.ask(frame.view(), 8 * expected + 2 * kMostWorkerText, kSecondsToAnswer));
  return decode_numbers(answer, expected, what);
}

class PythonSummation final : public WorkerSummation {
 public:
  PythonSummation(const SumRequest& request, Opened opened, std::string what)
      : request_(request), opened_(std::move(opened)), what_(std::move(what)) {}
  int64_t terms() const override { return request_.k; }
  Format format() const override { return request_.format; }
  int64_t at_once() const override { return static_cast<int64_t>(opened_.ready.at_once); }
  bool has_weights() const override { return opened_.ready.has_weights; }
  const WorkerReady& ready() const override { return opened_.ready; }

  Status weigh(const double* weights) override {
    return ask_numbers(*opened_.process, 'w', request_.k, weights, 0, what_).map([](auto&&) {});
  }
  Status sums(int64_t count, const double* terms, double* results) override {
    // Whole calls: the last one is filled up with ones.
    const int64_t calls = (count + at_once() - 1) / at_once() * at_once(), k = request_.k;
    const double* whole = terms;
    if (calls != count) {
      filled_.assign(terms, terms + count * k);
      filled_.resize(static_cast<size_t>(calls * k), 1);
      whole = filled_.data();
    }
    ISOBIT_TRY(const std::vector<double> sums,
               ask_numbers(*opened_.process, 'q', calls * k, whole, static_cast<uint64_t>(calls), what_));
    // Of a mean it answers the mean; a sum is told from it as long as its units are.
    const double times = request_.target == Target::kMean ? static_cast<double>(k) : 1;
    std::transform(sums.begin(), sums.begin() + count, results, [&](double sum) { return sum * times; });
    return {};
  }

 private:
  const SumRequest request_;
  Opened opened_;
  const std::string what_;
  std::vector<double> filled_;
};

Status read_status(ByteReader& reader, const std::string& what) {
  ISOBIT_TRY(const uint8_t status, reader.u8("status"));
  if (status == 0) return {};
  if (status != 1) return reader.fail("status", text_of("found ", status, ", expected 0 or 1"));
  ISOBIT_TRY(const std::string refusal, reader.text("refusal", kMostWorkerText));
  return unavailable(text_of(what, ": ", refusal));
}

}  // namespace

const std::vector<std::string>& worker_engines() {
  static const std::vector<std::string> engines = {"numpy", "onnxruntime", "pytorch", "tensorflow"};
  return engines;
}

Expected<WorkerReady> decode_ready(ByteView answer, const std::string& what) {
  ByteReader reader(answer, what + ", worker's first answer");
  ISOBIT_RETURN_IF_ERROR(read_status(reader, what));
  WorkerReady ready;
  ISOBIT_TRY(ready.version, reader.text("version", kMostWorkerText));
  ISOBIT_TRY(ready.call, reader.text("call", kMostWorkerText));
  ISOBIT_TRY(ready.at_once, reader.u64("sums at once"));
  if (ready.at_once < 1 || ready.at_once > static_cast<uint64_t>(kMostRows)) {
    return reader.fail("sums at once", text_of("found ", ready.at_once, ", expected 1 to ", kMostRows));
  }
  ISOBIT_TRY(ready.has_weights, reader.boolean("weights"));
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return ready;
}

Expected<std::vector<double>> decode_numbers(ByteView answer, uint64_t count, const std::string& what) {
  ByteReader reader(answer, what + ", worker's answer");
  ISOBIT_RETURN_IF_ERROR(read_status(reader, what));
  if (reader.remaining() != count * sizeof(double)) {
    return reader.fail("numbers", text_of("found ", reader.remaining(), " bytes, expected ", count * sizeof(double)));
  }
  std::vector<double> numbers(count);
  ISOBIT_TRY(const ByteView bytes, reader.fixed("numbers", reader.remaining()));
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

Expected<std::unique_ptr<WorkerSummation>> open_worker_summation(const SumRequest& request,
                                                                 const EngineChoice& choice) {
  ISOBIT_RETURN_IF_ERROR(check(request));
  ISOBIT_TRY(Opened opened, open(request, choice, name_of(request.target)));
  return std::make_unique<PythonSummation>(request, std::move(opened), text_of("platform '", choice.engine, "'"));
}

Evaluate worker_functions(const EngineChoice& choice) {
  return [choice](Function function, const std::vector<float>& x,
                  const std::vector<float>& y) -> Expected<std::vector<float>> {
    ISOBIT_TRY(const Opened opened, open({}, choice, name_of(function)));
    std::vector<double> numbers(x.begin(), x.end());
    numbers.insert(numbers.end(), y.begin(), y.end());
    ISOBIT_TRY(const std::vector<double> results,
               ask_numbers(*opened.process, 'q', static_cast<int64_t>(numbers.size()), numbers.data(), x.size(),
                           text_of("platform '", choice.engine, "'")));
    return std::vector<float>(results.begin(), results.end());
  };
}

}  // namespace isobit::lab::reveal
