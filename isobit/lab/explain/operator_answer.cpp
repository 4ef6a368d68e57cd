#include "isobit/lab/explain/operator_answer.h"

#include <cmath>
#include <ctime>

#include "isobit/base/fp_env.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/graph/passes/retype.h"
#include "isobit/kernels/optimizer/optimizer.h"
#include "isobit/kernels/vendor/child.h"
#include "isobit/numerics/functions.h"
#include "isobit/tensor/convert.h"

namespace isobit::lab::explain {
namespace {

constexpr int kAnswerSeconds = 300;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;
constexpr double kMostPower = 1e7;  // of an attribute, that is looked for

// Of this process, whoever else is on the machine.
double seconds_computed() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

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
                      backends::Backend& backend, const SumPlace* place) {
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
  w.boolean(place != nullptr);
  if (place != nullptr) {
    ISOBIT_TRY(const SumAnswer sum, ask_sum(call, run, seconds, *place));
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

// Output 0 by our own kernels.
Expected<Tensor> computed(const OperatorCall& call, platform::Engine& engine, const char* arithmetic) {
  ISOBIT_TRY(const platform::Arithmetic* chosen, platform::named_arithmetic(arithmetic));
  ISOBIT_TRY(const platform::Context context, engine.context_for(*chosen));
  ISOBIT_TRY(OperatorRun run, OperatorRun::make(call, context, backends::native()));
  ISOBIT_TRY(const std::vector<Tensor> outputs, run(call.inputs));
  return outputs.front();
}

}  // namespace

Answer ask(const OperatorCall& call, const platform::Platform& platform, const std::string& arithmetic,
           backends::Backend& backend, const SumPlace* place) {
  const std::string what = text_of("asking an operator on ", platform.text());
  Answer answer;
  const auto bytes = kernels::vendor::run_in_child(
      what, [&] { return asked(call, platform, arithmetic, backend, place); }, kAnswerSeconds, kMostBytes);
  if (!bytes) {
    answer.problem = bytes.error().message;
  } else if (const Status read = decode(*bytes, what, answer); !read) {
    answer.problem = read.error().message;
  } else if (answer.sum) {
    answer.sum->place = *place;
  }
  return answer;
}

Expected<Reference> reference_of(const OperatorCall& call) {
  const std::string what = "an operator by our own kernels";
  const auto work = [&]() -> Expected<Bytes> {
    pin_fp_environment();
    platform::Engine engine(platform::Platform{});
    Feeds results;
    ISOBIT_TRY(const Tensor narrow, computed(call, engine, "float32"));
    if (narrow.dtype() != DType::kFloat32) return unreadable("its output is no float32");
    OperatorCall in_float64 = call;
    ISOBIT_TRY(in_float64.graph, graph::retype(call.graph, graph::kInFloat64));
    for (Tensor& t : in_float64.inputs) {
      if (t.dtype() == DType::kFloat32) t = converted(t, DType::kFloat64);
    }
    ISOBIT_TRY(const Tensor wide, computed(in_float64, engine, "float64"));
    results.emplace("narrow", narrow);
    results.emplace("wide", converted(wide, DType::kFloat32));
    return encode(results);
  };
  ISOBIT_TRY(const Bytes bytes, kernels::vendor::run_in_child(what, work, kAnswerSeconds, kMostBytes));
  ISOBIT_TRY(const Feeds results, decode_feeds(bytes, what));
  return Reference{results.at("narrow"), results.at("wide")};
}

}  // namespace isobit::lab::explain
