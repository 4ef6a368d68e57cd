#include "isobit/lab/reveal/revelation.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/kernels/activation/activation.h"
#include "isobit/kernels/elementwise/binary.h"
#include "isobit/kernels/elementwise/power.h"
#include "isobit/kernels/elementwise/unary.h"
#include "isobit/lab/reveal/engine_sums.h"
#include "isobit/lab/reveal/triples.h"
#include "isobit/lab/reveal/words.h"
#include "isobit/lab/reveal/worker.h"
#include "isobit/lab/worker/engine_name.h"
#include "isobit/platform/vendor_product.h"

namespace isobit::lab::reveal {

namespace {

// The engine of a Python that the text names, if it names one.
Expected<std::optional<EngineChoice>> engine_of(const std::string& text, const std::string& python,
                                                const Patience& patience) {
  const auto name = worker::parse_engine_name(text);
  const auto& known = worker_engines();
  if (!name || std::ranges::find(known, name->engine) == known.end()) return std::optional<EngineChoice>();
  // What a setting means the worker knows, or refuses.
  const std::string engine = name->engine + (name->setting.empty() ? "" : "@" + name->setting);
  const int threads = name->threads == 0 ? platform::available_threads() : name->threads;
  return std::optional<EngineChoice>(EngineChoice{engine, threads, python, patience});
}

// One of our own, or of a product library.
Expected<platform::Platform> own_platform(const std::string& text) {
  auto parsed = platform::parse_platform(text);
  const std::string library = text.substr(0, text.find_first_of("@/+:"));
  const std::vector<std::string> vendors = platform::vendor_libraries();
  const bool is_ours = library == platform::kOrdered || std::ranges::find(vendors, library) != vendors.end();
  if (!parsed && !is_ours) {
    return usage_error(text_of(parsed.error().message, "; of engines reveal knows ", join_or(worker_engines()),
                               ", each also with /Nt"));
  }
  return parsed;
}

// Opens summations of one platform.
class Source {
 public:
  static Expected<std::unique_ptr<Source>> open(const RevealRequest& request) {
    auto source = std::make_unique<Source>();
    ISOBIT_TRY(source->choice_, engine_of(request.platform, request.python, request.patience));
    if (source->choice_) {
      source->platform = text_of(source->choice_->engine, "/", source->choice_->threads, "t");
      return source;
    }
    ISOBIT_TRY(const platform::Platform p, own_platform(request.platform));
    source->platform = p.text();
    source->engine_ = std::make_unique<platform::Engine>(p);
    return source;
  }

  Expected<std::unique_ptr<Summation>> summation(const SumRequest& request) {
    if (!choice_) {
      call = own_call(request.target);
      return open_summation(request, *engine_);
    }
    ISOBIT_TRY(std::unique_ptr<WorkerSummation> worker, open_worker_summation(request, *choice_));
    version = worker->ready().version;
    call = worker->ready().call;
    return worker;
  }

  std::string platform, version, call;

 private:
  std::string own_call(Target target) const {
    const std::string products =
        engine_->platform().is_ordered() ? "our own kernel's" : engine_->platform().library + "'s";
    switch (target) {
      case Target::kSum:
        return "our own kernel's sum of rows";
      case Target::kMean:
        return "our own kernel's mean of layer normalisation";
      case Target::kSoftmax:
        return "our own kernel's softmax";
      case Target::kDot:
        return products + " product of a row and a column";
      case Target::kMatmul:
        return products + " matrix product";
      case Target::kConv:
        return engine_->platform().is_ordered() ? "our own kernel's convolution"
                                                : products + " matrix product over windows laid out as columns";
    }
    return "";
  }

  std::optional<EngineChoice> choice_;
  std::unique_ptr<platform::Engine> engine_;
};

bool is_explained(const Confirmation& c) { return c.repeats && (c.all(c.plain) || c.all(c.wide) || c.all(c.correct)); }

Status reveal_sum(Summation& summation, uint64_t seed, Revelation& out) {
  if (out.sum.target == Target::kSoftmax) {
    ISOBIT_TRY(out.revealed, reveal_positive_tree(summation, {.seed = seed}));
    return {};
  }
  ISOBIT_TRY(out.revealed, reveal_tree(summation, {.seed = seed}));
  // A mean is a quotient besides: the additions are not all that is rounded.
  if (out.sum.target == Target::kMean) return {};
  ISOBIT_TRY(out.confirmation, confirm(summation, out.revealed.tree ? &*out.revealed.tree : nullptr, seed));
  return {};
}

Status look_at_last_column(Source& source, Revelation& out, uint64_t seed) {
  if (out.sum.target != Target::kMatmul || out.sum.column == out.sum.n - 1 || !out.revealed.tree) return {};
  if (!is_explained(out.confirmation)) return {};
  SumRequest last = out.sum;
  last.column = out.sum.n - 1;
  ISOBIT_TRY(const auto summation, source.summation(last));
  ISOBIT_TRY(const Confirmation found, confirm(*summation, &*out.revealed.tree, seed + 1));
  out.last_column_alike = is_explained(found);
  return {};
}

Status add_probes(Source& source, Summation& summation, Revelation& out) {
  if (out.revealed.tree && out.sum.target != Target::kSoftmax && out.sum.target != Target::kMean) {
    ISOBIT_TRY(out.probes, probe_arithmetic(summation, *out.revealed.tree));
  }
  if (out.sum.target == Target::kMean && out.sum.format == Format::kFloat32) {
    SumRequest six = out.sum;
    six.k = 6;
    ISOBIT_TRY(const auto mean, source.summation(six));
    ISOBIT_TRY(Probe division, probe_division(*mean));
    out.probes.push_back(std::move(division));
  }
  return {};
}

// Our own functions, by their loops.
Expected<std::vector<float>> own_function(const kernels::KernelContext& kernel, Function f, const std::vector<float>& x,
                                          const std::vector<float>& y) {
  using kernels::UnaryOp;
  const int64_t n = static_cast<int64_t>(x.size());
  std::vector<float> out(x.size());
  const auto unary = [&](UnaryOp op) { kernels::unary<float>(kernel, op, n, x.data(), out.data()); };
  switch (f) {
    case Function::kExp:
      unary(UnaryOp::kExp);
      break;
    case Function::kLog:
      unary(UnaryOp::kLog);
      break;
    case Function::kErf:
      unary(UnaryOp::kErf);
      break;
    case Function::kSin:
      unary(UnaryOp::kSin);
      break;
    case Function::kCos:
      unary(UnaryOp::kCos);
      break;
    case Function::kSqrt:
      unary(UnaryOp::kSqrt);
      break;
    case Function::kTanh:
      kernels::tanh<float>(kernel, n, x.data(), out.data());
      break;
    case Function::kPow:
      for (size_t i = 0; i < x.size(); ++i) out[i] = kernels::Power()(x[i], y[i]);
      break;
    case Function::kDivide6: {
      const std::vector<float> six(x.size(), 6);
      kernels::binary<float>(kernel, kernels::BinaryOp::kDiv, n, x.data(), six.data(), out.data());
      break;
    }
  }
  return out;
}

float libm_function(Function f, float x, float y) {
  switch (f) {
    case Function::kExp:
      return std::exp(x);
    case Function::kLog:
      return std::log(x);
    case Function::kTanh:
      return std::tanh(x);
    case Function::kErf:
      return std::erf(x);
    case Function::kSin:
      return std::sin(x);
    case Function::kCos:
      return std::cos(x);
    case Function::kSqrt:
      return std::sqrt(x);
    case Function::kPow:
      return std::pow(x, y);
    case Function::kDivide6:
      break;
  }
  return x / 6;
}

}  // namespace

std::string Revelation::words() const {
  if (revealed.verdict == Verdict::kNoUnitLost) {
    if (is_correctly_rounded()) {
      return "The sum is correctly rounded: the number nearest to the exact sum, whatever the order, so there is no "
             "tree";
    }
    return "There is no order to see: " + revealed.reason;
  }
  if (!revealed.tree) {
    // Plain additions come to counts, whatever their order, and a quotient at the end does not hide them.
    const bool runs = sum.target == Target::kMean && revealed.verdict == Verdict::kNotATree;
    return text_of("No tree (", name_of(revealed.verdict), "): ", revealed.reason,
                   runs ? "; this mean is no sum of plain additions that is divided at the end" : "");
  }
  return words_of(*revealed.tree);
}

Expected<Revelation> reveal(const RevealRequest& request) {
  ISOBIT_RETURN_IF_ERROR(check(request.sum));
  ISOBIT_TRY(const std::unique_ptr<Source> source, Source::open(request));
  Revelation out;
  out.sum = request.sum;
  ISOBIT_TRY(std::unique_ptr<Summation> summation, source->summation(out.sum));
  ISOBIT_RETURN_IF_ERROR(reveal_sum(*summation, request.seed, out));
  const bool several = out.sum.target == Target::kMatmul && out.sum.rows_at_once && out.sum.m > 1;
  if (several && !is_explained(out.confirmation)) {
    // Perhaps the rows are not computed alike: row 0 by itself, then.
    const int64_t asked = out.revealed.queries;
    out.sum.rows_at_once = false;
    ISOBIT_TRY(summation, source->summation(out.sum));
    ISOBIT_RETURN_IF_ERROR(reveal_sum(*summation, request.seed, out));
    out.revealed.queries += asked;
  }
  out.platform = source->platform;
  out.version = source->version;
  out.call = source->call;
  ISOBIT_RETURN_IF_ERROR(look_at_last_column(*source, out, request.seed));
  if (request.probes) ISOBIT_RETURN_IF_ERROR(add_probes(*source, *summation, out));
  return out;
}

Expected<std::vector<FunctionReport>> reveal_functions(const std::string& platform, const std::string& python,
                                                       const Patience& patience) {
  if (platform == "libm") {
    return compare_functions([](Function f, const std::vector<float>& x, const std::vector<float>& y) {
      std::vector<float> out(x.size());
      for (size_t i = 0; i < x.size(); ++i) out[i] = libm_function(f, x[i], y.empty() ? 0 : y[i]);
      return Expected<std::vector<float>>(std::move(out));
    });
  }
  ISOBIT_TRY(const auto choice, engine_of(platform, python, patience));
  if (choice) return compare_functions(worker_functions(*choice));
  ISOBIT_TRY(const platform::Platform p, own_platform(platform));
  platform::Engine engine(p);
  const kernels::KernelContext kernel{p.isa, &engine.pool()};
  return compare_functions([&](Function f, const std::vector<float>& x, const std::vector<float>& y) {
    return own_function(kernel, f, x, y);
  });
}

}  // namespace isobit::lab::reveal
