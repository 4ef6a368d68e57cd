
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>

// The library asserts what malformed input can break, and under NDEBUG lets the optimiser assume it (so this file is
// compiled without NDEBUG). With neither, the same input is a parse error.
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/runtime/stages/inner_product.h"
#include "isobit/runtime/stages/rounding_stage.h"
#include "isobit/train/job_names_internal.h"
#include "isobit/train/toml_limits.h"

namespace isobit::train {
namespace {

constexpr uint64_t kMaxJobBytes = 1 << 20;
constexpr double kAny = std::numeric_limits<double>::infinity();

// Where a value was written: "job.toml:7", or "--set" for one that came from the command line.
std::string place_of(const toml::node& node, const std::string& source) {
  const auto line = node.source().begin.line;
  return line > 0 ? text_of(source, ":", line) : "--set";
}

// Reads one table and remembers which keys it was asked for, so that a misspelt one is an error and not a default.
class Table {
 public:
  Table(const toml::table* table, std::string source, std::string name)
      : table_(table), source_(std::move(source)), name_(std::move(name)) {}

  Status integer(const char* key, int64_t& out, int64_t least, int64_t most) {
    const toml::node* node = find(key);
    if (node == nullptr) return {};
    const auto value = node->value_exact<int64_t>();
    if (!value) return wrong(key, *node, "a whole number");
    if (*value < least || *value > most) {
      return unreadable(text_of(where(key), ": found ", *value, ", expected ", least, " to ", most));
    }
    out = *value;
    return {};
  }
  Status real(const char* key, double& out, double least, double most) {
    const toml::node* node = find(key);
    if (node == nullptr) return {};
    const auto value = node->value<double>();
    if (!value || !node->is_number() || std::isnan(*value)) return wrong(key, *node, "a number");
    if (*value < least || *value > most || std::isinf(*value)) {
      return unreadable(text_of(where(key), ": found ", *value, ", expected ", least, " to ", most));
    }
    out = *value;
    return {};
  }
  // A table of numbers, { Conv = 3.5, MatMul = 2 }.
  Status reals(const char* key, std::map<std::string, double>& out, const std::vector<std::string>& names, double least,
               double most) {
    const toml::node* node = find(key);
    if (node == nullptr) return {};
    if (!node->is_table()) return wrong(key, *node, "a table of numbers, like { Conv = 4.0 }");
    for (const auto& [name, number] : *node->as_table()) {
      if (std::find(names.begin(), names.end(), name.str()) == names.end()) {
        const std::string near = nearest_word(std::string(name.str()), names);
        return unreadable(
            text_of(where(key), ": '", std::string(name.str()), "' is no operator that it could speak of; ",
                    near.empty() ? text_of("expected ", join_or(names)) : text_of("did you mean '", near, "'?")));
      }
      const auto value = number.value<double>();
      if (!value || !number.is_number() || !(*value >= least && *value <= most)) {
        return unreadable(
            text_of(where(key), ": '", std::string(name.str()), "' must be a number from ", least, " to ", most));
      }
      out[std::string(name.str())] = *value;
    }
    return {};
  }
  Status boolean(const char* key, bool& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return {};
    const auto value = node->value_exact<bool>();
    if (!value) return wrong(key, *node, "true or false");
    out = *value;
    return {};
  }
  Status text(const char* key, std::string& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return {};
    const auto value = node->value_exact<std::string>();
    if (!value) return wrong(key, *node, "a text");
    out = *value;
    return {};
  }
  Status texts(const char* key, std::vector<std::string>& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return {};
    const toml::array* array = node->as_array();
    if (array == nullptr) return wrong(key, *node, "a list of texts");
    out.clear();
    for (const toml::node& item : *array) {
      const auto value = item.value_exact<std::string>();
      if (!value) return wrong(key, item, "a list of texts");
      out.push_back(*value);
    }
    return {};
  }
  // A text that is one of `names`; out is its place.
  template <class E>
  Status choice(const char* key, const std::vector<std::string>& names, E& out) {
    std::string value;
    ISOBIT_RETURN_IF_ERROR(text(key, value));
    if (value.empty()) return {};
    const auto found = std::find(names.begin(), names.end(), value);
    if (found == names.end()) {
      return unreadable(text_of(where(key), ": found '", value, "', expected ", join_or(names)));
    }
    out = static_cast<E>(found - names.begin());
    return {};
  }
  // To be called last: every key of the table must have been asked for.
  Status finish() const {
    if (table_ == nullptr) return {};
    for (const auto& [key, node] : *table_) {
      const std::string name(key.str());
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      const std::string near = nearest_word(name, known_);
      return unreadable(
          text_of(place_of(node, source_), ": [", name_, "] has no key '", name, "'; ",
                  near.empty() ? text_of("it has ", join_or(known_)) : text_of("did you mean '", near, "'?")));
    }
    return {};
  }
  bool present(const char* key) { return find(key) != nullptr; }
  // Where the table itself stands.
  std::string place() const { return table_ == nullptr ? source_ : place_of(*table_, source_); }
  std::string where(const char* key) const {
    const toml::node* node = table_ == nullptr ? nullptr : table_->get(key);
    return text_of(node == nullptr ? source_ : place_of(*node, source_), ": ", name_, ".", key);
  }

 private:
  const toml::node* find(const char* key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
    return table_ == nullptr ? nullptr : table_->get(key);
  }
  Status wrong(const char* key, const toml::node& node, const char* expected) const {
    std::ostringstream found;
    found << node.type();
    return unreadable(text_of(place_of(node, source_), ": ", name_, ".", key, ": found a value of type ", found.str(),
                              ", expected ", expected));
  }

  const toml::table* table_;
  std::string source_;
  std::string name_;
  std::vector<std::string> known_;
};

const std::vector<std::string> kTables = {"job",    "model",      "data",     "optimizer", "schedule",
                                          "commit", "checkpoint", "evaluate", "rounding"};
constexpr int64_t kMost = int64_t{1} << 31;

// The name becomes that of a folder, so it must not lead elsewhere.
bool is_plain_name(std::string_view name) {
  auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > 64 || !alphanumeric(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

Status read_job(Table t, Job& job) {
  ISOBIT_RETURN_IF_ERROR(t.text("name", job.name));
  if (!is_plain_name(job.name)) {
    return unreadable(text_of(t.where("name"), ": found '", job.name,
                              "', expected 1 to 64 letters, digits, '-', '_' or '.', the first a letter or digit"));
  }
  auto seed = static_cast<int64_t>(job.seed);
  ISOBIT_RETURN_IF_ERROR(t.integer("seed", seed, 0, std::numeric_limits<int64_t>::max()));
  job.seed = static_cast<uint64_t>(seed);
  if (!t.present("steps")) return unreadable(text_of(t.where("steps"), ": is missing; say how many steps to train"));
  ISOBIT_RETURN_IF_ERROR(t.integer("steps", job.steps, 1, 1 << 22));
  ISOBIT_RETURN_IF_ERROR(t.text("arithmetic", job.arithmetic));
  if (platform::find_arithmetic(job.arithmetic) == nullptr) {
    std::vector<std::string> names;
    for (const platform::Arithmetic& a : platform::arithmetics()) names.push_back(a.name);
    return unreadable(
        text_of(t.where("arithmetic"), ": found '", job.arithmetic, "', this version offers ", join_or(names)));
  }
  return t.finish();
}

Status read_model(Table t, Job& job) {
  models::ModelConfig& m = job.model;
  ISOBIT_RETURN_IF_ERROR(t.text("builder", m.builder));
  if (m.builder.empty()) {
    return unreadable(text_of(t.where("builder"), ": is missing; expected ", join_or(models::builder_names())));
  }
  if (m.builder == "resnet") {
    ISOBIT_RETURN_IF_ERROR(t.integer("blocks", m.blocks, 1, 100));
    ISOBIT_RETURN_IF_ERROR(t.integer("width", m.width, 1, 4096));
    ISOBIT_RETURN_IF_ERROR(t.choice("running_variance", kRunningVariances, m.running_variance));
  }
  if (m.builder == "gpt") {
    ISOBIT_RETURN_IF_ERROR(t.integer("layers", m.layers, 1, 200));
    ISOBIT_RETURN_IF_ERROR(t.integer("heads", m.heads, 1, 1024));
    ISOBIT_RETURN_IF_ERROR(t.integer("channels", m.channels, 1, 1 << 16));
    ISOBIT_RETURN_IF_ERROR(t.real("dropout", m.dropout, 0, 0.999));
  }
  return t.finish();
}

std::string resolved(const std::string& path, const std::string& folder) {
  if (path.empty() || folder.empty() || fs::path(path).is_absolute()) return path;
  return (fs::path(folder) / path).lexically_normal().string();
}

Status read_data(Table t, Job& job, const std::string& folder) {
  data::DataConfig& d = job.data;
  ISOBIT_RETURN_IF_ERROR(t.text("dataset", d.dataset));
  if (d.dataset.empty()) {
    return unreadable(text_of(t.where("dataset"), ": is missing; expected ", join_or(data::dataset_names())));
  }
  if (!t.present("batch"))
    return unreadable(text_of(t.where("batch"), ": is missing; say how many samples a step takes"));
  ISOBIT_RETURN_IF_ERROR(t.integer("batch", job.batch, 1, 1 << 20));
  ISOBIT_RETURN_IF_ERROR(t.integer("context", d.context, 1, 1 << 20));
  ISOBIT_RETURN_IF_ERROR(t.texts("augment", d.augment));
  const std::array<std::pair<const char*, std::string*>, 5> paths = {{{"path", &d.path},
                                                                      {"labels_path", &d.labels_path},
                                                                      {"test_path", &d.test_path},
                                                                      {"test_labels_path", &d.test_labels_path},
                                                                      {"salt", &job.salt_path}}};
  for (const auto& [key, path] : paths) {
    ISOBIT_RETURN_IF_ERROR(t.text(key, *path));
    *path = resolved(*path, folder);
  }
  const std::array<std::pair<const char*, std::vector<std::string>*>, 2> lists = {
      {{"files", &d.files}, {"test_files", &d.test_files}}};
  for (const auto& [key, list] : lists) {
    ISOBIT_RETURN_IF_ERROR(t.texts(key, *list));
    for (std::string& path : *list) path = resolved(path, folder);
  }
  return t.finish();
}

Status read_optimizer(Table t, Job& job) {
  ISOBIT_RETURN_IF_ERROR(t.choice("name", kOptimizers, job.optimizer));
  if (!t.present("lr")) return unreadable(text_of(t.where("lr"), ": is missing; give the learning rate"));
  ISOBIT_RETURN_IF_ERROR(t.real("lr", job.lr, 0, 1e6));
  ISOBIT_RETURN_IF_ERROR(t.real("weight_decay", job.weight_decay, 0, 1e6));
  ISOBIT_RETURN_IF_ERROR(t.real("clip_norm", job.clip_norm, 0, 1e30));
  if (job.optimizer == Optimizer::kSgd) {
    ISOBIT_RETURN_IF_ERROR(t.real("momentum", job.momentum, 0, 0.999999));
    ISOBIT_RETURN_IF_ERROR(t.boolean("nesterov", job.nesterov));
    if (job.nesterov && job.momentum == 0) return unreadable(text_of(t.where("nesterov"), ": needs a momentum"));
  } else {
    ISOBIT_RETURN_IF_ERROR(t.real("beta1", job.beta1, 0, 0.999999));
    ISOBIT_RETURN_IF_ERROR(t.real("beta2", job.beta2, 0, 0.999999999));
    ISOBIT_RETURN_IF_ERROR(t.real("epsilon", job.epsilon, 1e-30, 1));
  }
  return t.finish();
}

Status read_schedule(Table t, Job& job) {
  ISOBIT_RETURN_IF_ERROR(t.choice("name", kSchedules, job.schedule));
  ISOBIT_RETURN_IF_ERROR(t.integer("warmup", job.warmup, 0, kMost));
  if (job.warmup >= job.steps && job.warmup > 0) {
    return unreadable(
        text_of(t.where("warmup"), ": found ", job.warmup, ", expected less than job.steps (", job.steps, ")"));
  }
  if (job.schedule == Schedule::kStep) {
    if (!t.present("every"))
      return unreadable(text_of(t.where("every"), ": is missing; say after how many steps the rate drops"));
    ISOBIT_RETURN_IF_ERROR(t.integer("every", job.decay_every, 1, kMost));
    ISOBIT_RETURN_IF_ERROR(t.real("factor", job.decay_factor, 0, 1));
  }
  if (job.schedule == Schedule::kCosine) ISOBIT_RETURN_IF_ERROR(t.real("min_lr", job.min_lr, 0, kAny));
  return t.finish();
}

// Operators as a job spells them: without the prefix of our own.
std::vector<std::string> operator_names(bool inner_products) {
  std::vector<std::string> names;
  for (const std::string& op : graph::op_names()) {
    const graph::OpDef& def = *graph::find_op(op);
    const bool wanted = inner_products ? def.is_inner_product() : !def.only_moves_values();
    if (wanted) names.push_back(op.starts_with("isobit.") ? op.substr(7) : op);
  }
  return names;
}

// A bound by proof leaves nothing to say by measurement.
Status read_divergences(Table& t, Rounding& r) {
  if (r.bound == DivergenceBound::kCalibrated) {
    ISOBIT_RETURN_IF_ERROR(t.real("divergence", r.divergence, 0, runtime::kMostDivergence));
    return t.reals("divergences", r.divergences, operator_names(true), 0, runtime::kMostDivergence);
  }
  for (const char* key : {"divergence", "divergences"}) {
    if (!t.present(key)) continue;
    return unreadable(text_of(t.where(key),
                              ": found a value, expected none: under rounding.bound = \"sound\" it would ",
                              "change nothing; leave it out, or set rounding.bound = \"calibrated\""));
  }
  return {};
}

Status read_rounding(Table t, bool present, Job& job) {
  Rounding& r = job.rounding;
  const platform::Arithmetic& arithmetic = arithmetic_of(job);
  if (!arithmetic.rounds) {
    if (!present) return {};
    return unreadable(text_of(t.place(), ": the job has a table [rounding], but its arithmetic '", job.arithmetic,
                              "' does not round; it is for 'logged-1' and 'rounded'"));
  }
  ISOBIT_RETURN_IF_ERROR(t.integer("bits", r.bits, 22, 32));
  if (arithmetic.logs) {
    ISOBIT_RETURN_IF_ERROR(t.choice("log", kLogs, r.log));
    ISOBIT_RETURN_IF_ERROR(t.choice("bound", kBounds, r.bound));
    ISOBIT_RETURN_IF_ERROR(read_divergences(t, r));
    if (r.log == log::Kind::kOvt) {
      ISOBIT_RETURN_IF_ERROR(t.boolean("distance", r.distance));
    } else if (t.present("distance")) {
      return unreadable(text_of(t.where("distance"), ": found a value, expected none: entries of a sparse log always ",
                                "obey the bound; leave it out, or set rounding.log = \"ovt\""));
    }
    ISOBIT_RETURN_IF_ERROR(t.real("threshold", r.threshold, 0, 0.5));
    ISOBIT_RETURN_IF_ERROR(t.reals("thresholds", r.thresholds, operator_names(false), 0, 0.5));
  }
  const Status rest = t.finish();
  if (rest || arithmetic.logs) return rest;
  return unreadable(text_of(rest.error().message, " (job.arithmetic is '", job.arithmetic, "', which keeps no log)"));
}

Status read_rest(Table commit, Table checkpoint, Table evaluate, Job& job) {
  ISOBIT_RETURN_IF_ERROR(commit.integer("every", job.commit_every, 1, kMost));
  ISOBIT_RETURN_IF_ERROR(commit.finish());
  ISOBIT_RETURN_IF_ERROR(checkpoint.integer("every", job.checkpoint_every, 0, kMost));
  ISOBIT_RETURN_IF_ERROR(checkpoint.integer("keep", job.checkpoint_keep, 1, 1 << 20));
  ISOBIT_RETURN_IF_ERROR(checkpoint.finish());
  ISOBIT_RETURN_IF_ERROR(evaluate.integer("samples", job.evaluate_samples, 0, kMost));
  return evaluate.finish();
}

// "job.steps=50": the value in TOML's own notation; what is no TOML value is taken as a text.
Status apply_override(toml::table& root, const std::string& text) {
  const size_t equals = text.find('='), dot = text.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot == 0 || dot > equals || dot + 1 == equals) {
    return usage_error(text_of("--set ", text, ": expected TABLE.KEY=VALUE, like --set job.steps=50"));
  }
  const std::string table = text.substr(0, dot), key = text.substr(dot + 1, equals - dot - 1),
                    value = text.substr(equals + 1);
  toml::table parsed;
  try {
    const std::string line = text_of("v = ", value);
    if (check_toml_limits(line, "--set")) parsed = toml::parse(line);
  } catch (const toml::parse_error&) {
  }
  if (parsed.empty()) parsed.insert_or_assign("v", value);
  if (!root.contains(table)) root.insert(table, toml::table{});
  toml::table* target = root[table].as_table();
  if (target == nullptr || parsed.size() != 1)
    return usage_error(text_of("--set ", text, ": '", table, "' is not a table"));
  // A path typed on the command line is meant from where the command runs, not from where the job lies.
  const auto path = parsed["v"].value_exact<std::string>();
  const bool names_file = table == "data" && (key.ends_with("path") || key == "salt");
  if (names_file && path && !path->empty()) {
    target->insert_or_assign(key, fs::absolute(*path).lexically_normal().string());
    return {};
  }
  target->insert_or_assign(key, *parsed.get("v"));
  return {};
}

Status check_tables(const toml::table& root, const std::string& source) {
  for (const auto& [key, node] : root) {
    const std::string name(key.str());
    if (std::find(kTables.begin(), kTables.end(), name) == kTables.end()) {
      const std::string near = nearest_word(name, kTables);
      return unreadable(text_of(
          place_of(node, source), ": a job has no '", name, "'; ",
          near.empty() ? text_of("it has the tables ", join_or(kTables)) : text_of("did you mean [", near, "]?")));
    }
    if (!node.is_table())
      return unreadable(text_of(place_of(node, source), ": '", name, "' must be a table: [", name, "]"));
  }
  return {};
}

}  // namespace

Expected<Job> parse_job(std::string_view text, const std::string& source, const std::string& folder,
                        const std::vector<std::string>& overrides) {
  if (text.size() > kMaxJobBytes) {
    return unreadable(text_of(source, ": is ", human_bytes(text.size()), ", more than the ", human_bytes(kMaxJobBytes),
                              " a job may have"));
  }
  ISOBIT_RETURN_IF_ERROR(check_toml_limits(text, source));
  toml::table root;
  try {
    root = toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    return unreadable(
        text_of(source, ":", error.source().begin.line, ":", error.source().begin.column, ": ", error.description()));
  }
  for (const std::string& o : overrides) ISOBIT_RETURN_IF_ERROR(apply_override(root, o));
  ISOBIT_RETURN_IF_ERROR(check_tables(root, source));
  auto table = [&](const char* name) { return Table(root[name].as_table(), source, name); };
  Job job;
  ISOBIT_RETURN_IF_ERROR(read_job(table("job"), job));
  ISOBIT_RETURN_IF_ERROR(read_model(table("model"), job));
  ISOBIT_RETURN_IF_ERROR(read_data(table("data"), job, folder));
  ISOBIT_RETURN_IF_ERROR(read_optimizer(table("optimizer"), job));
  ISOBIT_RETURN_IF_ERROR(read_schedule(table("schedule"), job));
  ISOBIT_RETURN_IF_ERROR(read_rounding(table("rounding"), root.contains("rounding"), job));
  ISOBIT_RETURN_IF_ERROR(read_rest(table("commit"), table("checkpoint"), table("evaluate"), job));
  return job;
}

Expected<Job> load_job(const std::string& path, const std::vector<std::string>& overrides) {
  ISOBIT_TRY(const Bytes bytes, read_file(path, kMaxJobBytes));
  return parse_job({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path,
                   fs::path(path).parent_path().string(), overrides);
}

}  // namespace isobit::train
