// Correct arithmetic in real training: a job's step under `correct-1` against the same step without filter and repair.
//
//   correct_steps_bench [JOB.toml] [--set TABLE.KEY=VALUE].. [--threads T] [--warm STEPS] [--rounds N] [--product P]
//
// The job (examples/jobs/digits.toml if none is named) is trained for some steps; then one step is run again and again,
// alternately with correct inner products and with the same engine that only converts, multiplies and rounds. Last,
// every inner product of that step is timed in both ways on its own operands. P: openblas (default) or ordered. Checked
// before anything is timed: the correct step gives the same bits over the ordered product.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "bench/common.h"
#include "bench/openblas_product.h"
#include "isobit/base/text.h"
#include "isobit/kernels/correct/inner_products.h"
#include "isobit/kernels/optimizer/optimizer.h"
#include "isobit/train/trainer.h"

namespace isobit::bench {
namespace {

using kernels::ConvShape;
using kernels::MatmulArgs;
using kernels::correct::CorrectInnerProducts;
using kernels::correct::Mutation;
using kernels::correct::Statistics;

struct Options {
  std::string job = ISOBIT_SOURCE_DIR "/examples/jobs/digits.toml", product = "openblas";
  std::vector<std::string> overrides;
  int threads = 1, warm = 20, rounds = 21;
};

Expected<Options> parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.rfind("--", 0) != 0) {
      o.job = arg;
      continue;
    }
    if (i + 1 == argc) return usage_error(text_of(arg, ": needs a value"));
    const std::string value = argv[++i];
    if (arg == "--set") {
      o.overrides.push_back(value);
    } else if (arg == "--threads") {
      o.threads = std::max(1, std::atoi(value.c_str()));
    } else if (arg == "--warm") {
      o.warm = std::atoi(value.c_str());
    } else if (arg == "--rounds") {
      o.rounds = std::max(1, std::atoi(value.c_str()));
    } else if (arg == "--product") {
      o.product = value;
    } else {
      return usage_error(text_of(arg, ": not known"));
    }
  }
  return o;
}

std::unique_ptr<kernels::MatrixProduct> open_product(const Options& o, const kernels::KernelContext& kernel) {
  if (o.product == "ordered") return std::make_unique<kernels::OrderedProduct>(kernel);
  auto openblas = std::make_unique<OpenBlasProduct>();
  if (!openblas->available()) {
    std::fprintf(stderr, "OpenBLAS is not there; set ISOBIT_OPENBLAS to its path, or use --product ordered\n");
    std::exit(1);
  }
  openblas->use(o.threads);
  return openblas;
}

// One step of a trainer, which it does not take: the same feeds as often as wanted.
class Step {
 public:
  explicit Step(const train::Trainer& trainer, ThreadPool& pool)
      : trainer_(trainer), executor_(trainer.step_graph().graph), threads_(pool.threads()) {
    const train::Job& job = trainer.job();
    const data::BatchOptions options{job.seed, job.batch, *data::parse_augment(job.data.augment)};
    batch_ = data::train_batch(trainer.dataset(), options, trainer.step(), pool).value();
  }
  // Seconds it took; `outputs`, if wanted.
  double run(const kernels::KernelContext& ctx, std::vector<Tensor>* outputs = nullptr) {
    runtime::Executor::Feeds given = feeds();
    const double begin = seconds(threads_);
    Expected<std::vector<Tensor>> result = executor_.run(ctx, std::move(given));
    const double end = seconds(threads_);
    ISOBIT_CHECK(result.has_value());
    if (outputs != nullptr) *outputs = std::move(*result);
    return end - begin;
  }

 private:
  runtime::Executor::Feeds feeds() const {
    const train::StepGraph& g = trainer_.step_graph();
    const train::Job& job = trainer_.job();
    runtime::Executor::Feeds feeds;
    for (size_t i = 0; i < g.inputs.size(); ++i) feeds.emplace_back(g.inputs[i], batch_.inputs[i].clone());
    if (g.target != graph::kNoValue) {
      feeds.emplace_back(g.target, batch_.target.clone().reshaped(g.graph.value(g.target).shape()));
    }
    feeds.emplace_back(g.lr, Tensor::scalar(train::learning_rate(job, trainer_.step())));
    if (g.step != graph::kNoValue) feeds.emplace_back(g.step, Tensor::scalar(trainer_.step()));
    if (g.beta1_power != graph::kNoValue) {
      feeds.emplace_back(g.beta1_power, Tensor::scalar(kernels::beta_power(job.beta1, trainer_.step() + 1)));
      feeds.emplace_back(g.beta2_power, Tensor::scalar(kernels::beta_power(job.beta2, trainer_.step() + 1)));
    }
    for (size_t i = 0; i < g.slots.size(); ++i) {
      feeds.emplace_back(g.slots[i].in, trainer_.state()[i].tensor.clone());
    }
    return feeds;
  }

  const train::Trainer& trainer_;
  runtime::Executor executor_;
  int threads_;
  data::Batch batch_;
};

// Runs every inner product both ways, some times each; the correct result is what remains.
class Both final : public kernels::InnerProducts<float> {
 public:
  struct Line {
    int64_t calls = 0;
    double plain = 0, correct = 0;  // seconds, of all calls
    Statistics statistics;          // of one round
  };

  Both(CorrectInnerProducts& plain, CorrectInnerProducts& correct, int threads, int rounds)
      : plain_(plain), correct_(correct), threads_(threads), rounds_(rounds) {}
  Status matmul(const MatmulArgs<float>& a) override {
    return compare(text_of("matmul ", a.batch, " of ", a.m, " x ", a.n, " x ", a.k),
                   [&](auto& p) { return p.matmul(a); });
  }
  Status conv_forward(const ConvShape& s, const float* src, const float* weights, const float* bias,
                      float* dst) override {
    return compare(name_of("conv", s), [&](auto& p) { return p.conv_forward(s, src, weights, bias, dst); });
  }
  Status conv_grad_src(const ConvShape& s, const float* diff_dst, const float* weights, float* diff_src) override {
    return compare(name_of("conv grad_src", s),
                   [&](auto& p) { return p.conv_grad_src(s, diff_dst, weights, diff_src); });
  }
  Status conv_grad_weights(const ConvShape& s, const float* src, const float* diff_dst, float* diff_weights) override {
    return compare(name_of("conv grad_weights", s),
                   [&](auto& p) { return p.conv_grad_weights(s, src, diff_dst, diff_weights); });
  }
  const std::map<std::string, Line>& lines() const { return lines_; }

 private:
  static std::string name_of(const char* what, const ConvShape& s) {
    return text_of(what, " n", s.n, " ", s.ic, ">", s.oc, " ", s.ih, "x", s.iw, " k", s.kh, " s", s.stride_h);
  }
  template <class F>
  Status compare(const std::string& name, F&& f) {
    std::vector<double> plain, correct;
    const Statistics before = correct_.statistics();
    for (int round = 0; round < rounds_; ++round) {
      const double t0 = seconds(threads_);
      ISOBIT_RETURN_IF_ERROR(f(plain_));
      const double t1 = seconds(threads_);
      ISOBIT_RETURN_IF_ERROR(f(correct_));
      plain.push_back(t1 - t0);
      correct.push_back(seconds(threads_) - t1);
    }
    const Statistics& after = correct_.statistics();
    Line& line = lines_[name];
    ++line.calls;
    line.plain += median(plain);
    line.correct += median(correct);
    line.statistics.elements += (after.elements - before.elements) / rounds_;
    line.statistics.zeros += (after.zeros - before.zeros) / rounds_;
    line.statistics.settled += (after.settled - before.settled) / rounds_;
    line.statistics.repaired += (after.repaired - before.repaired) / rounds_;
    return {};
  }

  CorrectInnerProducts& plain_;
  CorrectInnerProducts& correct_;
  int threads_, rounds_;
  std::map<std::string, Line> lines_;
};

void print_rates(const Statistics& s) {
  const double n = static_cast<double>(std::max<int64_t>(s.elements, 1));
  std::printf("zeros %.1e  settled %.1e  repaired %.1e\n", static_cast<double>(s.zeros) / n,
              static_cast<double>(s.settled) / n, static_cast<double>(s.repaired) / n);
}

void print_lines(const std::map<std::string, Both::Line>& lines) {
  std::vector<std::pair<std::string, Both::Line>> sorted(lines.begin(), lines.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second.plain > b.second.plain; });
  double plain = 0, correct = 0;
  for (const auto& [name, line] : sorted) {
    plain += line.plain;
    correct += line.correct;
    std::printf("  %-46s %2lld calls  plain %8.3f ms  correct %8.3f ms  ratio %.3f  ", name.c_str(),
                static_cast<long long>(line.calls), 1e3 * line.plain, 1e3 * line.correct, line.correct / line.plain);
    print_rates(line.statistics);
  }
  std::printf("  all inner products: plain %.3f ms, correct %.3f ms, ratio %.3f\n", 1e3 * plain, 1e3 * correct,
              correct / plain);
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto n = static_cast<size_t>(a[i].elements());
    if (a[i].dtype() != DType::kFloat32 || b[i].elements() != a[i].elements()) return false;
    if (std::memcmp(a[i].data<float>(), b[i].data<float>(), n * sizeof(float)) != 0) return false;
  }
  return true;
}

Status measure(const Options& o) {
  ISOBIT_TRY(train::Job job, train::load_job(o.job, o.overrides));
  job.arithmetic = "correct-1";
  job.steps = std::max<int64_t>(job.steps, o.warm + 1);
  ISOBIT_TRY(std::shared_ptr<const data::Dataset> dataset, data::open_dataset(job.data));
  ISOBIT_TRY(const platform::Platform p, platform::parse_platform(text_of("ordered/", o.threads, "t")));
  platform::Engine engine(p);
  ISOBIT_TRY(auto trainer, train::Trainer::create(std::move(job), dataset, engine));
  while (trainer->step() < o.warm) ISOBIT_RETURN_IF_ERROR(trainer->advance().map([](const auto&) {}));

  Step step(*trainer, engine.pool());
  kernels::KernelContext ctx = trainer->context().kernels();
  CorrectInnerProducts correct(ctx, open_product(o, ctx));
  CorrectInnerProducts plain(ctx, open_product(o, ctx), {Mutation::kUnfiltered, nullptr});
  std::vector<Tensor> ours, theirs;
  step.run(ctx, &ours);
  ctx.products_f32 = &correct;
  step.run(ctx, &theirs);
  if (!same_bits(ours, theirs)) return rejected("the step differs between two float64 products");

  std::vector<double> plain_times, correct_times, ratios;
  const Statistics before = correct.statistics();
  for (int round = 0; round < o.rounds; ++round) {
    ctx.products_f32 = &plain;
    plain_times.push_back(step.run(ctx));
    ctx.products_f32 = &correct;
    correct_times.push_back(step.run(ctx));
    ratios.push_back(correct_times.back() / plain_times.back());
  }
  std::printf("%s, %s, %d thread(s), step %lld: plain %.3f ms  correct %.3f ms  ratio %.3f  ",
              trainer->job().name.c_str(), o.product.c_str(), o.threads, static_cast<long long>(trainer->step() + 1),
              1e3 * median(plain_times), 1e3 * median(correct_times), median(ratios));
  Statistics all = correct.statistics();
  all.elements -= before.elements, all.zeros -= before.zeros;
  all.settled -= before.settled, all.repaired -= before.repaired;
  print_rates(all);
  Both both(plain, correct, o.threads, std::min(o.rounds, 5));
  ctx.products_f32 = &both;
  step.run(ctx);
  print_lines(both.lines());
  return {};
}

}  // namespace
}  // namespace isobit::bench

int main(int argc, char** argv) {
  isobit::bench::restart_with_best_core(argv);
  const isobit::Expected<isobit::bench::Options> options = isobit::bench::parse(argc, argv);
  const isobit::Status status =
      options ? isobit::bench::measure(*options) : isobit::Status(tl::unexpected(options.error()));
  if (status) return 0;
  std::fprintf(stderr, "correct_steps_bench: %s\n", status.error().message.c_str());
  return 1;
}
