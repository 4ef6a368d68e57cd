
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

// The library asserts what malformed input can break, and under NDEBUG lets the optimiser assume it (so this file is
// compiled without NDEBUG). With neither, the same input is a parse error.
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/train/job_fields.h"
#include "isobit/train/toml_limits.h"

namespace isobit::train {
namespace {

constexpr uint64_t kMaxJobBytes = 1 << 20;
constexpr double kMostOfGroup = 1e6;  // the factor and the decay of a parameter group

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

  Status integer(std::string_view key, int64_t& out, int64_t least, int64_t most) {
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
  Status real(std::string_view key, double& out, double least, double most) {
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
  Status reals(std::string_view key, Numbers& out, const std::vector<std::string>& names, double least, double most) {
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
  Status boolean(std::string_view key, bool& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return {};
    const auto value = node->value_exact<bool>();
    if (!value) return wrong(key, *node, "true or false");
    out = *value;
    return {};
  }
  Status text(std::string_view key, std::string& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return {};
    const auto value = node->value_exact<std::string>();
    if (!value) return wrong(key, *node, "a text");
    out = *value;
    return {};
  }
  Status texts(std::string_view key, std::vector<std::string>& out) {
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
  // A list of tables; none where there is no such key.
  Expected<std::vector<Table>> tables(std::string_view key) {
    std::vector<Table> found;
    const toml::node* node = find(key);
    if (node == nullptr) return found;
    const toml::array* array = node->as_array();
    if (array == nullptr) return tl::unexpected<Error>(wrong(key, *node, "a list of tables").error());
    for (const toml::node& item : *array) {
      if (!item.is_table()) return tl::unexpected<Error>(wrong(key, item, "a list of tables").error());
      found.emplace_back(item.as_table(), source_, text_of(name_, ".", key));
    }
    return found;
  }
  // A table of texts, { image = "a.npy", text = "b.npy" }.
  Status texts_by_name(std::string_view key, std::map<std::string, std::string>& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return {};
    const char* expected = "a table of texts, like { image = \"a.npy\", text = \"b.npy\" }";
    if (!node->is_table()) return wrong(key, *node, expected);
    for (const auto& [name, item] : *node->as_table()) {
      const auto value = item.value_exact<std::string>();
      if (!value) return wrong(key, item, expected);
      out[std::string(name.str())] = *value;
    }
    return {};
  }
  // A text that is one of `names`. An empty one leaves the default.
  Status choice(std::string_view key, const std::vector<std::string>& names, const Choice& out) {
    if (!present(key)) return {};
    std::string value;
    ISOBIT_RETURN_IF_ERROR(text(key, value));
    if (value.empty()) return {};
    const auto found = std::ranges::find(names, value);
    if (found == names.end()) {
      return unreadable(text_of(where(key), ": found '", value, "', expected ", join_or(names)));
    }
    out.set(static_cast<size_t>(found - names.begin()));
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
  bool present(std::string_view key) { return find(key) != nullptr; }
  bool exists() const { return table_ != nullptr; }
  const std::string& name() const { return name_; }
  // Where the table itself stands.
  std::string place() const { return table_ == nullptr ? source_ : place_of(*table_, source_); }
  std::string where(std::string_view key) const {
    const toml::node* node = table_ == nullptr ? nullptr : table_->get(key);
    return text_of(node == nullptr ? source_ : place_of(*node, source_), ": ", name_, ".", key);
  }

 private:
  const toml::node* find(std::string_view key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
    return table_ == nullptr ? nullptr : table_->get(key);
  }
  Status wrong(std::string_view key, const toml::node& node, const char* expected) const {
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

std::string resolved(const std::string& path, const std::string& folder) {
  if (path.empty() || folder.empty() || fs::path(path).is_absolute()) return path;
  return (fs::path(folder) / path).lexically_normal().string();
}

Status read_group(Table table, ParameterGroup& group) {
  ISOBIT_RETURN_IF_ERROR(table.text("match", group.match));
  if (group.match.empty()) {
    return unreadable(text_of(table.place(), ": ", table.name(), ".match: is missing; say of which parameters, like ",
                              "match = \"*.bias\""));
  }
  ISOBIT_RETURN_IF_ERROR(table.real("lr_factor", group.lr_factor, 0, kMostOfGroup));
  double decay = 0;
  ISOBIT_RETURN_IF_ERROR(table.real("weight_decay", decay, 0, kMostOfGroup));
  if (table.present("weight_decay")) group.weight_decay = decay;
  return table.finish();
}

// Reads one field of a table into its place.
struct Read {
  const Field& field;
  Table& table;
  const std::string& folder;

  Status operator()(int64_t* v) const { return table.integer(key(), *v, rules().whole.least, rules().whole.most); }
  Status operator()(uint64_t* v) const {
    auto value = static_cast<int64_t>(*v);
    ISOBIT_RETURN_IF_ERROR(table.integer(key(), value, rules().whole.least, rules().whole.most));
    *v = static_cast<uint64_t>(value);
    return {};
  }
  Status operator()(double* v) const { return table.real(key(), *v, rules().real.least, rules().real.most); }
  Status operator()(bool* v) const { return table.boolean(key(), *v); }
  Status operator()(std::string* v) const {
    ISOBIT_RETURN_IF_ERROR(table.text(key(), *v));
    if (v->empty() && rules().required != nullptr) return missing(field, table);
    if (rules().path) *v = resolved(*v, folder);
    return {};
  }
  Status operator()(std::vector<std::string>* v) const {
    ISOBIT_RETURN_IF_ERROR(table.texts(key(), *v));
    if (!rules().path) return {};
    for (std::string& path : *v) path = resolved(path, folder);
    return {};
  }
  Status operator()(Numbers* v) const {
    return table.reals(key(), *v, rules().names(), rules().real.least, rules().real.most);
  }
  Status operator()(ParameterGroups* v) const {
    ISOBIT_TRY(const std::vector<Table> groups, table.tables(key()));
    for (const Table& group : groups) ISOBIT_RETURN_IF_ERROR(read_group(group, v->emplace_back()));
    return {};
  }
  Status operator()(data::InputFiles* v) const {
    ISOBIT_RETURN_IF_ERROR(table.texts_by_name(key(), *v));
    for (auto& [name, path] : *v) path = resolved(path, folder);
    return {};
  }
  Status operator()(const Choice& v) const { return table.choice(key(), rules().names(), v); }

  static Status missing(const Field& field, const Table& table) {
    const FieldRules& rules = field.rules;
    const std::string wanted = *rules.required != 0 ? rules.required : "expected " + join_or(rules.names());
    return unreadable(text_of(table.where(field.key()), ": is missing; ", wanted));
  }

 private:
  std::string_view key() const { return field.key(); }
  const FieldRules& rules() const { return field.rules; }
};

Status read_field(const Field& field, Table& table, const std::string& folder, Job& job) {
  const FieldRules& rules = field.rules;
  if (!rules.known.holds(job)) return {};
  const bool present = table.present(field.key());
  if (!rules.allowed.holds(job)) {
    if (!present) return {};
    return unreadable(text_of(table.where(field.key()), ": found a value, expected none: ", rules.refused));
  }
  if (const std::string implied = !present && rules.implied ? rules.implied(job) : ""; !implied.empty()) {
    *std::get<std::string*>(field.in(job)) = implied;
    return {};
  }
  if (!present && rules.required != nullptr) return Read::missing(field, table);
  ISOBIT_RETURN_IF_ERROR(std::visit(Read{field, table, folder}, field.in(job)));
  const std::string problem = rules.problem == nullptr ? "" : rules.problem(job);
  return problem.empty() ? Status() : unreadable(text_of(table.where(field.key()), ": ", problem));
}

// A key of [rounding] that is only for logs is unknown in a job without a log. It may be spelled correctly, so the
// message then names the arithmetic.
Status read_table(Table table, const std::string& folder, Job& job) {
  for (const Field& field : job_fields()) {
    if (field.table() == table.name()) ISOBIT_RETURN_IF_ERROR(read_field(field, table, folder, job));
  }
  const Status rest = table.finish();
  if (rest || table.name() != "rounding" || arithmetic_of(job).logs) return rest;
  return unreadable(text_of(rest.error().message, " (job.arithmetic is '", job.arithmetic, "', which keeps no log)"));
}

// A table that says nothing to this job.
Status check_rounding(const Table& table, const Job& job) {
  if (!table.exists() || arithmetic_of(job).rounds) return {};
  return unreadable(text_of(table.place(), ": the job has a table [rounding], but its arithmetic '", job.arithmetic,
                            "' does not round; it is for 'logged-1' and 'rounded'"));
}

// Every text that is not empty, in tables within the table and in lists, too.
void make_absolute(toml::table& paths) {
  const auto absolute = [](toml::node& node) {
    if (toml::value<std::string>* text = node.as_string(); text != nullptr && !text->get().empty()) {
      text->get() = fs::absolute(text->get()).lexically_normal().string();
    } else if (toml::table* table = node.as_table()) {
      make_absolute(*table);
    }
  };
  for (auto&& [key, node] : paths) {
    if (toml::array* list = node.as_array()) {
      for (toml::node& item : *list) absolute(item);
    } else {
      absolute(node);
    }
  }
}

// "job.steps=50": the value in TOML's own notation; what is no TOML value is taken as a text.
Status apply_override(toml::table& root, const std::string& text) {
  const size_t equals = text.find('='), dot = text.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot == 0 || dot > equals || dot + 1 == equals) {
    return usage_error(text_of("--set ", text, ": expected TABLE.KEY=VALUE, like --set job.steps=50"));
  }
  const std::string table = text.substr(0, dot), key = text.substr(dot + 1, equals - dot - 1),
                    value = text.substr(equals + 1);
  if (value.empty()) {
    return usage_error(text_of("--set ", text, ": has no value; leave it out for the default, or write ", table, ".",
                               key, "='\"\"' for an empty text"));
  }
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
  const Field* field = find_job_field(table, key);
  if (field != nullptr && field->rules.path) make_absolute(parsed);
  target->insert_or_assign(key, *parsed.get("v"));
  return {};
}

Status check_tables(const toml::table& root, const std::string& source) {
  for (const auto& [key, node] : root) {
    const std::string name(key.str());
    if (std::find(job_tables().begin(), job_tables().end(), name) == job_tables().end()) {
      const std::string near = nearest_word(name, job_tables());
      return unreadable(text_of(
          place_of(node, source), ": a job has no '", name, "'; ",
          near.empty() ? text_of("it has the tables ", join_or(job_tables())) : text_of("did you mean [", near, "]?")));
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
  Job job;
  for (const std::string& name : job_tables()) {
    Table table(root[name].as_table(), source, name);
    if (name == "rounding") ISOBIT_RETURN_IF_ERROR(check_rounding(table, job));
    ISOBIT_RETURN_IF_ERROR(read_table(std::move(table), folder, job));
  }
  return job;
}

Expected<Job> load_job(const std::string& path, const std::vector<std::string>& overrides) {
  ISOBIT_TRY(const Bytes bytes, read_file(path, kMaxJobBytes));
  return parse_job({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path,
                   fs::path(path).parent_path().string(), overrides);
}

}  // namespace isobit::train
