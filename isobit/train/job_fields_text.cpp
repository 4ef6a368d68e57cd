// What people read of a job's fields: the table in docs/formats/job.md and the list under --help.
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/train/job_fields.h"

namespace isobit::train {
namespace {

constexpr size_t kHelpWidth = 110, kHelpIndent = 14;

// 2147483648 -> "2^31", 9223372036854775807 -> "2^63 - 1", 100 -> "100"
std::string number(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  for (int power = 16; power < 64; ++power) {
    if (bits == uint64_t{1} << power) return text_of("2^", power);
    if (bits == (uint64_t{1} << power) - 1) return text_of("2^", power, " - 1");
  }
  return text_of(value);
}
std::string number(double value) {
  const bool whole = value == std::floor(value) && std::abs(value) < 0x1p62;
  return whole ? number(static_cast<int64_t>(value)) : text_of(value);
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string in_quotes(const std::string& text) { return text_of("\"", text, "\""); }

struct TypeName {
  std::string operator()(const int64_t*) const { return "i64"; }
  std::string operator()(const uint64_t*) const { return "u64"; }
  std::string operator()(const double*) const { return "f64"; }
  std::string operator()(const bool*) const { return "bool"; }
  std::string operator()(const std::string*) const { return "text"; }
  std::string operator()(const std::vector<std::string>*) const { return "list of texts"; }
  std::string operator()(const Numbers*) const { return "numbers"; }
  std::string operator()(const ParameterGroups*) const { return "list of tables"; }
  std::string operator()(const data::InputFiles*) const { return "texts by name"; }
  std::string operator()(const Choice&) const { return "text"; }
};

// Of the value that a job without the field has.
struct ValueText {
  const FieldRules& rules;
  std::string operator()(const int64_t* v) const { return *v < rules.whole.least ? "" : number(*v); }
  std::string operator()(const uint64_t* v) const { return number(static_cast<int64_t>(*v)); }
  std::string operator()(const double* v) const { return text_of(*v); }
  std::string operator()(const bool* v) const { return *v ? "true" : "false"; }
  std::string operator()(const std::string* v) const { return v->empty() ? "" : in_quotes(*v); }
  std::string operator()(const std::vector<std::string>*) const { return rules.path ? "" : "[]"; }
  std::string operator()(const Numbers*) const { return "{}"; }
  std::string operator()(const ParameterGroups*) const { return "[]"; }
  std::string operator()(const data::InputFiles*) const { return ""; }
  std::string operator()(const Choice& v) const { return in_quotes(rules.names()[v.get()]); }
};

struct RangeText {
  const FieldRules& rules;
  std::string operator()(const int64_t*) const { return whole(); }
  std::string operator()(const uint64_t*) const { return whole(); }
  std::string operator()(const double*) const { return real(); }
  std::string operator()(const bool*) const { return "true, false"; }
  std::string operator()(const std::string*) const { return rules.names ? listed(rules.names()) : ""; }
  std::string operator()(const std::vector<std::string>*) const { return ""; }
  std::string operator()(const Numbers*) const { return real(); }
  std::string operator()(const ParameterGroups*) const { return ""; }
  std::string operator()(const data::InputFiles*) const { return ""; }
  std::string operator()(const Choice&) const { return listed(rules.names()); }

  std::string whole() const { return number(rules.whole.least) + " to " + number(rules.whole.most); }
  std::string real() const {
    if (std::isinf(rules.real.most)) return number(rules.real.least) + " and more";
    return number(rules.real.least) + " to " + number(rules.real.most);
  }
};

// In the file of which jobs it may stand.
std::string places(const FieldRules& rules) {
  if (rules.refused != nullptr) return text_of(rules.known.words, "; an error where not ", rules.allowed.words);
  return rules.known.holds == kEveryJob.holds ? "" : rules.known.words;
}

std::string committed(const Field& field, Job& defaults) {
  const FieldRules& rules = field.rules;
  if (!rules.committed || rules.path) return "no";
  const std::string where = rules.matters ? rules.matters->words : "";
  if (!rules.only_if_changed) return where.empty() ? "yes" : where;
  const std::string unless = std::visit(ValueText{rules}, field.in(defaults));
  const std::string changed = unless.empty() ? "where given" : "where not " + unless;
  return text_of(where.empty() ? "" : where + ", ", changed);
}

}  // namespace

std::string job_fields_page() {
  Job defaults;
  std::string page =
      "| key | type | default | values | in the file of | in the bytes | meaning |\n|---|---|---|---|---|---|---|\n";
  for (const Field& field : job_fields()) {
    const Place place = field.in(defaults);
    const FieldRules& rules = field.rules;
    page += text_of("| ", field.name, " | ", std::visit(TypeName{}, place), " | ",
                    rules.required != nullptr ? "required" : std::visit(ValueText{rules}, place), " | ",
                    std::visit(RangeText{rules}, place), " | ", places(rules), " | ", committed(field, defaults), " | ",
                    rules.meaning, " |\n");
  }
  return page;
}

std::string job_fields_help() {
  std::string help;
  for (const std::string& table : job_tables()) {
    std::string line = text_of("  ", table, std::string(12 - table.size(), ' '));
    bool first = true;
    for (const Field& field : job_fields()) {
      if (field.table() != table) continue;
      if (!first) line += ",";
      if (line.size() + 1 + field.key().size() > kHelpWidth) {
        help += line + "\n";
        line = std::string(kHelpIndent - 1, ' ');
      }
      line += first ? "" : " ";
      line += field.key();
      first = false;
    }
    help += line + "\n";
  }
  return help;
}

}  // namespace isobit::train
