#include "isobit/train/job_fields.h"

#include <algorithm>
#include <limits>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/runtime/stages/rounding_stage.h"

namespace isobit::train {
namespace {

using Names = std::vector<std::string>;

constexpr int64_t kMost = int64_t{1} << 31;
constexpr double kAny = std::numeric_limits<double>::infinity();

bool is_of_text(const Job& job) { return data::dataset_takes(job.data.dataset, "context"); }

constexpr Which kResnet = {[](const Job& j) { return models::traits_of(j.model.builder).sized_by_blocks; }, "resnet"};
constexpr Which kGpt = {[](const Job& j) { return models::traits_of(j.model.builder).sized_by_layers; }, "gpt, gpt2"};
constexpr Which kFile = {[](const Job& j) { return models::traits_of(j.model.builder).is_file; }, "onnx"};
constexpr Which kDrops = {[](const Job& j) { return models::traits_of(j.model.builder).may_drop; },
                          "gpt, gpt2, vgg11-bn"};
constexpr Which kFormed = {[](const Job& j) { return models::traits_of(j.model.builder).has_forms; },
                           "resnet18 to resnet50, vgg11-bn"};
constexpr Which kNormed = {[](const Job& j) { return models::traits_of(j.model.builder).may_normalise; },
                           "the resnets, vgg11-bn, onnx"};
constexpr Which kCrossEntropy = {[](const Job& j) { return j.loss == Loss::kCrossEntropy; }, "cross-entropy"};
constexpr Which kHuber = {[](const Job& j) { return j.loss == Loss::kHuber; }, "huber"};
constexpr Which kText = {is_of_text, "dataset text"};
constexpr Which kTokenized = {[](const Job& j) { return is_of_text(j) && j.data.tokenizer != data::Tokenizer::kBytes; },
                              "a tokenizer"};
constexpr Which kNoText = {[](const Job& j) { return !is_of_text(j); }, "the other datasets"};
constexpr Which kTargets = {[](const Job& j) { return data::dataset_takes(j.data.dataset, "target"); }, "npy"};
constexpr Which kBytes = {[](const Job& j) { return data::dataset_takes(j.data.dataset, "bytes"); }, "npy, images"};
constexpr Which kImages = {[](const Job& j) { return data::dataset_takes(j.data.dataset, "height"); }, "images"};
constexpr Which kSgd = {[](const Job& j) { return j.optimizer == Optimizer::kSgd; }, "sgd"};
constexpr Which kAdam = {[](const Job& j) { return j.optimizer != Optimizer::kSgd; }, "adam, adamw"};
constexpr Which kStep = {[](const Job& j) { return j.schedule == Schedule::kStep; }, "step"};
constexpr Which kFalling = {
    [](const Job& j) { return j.schedule == Schedule::kCosine || j.schedule == Schedule::kLinear; }, "cosine, linear"};
constexpr Which kInSteps = {[](const Job& j) { return j.epochs == 0; }, "of a length in steps"};

constexpr Which kRounds = {[](const Job& j) { return arithmetic_of(j).rounds; }, "logged-1, rounded"};
constexpr Which kLogs = {[](const Job& j) { return arithmetic_of(j).logs; }, "logged-1"};
constexpr Which kOvt = {[](const Job& j) { return kLogs.holds(j) && j.rounding.log == log::Kind::kOvt; }, "ovt"};
constexpr Which kBounded = {[](const Job& j) { return kLogs.holds(j) && (!kOvt.holds(j) || j.rounding.distance); },
                            "logged-1, sparse or with rounding.distance"};
constexpr Which kCalibrated = {[](const Job& j) { return j.rounding.bound == DivergenceBound::kCalibrated; },
                               "calibrated"};
constexpr Which kMeasured = {[](const Job& j) { return kBounded.holds(j) && kCalibrated.holds(j); },
                             "the same, calibrated"};
constexpr const char* kRefusedUnderSound =
    "under rounding.bound = \"sound\" it would change nothing; leave it out, or set rounding.bound = \"calibrated\"";

// In the order of the enumerations.
Names optimizer_names() { return {"sgd", "adam", "adamw"}; }
Names schedule_names() { return {"constant", "step", "cosine", "linear"}; }
Names running_variance_names() { return {"biased", "unbiased"}; }
Names batch_norm_names() { return {"train", "frozen"}; }
Names form_names() { return {"imagenet", "small"}; }
Names loss_names() { return {"cross-entropy", "mse", "l1", "huber", "bce-with-logits", "output"}; }
Names log_names() { return {name_of(log::Kind::kSparse), name_of(log::Kind::kOvt)}; }
Names bound_names() { return {"calibrated", "sound"}; }

Names dataset_names() { return data::dataset_names(); }
Names target_names() { return data::target_rule_names(); }
Names tokenizer_names() { return data::tokenizer_names(); }
Names byte_names() { return data::byte_rule_names(); }

Names arithmetic_names() {
  Names names;
  for (const platform::Arithmetic& a : platform::arithmetics()) names.push_back(a.name);
  return names;
}

// Operators as a job spells them: without the prefix of our own.
Names operator_names(bool (*wanted)(const graph::OpDef&)) {
  Names names;
  for (const std::string& op : graph::op_names()) {
    if (wanted(*graph::find_op(op))) names.push_back(graph::short_name(op));
  }
  return names;
}
Names inner_product_names() {
  return operator_names([](const graph::OpDef& op) { return op.is_inner_product(); });
}
Names rounded_names() {
  return operator_names([](const graph::OpDef& op) { return !op.only_moves_values(); });
}

// The name becomes that of a folder, so it must not lead elsewhere.
std::string problem_of_name(const Job& job) {
  const std::string& name = job.name;
  auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  auto allowed = [&](char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  if (!name.empty() && name.size() <= 64 && alphanumeric(name[0]) && std::ranges::all_of(name, allowed)) return "";
  return text_of("found '", name, "', expected 1 to 64 letters, digits, '-', '_' or '.', the first a letter or digit");
}

std::string problem_of_arithmetic(const Job& job) {
  if (platform::find_arithmetic(job.arithmetic) != nullptr) return "";
  return text_of("found '", job.arithmetic, "', this version offers ", join_or(arithmetic_names()));
}

std::string network_of_file(const Job& job) { return job.model.onnx.empty() ? "" : models::kFromFile; }

std::string problem_of_builder(const Job& job) {
  if (job.model.onnx.empty() || models::traits_of(job.model.builder).is_file) return "";
  return text_of("found '", job.model.builder,
                 "' beside model.onnx; the network is the one or the other: leave one out");
}

std::string problem_of_outputs(const Job& job) {
  const size_t found = job.model.outputs.size();
  if (found < 2 && (found == 0 || !job.model.outputs[0].empty())) return "";
  return text_of("found ", found, " names, expected one: a loss is one of one output");
}

std::string problem_of_loss(const Job& job) {
  if (job.loss != Loss::kOutput || models::traits_of(job.model.builder).is_file) return "";
  return text_of("found 'output', and '", job.model.builder,
                 "' has no output that is a loss: only a file can have one");
}

// Every pattern is held against every name.
std::string problem_of_freeze(const Job& job) {
  constexpr size_t kMostBytes = 4096;
  size_t bytes = 0;
  for (const std::string& pattern : job.model.freeze) {
    if (pattern.empty()) return "found an empty pattern, which no name matches; leave it out";
    bytes += pattern.size();
  }
  if (bytes <= kMostBytes) return "";
  return text_of("found patterns of ", bytes, " bytes together, expected at most ", kMostBytes);
}

std::string problem_of_width(const Job& job) {
  if ((job.data.height == 0) == (job.data.width == 0)) return "";
  return text_of("found a ", job.data.height == 0 ? "width" : "height", " alone, expected data.height and data.width, ",
                 "or neither");
}

std::string problem_of_channels(const Job& job) {
  return job.data.channels == 2 ? "found 2, expected 1 (grey) or 3 (red, green, blue)" : "";
}

std::string problem_of_nesterov(const Job& job) { return job.nesterov && job.momentum == 0 ? "needs a momentum" : ""; }

std::string problem_of_warmup(const Job& job) {
  if (job.warmup < job.steps || job.warmup == 0 || job.epochs > 0) return "";  // of epochs, in_steps asks again
  return text_of("found ", job.warmup, ", expected less than job.steps (", job.steps, ")");
}

std::string problem_of_micro_batches(const Job& job) {
  if (job.batch % job.micro_batches == 0) return "";
  return text_of("found ", job.micro_batches, ", expected a number that divides data.batch (", job.batch, ")");
}

template <class T>
Place place_of(T* value) {
  if constexpr (std::is_enum_v<T>) {
    return Choice{[value] { return static_cast<size_t>(*value); },
                  [value](size_t number) { *value = static_cast<T>(number); }};
  } else {
    return value;
  }
}

bool is_default(const Field& field, const Job& job) {
  Job some = job, fresh;
  const Place place = field.in(some), other = field.in(fresh);
  return std::visit(
      [&](const auto& value) {
        const auto& initial = std::get<std::decay_t<decltype(value)>>(other);
        if constexpr (std::is_pointer_v<std::decay_t<decltype(value)>>) {
          return *value == *initial;
        } else {
          return value.get() == initial.get();
        }
      },
      place);
}

std::vector<Field> declared() {
  return {
#define ISOBIT_PLACED(path, name, ...) \
  Field{name, [](Job& job) { return place_of(&job.path); }, FieldRules{__VA_ARGS__}},
#define ISOBIT_JOB(type, member, initial, ...) ISOBIT_PLACED(member, __VA_ARGS__)
#define ISOBIT_ROUNDING(type, member, initial, ...) ISOBIT_PLACED(rounding.member, __VA_ARGS__)
#define ISOBIT_MODEL(member, ...) ISOBIT_PLACED(model.member, __VA_ARGS__)
#define ISOBIT_DATA(member, ...) ISOBIT_PLACED(data.member, __VA_ARGS__)
#include "isobit/train/job_fields.inc"
#undef ISOBIT_PLACED
  };
}

}  // namespace

bool Field::committed_in(const Job& job) const {
  const bool there = rules.known.holds(job) && rules.allowed.holds(job);
  if (!rules.committed || rules.path || !there || (rules.matters && !rules.matters->holds(job))) return false;
  return !rules.only_if_changed || !is_default(*this, job);
}

const std::vector<Field>& job_fields() {
  static const std::vector<Field> fields = declared();
  return fields;
}

const std::vector<std::string>& job_tables() {
  static const std::vector<std::string> tables = [] {
    std::vector<std::string> all;
    for (const Field& field : job_fields()) {
      if (all.empty() || all.back() != field.table()) all.emplace_back(field.table());
    }
    return all;
  }();
  return tables;
}

const Field* find_job_field(std::string_view table, std::string_view key) {
  for (const Field& field : job_fields()) {
    if (field.table() == table && field.key() == key) return &field;
  }
  return nullptr;
}

}  // namespace isobit::train
