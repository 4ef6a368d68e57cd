// How many outputs of a training step a dishonest trainer could move by a forged rounding log without being refused.
//
//   forgery_bench JOB.toml [--set TABLE.KEY=VALUE].. [--platform P] [--warm STEPS] [--steps N]
//                [--trials N] [--top N]
//
// The job is trained for --warm steps (20) in logged-1 with the sparse log; then every logged output of --steps (1)
// more steps is judged by the rule of each log: sparse, is there an entry an auditor takes that says another value;
// ovt, is there a decision that gives another value. Up to --trials (8) forged entries of each tensor, of those judged
// movable and of those judged not, are put before the real follower, which must agree. The tensors with the largest
// movable share come first.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/forgery_observer.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/train/trainer.h"

namespace isobit::bench {
namespace {

struct Options {
  std::string job, platform = "ordered/1t";
  std::vector<std::string> overrides;
  int64_t warm = 20, steps = 1;
  int trials = 8;
  size_t top = 5;
};

Expected<Options> parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (!arg.starts_with("--")) {
      o.job = arg;
      continue;
    }
    if (i + 1 == argc) return usage_error(text_of(arg, ": needs a value"));
    const std::string value = argv[++i];
    if (arg == "--set") {
      o.overrides.push_back(value);
    } else if (arg == "--platform") {
      o.platform = value;
    } else if (arg == "--warm") {
      o.warm = std::max(0, std::atoi(value.c_str()));
    } else if (arg == "--steps") {
      o.steps = std::max(1, std::atoi(value.c_str()));
    } else if (arg == "--trials") {
      o.trials = std::max(0, std::atoi(value.c_str()));
    } else if (arg == "--top") {
      o.top = static_cast<size_t>(std::max(0, std::atoi(value.c_str())));
    } else {
      return usage_error(text_of(arg, ": not known"));
    }
  }
  if (o.job.empty()) return usage_error("name a job");
  return o;
}

double share(uint64_t part, uint64_t all) {
  return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
}

void print_line(const std::string& name, const Forgeable& f) {
  std::printf("  %-34s %-24s %10llu  %6llu  %.1e  %7llu  %.3f  %.3f\n", name.c_str(), f.op.c_str(),
              static_cast<unsigned long long>(f.elements), static_cast<unsigned long long>(f.sparse),
              share(f.sparse, f.elements), static_cast<unsigned long long>(f.found), share(f.reversed, f.elements),
              share(f.any, f.elements));
}

void print(const train::Job& job, const ForgeryObserver& seen, const Options& o) {
  std::vector<std::pair<std::string, Forgeable>> products;
  Forgeable of_products{"inner products"}, all{"all rounded outputs"};
  for (const auto& [name, f] : seen.tensors()) {
    const bool is_product = graph::find_op(f.op)->is_inner_product();
    for (Forgeable* sum : {&of_products, &all}) {
      if (sum == &of_products && !is_product) continue;
      sum->elements += f.elements, sum->sparse += f.sparse, sum->found += f.found, sum->reversed += f.reversed,
          sum->any += f.any;
    }
    if (is_product) products.emplace_back(name, f);
  }
  std::sort(products.begin(), products.end(), [](const auto& a, const auto& b) {
    return share(a.second.sparse, a.second.elements) > share(b.second.sparse, b.second.elements);
  });
  std::printf("%s, steps %lld to %lld on %s, %zu inner products\n", job.name.c_str(),
              static_cast<long long>(o.warm + 1), static_cast<long long>(o.warm + o.steps), o.platform.c_str(),
              products.size());
  std::printf("  %-34s %-24s %10s  %6s  %7s  %7s  %5s  %5s\n", "tensor", "operator", "elements", "movable", "sparse",
              "found", "ovt", "any");
  for (size_t i = 0; i < std::min(o.top, products.size()); ++i) print_line(products[i].first, products[i].second);
  print_line("", of_products);
  print_line("", all);
  const auto trials = [](const char* what, const Trials& t) {
    std::printf("  follower, %s: %llu forged decisions taken, %llu refused; %llu against the count\n", what,
                static_cast<unsigned long long>(t.taken), static_cast<unsigned long long>(t.refused),
                static_cast<unsigned long long>(t.differed));
  };
  trials("sparse", seen.sparse_trials());
  trials("ovt", seen.ovt_trials());
}

Status measure(const Options& o) {
  ISOBIT_TRY(train::Job job, train::load_job(o.job, o.overrides));
  job.arithmetic = "logged-1";
  job.steps = std::max(job.steps, o.warm + o.steps);
  runtime::RoundingRules rules;
  rules.bits = static_cast<int>(job.rounding.bits);
  rules.sound = job.rounding.bound == train::DivergenceBound::kSound;
  rules.divergence = job.rounding.divergence;
  rules.divergences = job.rounding.divergences;
  rules.threshold = job.rounding.threshold;
  rules.thresholds = job.rounding.thresholds;
  ISOBIT_TRY(std::shared_ptr<const data::Dataset> dataset, data::open_dataset(job.data));
  ISOBIT_TRY(const platform::Platform p, platform::parse_platform(o.platform));
  platform::Engine engine(p);
  ISOBIT_TRY(auto trainer, train::Trainer::create(std::move(job), dataset, engine));
  while (trainer->step() < o.warm) ISOBIT_RETURN_IF_ERROR(trainer->advance().map([](const auto&) {}));
  ForgeryObserver forgery(rules, o.trials);
  runtime::SparseRecorder recorder(rules, runtime::SelfCheck::kNo);
  for (int64_t t = 1; t <= o.steps; ++t) {
    forgery.begin_step(static_cast<uint64_t>(o.warm + t));
    recorder.begin_step(static_cast<uint64_t>(o.warm + t));
    ISOBIT_RETURN_IF_ERROR(trainer->advance({.observer = &forgery, .stage = &recorder}).map([](const auto&) {}));
  }
  print(trainer->job(), forgery, o);
  if (forgery.sparse_trials().differed + forgery.ovt_trials().differed > 0) {
    return rejected("a follower decided otherwise than was counted");
  }
  return {};
}

}  // namespace
}  // namespace isobit::bench

int main(int argc, char** argv) {
  const isobit::Expected<isobit::bench::Options> options = isobit::bench::parse(argc, argv);
  const isobit::Status status =
      options ? isobit::bench::measure(*options) : isobit::Status(tl::unexpected(options.error()));
  if (status) return 0;
  std::fprintf(stderr, "forgery_bench: %s\n", status.error().message.c_str());
  return 1;
}
