#include "isobit/lab/explain/operator_answer.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>

#include "isobit/base/fp_env.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/graph/passes/retype.h"
#include "isobit/kernels/optimizer/optimizer.h"
#include "isobit/kernels/vendor/child.h"
#include "isobit/lab/reveal/confirm.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"
#include "isobit/tensor/convert.h"

namespace isobit::lab::explain {
namespace {

constexpr int kMostSeconds = 300;
constexpr uint64_t kMostBytes = uint64_t{1} << 30, kMaxText = 1 << 20;
constexpr double kMostPower = 1e7;  // of an attribute, that is looked for
constexpr size_t kMostMixed = 9;    // terms that are looked at alone
constexpr int64_t kMostReach = 16;  // places beyond the terms that are looked at, on either side

// Of this process, whoever else is on the machine.
double seconds_computed() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

bool is_power_of_two(int64_t n) { return (n & (n - 1)) == 0; }

class Asking {
 public:
  Asking(const OperatorCall& call, OperatorRun& run, double seconds) : call_(call), run_(run), seconds_(seconds) {}

  Expected<SumAnswer> ask() {
    SumAnswer answer;
    const auto places = sum_places(call_, 1);
    if (places.empty()) return refused("it adds nothing");
    place_ = places.front();
    const auto k = static_cast<int64_t>(place_.terms.size());
    if (k > reveal::kMostTerms) return refused(text_of("it adds ", k, " terms, more than ", reveal::kMostTerms));
    const double queries = static_cast<double>(k) * (std::log2(static_cast<double>(k)) + 2) + 1024;
    if (queries * seconds_ > kMostAskedSeconds) return refused("it takes too long to be asked as often as that needs");
    const auto divisor = divisor_of(run_, call_, place_);
    if (!divisor) return refused("it is neither a sum nor a mean");
    answer.model.divisor = *divisor;
    OperatorSum sum(run_, call_, place_, *divisor);
    ISOBIT_TRY(const reveal::Revealed revealed, reveal::reveal_tree(sum));
    answer.verdict = revealed.verdict;
    answer.reason = revealed.reason;
    answer.model.tree = revealed.tree;
    // Of a mean by anything but a power of two the probes would see the roundings of its division.
    if (revealed.tree && is_power_of_two(*divisor)) ISOBIT_RETURN_IF_ERROR(probe(sum, *revealed.tree, answer));
    if (!is_power_of_two(*divisor)) ISOBIT_RETURN_IF_ERROR(probe_division(answer.model));
    if (graph::op_of(call_.node()).product == graph::ProductForm::kConv) {
      ISOBIT_RETURN_IF_ERROR(probe_reach(answer));
      ISOBIT_TRY(answer.mixes, probe_mixing(sum));
    }
    return answer;
  }

 private:
  static SumAnswer refused(std::string why) { return {.problem = std::move(why)}; }

  static Status probe(OperatorSum& sum, const reveal::SumTree& tree, SumAnswer& answer) {
    ISOBIT_TRY(const std::vector<reveal::Probe> probes, reveal::probe_arithmetic(sum, tree));
    ISOBIT_TRY(const reveal::Confirmation confirmation, reveal::confirm(sum, &tree));
    answer.model.wide = confirmation.all(confirmation.wide) && !confirmation.all(confirmation.plain);
    for (const reveal::Probe& p : probes) {
      if (p.name == "rounding") answer.rounding = p.finding;
      if (p.name == "accumulator") answer.accumulator = p.finding;
      if (p.name == "products") answer.model.fused = p.finding == "fused multiply-add";
      if (p.name.starts_with("subnormal") && p.finding != "kept") answer.model.flushes = true;
    }
    answer.model.toward_zero = answer.rounding == "toward zero";
    return {};
  }

  // One term alone is its own sum, whatever the order.
  Status probe_division(SumModel& model) {
    OperatorSum sum(run_, call_, place_);
    std::mt19937 random(6);
    const auto n = static_cast<float>(model.divisor);
    std::vector<double> terms(place_.terms.size(), 0);
    int differ = 0, multiplied = 0;
    for (int i = 0; i < 128; ++i) {
      const auto x = static_cast<float>(random() >> 8 | 1u << 23);
      const float quotient = x / n, product = x * (1 / n);
      if (quotient == product) continue;
      terms[0] = static_cast<double>(x);
      double result = 0;
      ISOBIT_RETURN_IF_ERROR(sum.sums(1, terms.data(), &result));
      ++differ;
      multiplied += result == static_cast<double>(product);
    }
    model.by_reciprocal = differ > 0 && multiplied == differ;
    return {};
  }

  // Does a huge number at places that are no terms of the element reach its bits? Of a sum of products it does not;
  // whoever transforms tiles of the image before he multiplies cannot help it.
  Status probe_reach(SumAnswer& answer) {
    ISOBIT_TRY(const std::vector<Tensor> before, run_(call_.inputs));
    const auto bits = [&](const std::vector<Tensor>& outputs) {
      return numerics::bits_of(outputs[0].data<float>()[place_.element]);
    };
    const std::vector<int64_t>& dims = call_.inputs[0].shape().dims();
    int64_t inner = call_.inputs[0].elements();
    for (const int64_t extent : dims) {
      inner /= extent;
      Reach reach{.first = extent, .last = -1};
      for (const int64_t term : place_.terms) {
        reach.first = std::min(reach.first, term / inner % extent);
        reach.last = std::max(reach.last, term / inner % extent);
      }
      reach.reached_first = reach.first;
      reach.reached_last = reach.last;
      for (int64_t at = std::max<int64_t>(0, reach.first - kMostReach);
           at <= std::min(extent - 1, reach.last + kMostReach); ++at) {
        if (at >= reach.first && at <= reach.last) continue;
        std::vector<Tensor> inputs = call_.inputs;
        inputs[0] = inputs[0].clone();
        for (int64_t e = 0; e < inputs[0].elements(); ++e) {
          if (e / inner % extent == at) inputs[0].data<float>()[e] = 0x1p30f;
        }
        ISOBIT_TRY(const std::vector<Tensor> after, run_(inputs));
        if (bits(before) == bits(after)) continue;
        reach.reached_first = std::min(reach.reached_first, at);
        reach.reached_last = std::max(reach.reached_last, at);
      }
      answer.reach.push_back(reach);
    }
    return {};
  }

  // One term of 1 and weight 1; huge weights meet zeros. Whoever multiplies sums of weights loses the 1 beside them.
  Expected<bool> probe_mixing(OperatorSum& sum) const {
    const size_t k = place_.terms.size();
    bool mixes = false;
    for (size_t tried = 0; tried < kMostMixed && !mixes; ++tried) {
      const size_t one = tried * k / kMostMixed;
      std::vector<double> weights(k), terms(k, 0);
      for (size_t t = 0; t < k; ++t) weights[t] = 0x1p30 + 0x1p10 * static_cast<double>(t);
      weights[one] = terms[one] = 1;
      ISOBIT_RETURN_IF_ERROR(sum.weigh(weights.data()));
      double result = 0;
      ISOBIT_RETURN_IF_ERROR(sum.sums(1, terms.data(), &result));
      mixes = result != 1;
    }
    const std::vector<double> ones(k, 1);
    ISOBIT_RETURN_IF_ERROR(sum.weigh(ones.data()));
    return mixes;
  }

  const OperatorCall& call_;
  OperatorRun& run_;
  const double seconds_;  // of one run
  SumPlace place_;
};

void put(ByteWriter& w, const SumAnswer& a) {
  for (const std::string* text : {&a.problem, &a.reason, &a.accumulator, &a.rounding})
    w.text(text->substr(0, kMaxText));
  w.u8(static_cast<uint8_t>(a.verdict));
  w.text(a.model.tree ? reveal::text_of_tree(*a.model.tree) : "");
  for (const bool flag :
       {a.mixes, a.model.fused, a.model.wide, a.model.toward_zero, a.model.flushes, a.model.by_reciprocal}) {
    w.boolean(flag);
  }
  w.i64(a.model.divisor);
  w.u64(a.reach.size());
  for (const Reach& r : a.reach) {
    for (const int64_t place : {r.first, r.last, r.reached_first, r.reached_last}) w.i64(place);
  }
}

Expected<SumAnswer> take_sum(ByteReader& reader) {
  SumAnswer a;
  for (std::string* text : {&a.problem, &a.reason, &a.accumulator, &a.rounding}) {
    ISOBIT_TRY(*text, reader.text("words", kMaxText));
  }
  ISOBIT_TRY(const uint8_t verdict, reader.u8("verdict"));
  a.verdict = static_cast<reveal::Verdict>(verdict);
  ISOBIT_TRY(const std::string tree, reader.text("tree", reveal::kMostTreeText));
  if (!tree.empty()) {
    ISOBIT_TRY(a.model.tree, reveal::parse_tree(tree, "the order of an operator's sum"));
  }
  for (bool* flag :
       {&a.mixes, &a.model.fused, &a.model.wide, &a.model.toward_zero, &a.model.flushes, &a.model.by_reciprocal}) {
    ISOBIT_TRY(*flag, reader.boolean("finding"));
  }
  ISOBIT_TRY(a.model.divisor, reader.i64("divisor"));
  ISOBIT_TRY(const uint64_t axes, reader.u64("axes"));
  for (uint64_t i = 0; i < axes; ++i) {
    Reach r;
    for (int64_t* place : {&r.first, &r.last, &r.reached_first, &r.reached_last}) {
      ISOBIT_TRY(*place, reader.i64("place"));
    }
    a.reach.push_back(r);
  }
  return a;
}

// A float64 scalar that is a power of one of the node's attributes, and what it is in float32.
struct Power {
  size_t input = 0;
  float rounded = 0;
};

std::vector<Power> powers_of(const OperatorCall& call) {
  std::vector<Power> powers;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& scalar = call.inputs[i];
    if (scalar.dtype() != DType::kFloat64 || scalar.elements() != 1) continue;
    const double value = scalar.data<double>()[0];
    for (const auto& [name, attribute] : call.node().attributes.items()) {
      const auto* const base = std::get_if<double>(&attribute);
      if (base == nullptr || !(*base > 0 && *base < 1 && value > 0 && value < 1)) continue;
      const double t = std::round(std::log(value) / std::log(*base));
      if (t < 1 || t > kMostPower ||
          std::abs(kernels::beta_power(*base, static_cast<int64_t>(t)) / value - 1) > 1e-12) {
        continue;
      }
      powers.push_back({i, numerics::cr_pow(static_cast<float>(*base), static_cast<float>(t))});
      break;
    }
  }
  return powers;
}

Expected<std::vector<records::Hash128>> with_float_powers(const OperatorCall& call, OperatorRun& run) {
  std::vector<records::Hash128> made;
  const std::vector<Power> powers = powers_of(call);
  if (powers.empty() || powers.size() > 2) return made;
  const int ways = powers.size() == 1 ? 3 : 9;
  for (int way = 0; way < ways; ++way) {
    std::vector<Tensor> inputs = call.inputs;
    for (size_t p = 0; p < powers.size(); ++p) {
      const int off = (p == 0 ? way : way / 3) % 3;
      const float x = powers[p].rounded;
      const float power = off == 0 ? x : std::nextafter(x, off == 1 ? 0.0f : 1.0f);
      inputs[powers[p].input] = Tensor::scalar(static_cast<double>(power));
    }
    ISOBIT_TRY(const std::vector<Tensor> outputs, run(inputs));
    made.push_back(hash_of(outputs.front()));
  }
  return made;
}

Expected<Bytes> asked(const OperatorCall& call, const platform::Platform& platform, const std::string& arithmetic,
                      backends::Backend& backend) {
  pin_fp_environment();
  platform::Engine engine(platform);
  ISOBIT_TRY(const platform::Arithmetic* chosen, platform::named_arithmetic(arithmetic));
  ISOBIT_TRY(const platform::Context context, engine.context_for(*chosen));
  ISOBIT_TRY(OperatorRun run, OperatorRun::make(call, context, backend));
  ISOBIT_TRY(const std::vector<Tensor> outputs, run(call.inputs));
  const double begin = seconds_computed();
  ISOBIT_RETURN_IF_ERROR(run(call.inputs));
  const double seconds = seconds_computed() - begin;
  ByteWriter w;
  Feeds named;
  for (size_t o = 0; o < outputs.size(); ++o) named.emplace(text_of(o), outputs[o]);
  w.bytes(encode(named));
  w.boolean(is_sum(call));
  if (is_sum(call)) {
    ISOBIT_TRY(const SumAnswer sum, Asking(call, run, seconds).ask());
    put(w, sum);
  }
  std::vector<records::Hash128> powers;
  if (graph::op_of(call.node()).updates_state) {
    ISOBIT_TRY(powers, with_float_powers(call, run));
  }
  w.u64(powers.size());
  for (const records::Hash128& hash : powers) {
    w.u64(hash.high);
    w.u64(hash.low);
  }
  return w.take();
}

Status decode(ByteView bytes, const std::string& what, Answer& answer) {
  ByteReader reader(bytes, what);
  ISOBIT_TRY(const ByteView tensors, reader.bytes("outputs", kMostBytes));
  ISOBIT_TRY(const Feeds named, decode_feeds(tensors, what));
  for (size_t o = 0; o < named.size(); ++o) answer.outputs.push_back(named.at(text_of(o)));
  ISOBIT_TRY(const bool sum, reader.boolean("sum"));
  if (sum) {
    ISOBIT_TRY(answer.sum, take_sum(reader));
  }
  ISOBIT_TRY(const uint64_t powers, reader.u64("powers"));
  for (uint64_t p = 0; p < powers; ++p) {
    records::Hash128 hash;
    ISOBIT_TRY(hash.high, reader.u64("hash"));
    ISOBIT_TRY(hash.low, reader.u64("hash"));
    answer.float_powers.push_back(hash);
  }
  return reader.finish();
}

Expected<Tensor> computed(const graph::Graph& graph, const std::vector<Tensor>& inputs, platform::Engine& engine,
                          const char* arithmetic) {
  ISOBIT_TRY(const platform::Arithmetic* chosen, platform::named_arithmetic(arithmetic));
  ISOBIT_TRY(const platform::Context context, engine.context_for(*chosen));
  ISOBIT_TRY(const auto program, backends::native().compile(graph, context));
  std::vector<backends::Program::Feed> feeds;
  for (size_t i = 0; i < inputs.size(); ++i) feeds.emplace_back(graph.inputs()[i], inputs[i]);
  std::vector<Tensor> outputs(graph.outputs().size());
  ISOBIT_RETURN_IF_ERROR(program->run(feeds, outputs));
  return outputs.front();
}

}  // namespace

Answer ask(const OperatorCall& call, const platform::Platform& platform, const std::string& arithmetic,
           backends::Backend& backend) {
  const std::string what = text_of("asking an operator on ", platform.text());
  Answer answer;
  const auto bytes = kernels::vendor::run_in_child(
      what, [&] { return asked(call, platform, arithmetic, backend); }, kMostSeconds, kMostBytes);
  if (!bytes) {
    answer.problem = bytes.error().message;
  } else if (const Status read = decode(*bytes, what, answer); !read) {
    answer.problem = read.error().message;
  }
  return answer;
}

Expected<Reference> reference_of(const OperatorCall& call) {
  const std::string what = "an operator by our own kernels";
  const auto work = [&]() -> Expected<Bytes> {
    pin_fp_environment();
    platform::Engine engine(platform::Platform{});
    Feeds results;
    ISOBIT_TRY(const Tensor narrow, computed(call.graph, call.inputs, engine, "float32"));
    if (narrow.dtype() != DType::kFloat32) return unreadable("its output is no float32");
    ISOBIT_TRY(const graph::Graph graph, graph::retype(call.graph, graph::kInFloat64));
    std::vector<Tensor> inputs;
    for (const Tensor& t : call.inputs)
      inputs.push_back(t.dtype() == DType::kFloat32 ? converted(t, DType::kFloat64) : t);
    ISOBIT_TRY(const Tensor wide, computed(graph, inputs, engine, "float64"));
    results.emplace("narrow", narrow);
    results.emplace("wide", converted(wide, DType::kFloat32));
    return encode(results);
  };
  ISOBIT_TRY(const Bytes bytes, kernels::vendor::run_in_child(what, work, kMostSeconds, kMostBytes));
  ISOBIT_TRY(const Feeds results, decode_feeds(bytes, what));
  return Reference{results.at("narrow"), results.at("wide")};
}

}  // namespace isobit::lab::explain
