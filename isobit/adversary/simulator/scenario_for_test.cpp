#include "isobit/adversary/simulator/scenario_for_test.h"

#include <algorithm>

#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include "isobit/base/text.h"
#include "isobit/train/toml_limits.h"

namespace isobit::adversary::simulator {
namespace {

constexpr uint64_t kMaxBytes = 1 << 16;

template <size_t N>
std::optional<size_t> place_in(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<size_t>(found - names.begin());
}

// A table, every key of which must be asked for.
class Table {
 public:
  Table(const toml::table& table, std::string where) : table_(table), where_(std::move(where)) {}
  tl::unexpected<Error> wrong(std::string_view key, std::string_view expected) const {
    return unreadable(text_of(where_, ": ", key, " is missing or wrong, expected ", expected));
  }
  Status chance(const char* key, double& out) {
    const toml::node* node = take(key);
    if (node == nullptr) return {};
    const auto value = node->value<double>();
    if (!value || !(*value >= 0 && *value <= 1)) return wrong(key, "a chance from 0 to 1");
    out = *value;
    return {};
  }
  Status number(const char* key, uint64_t& out, const char* expected = "a number of seconds from 1 to 100000") {
    const toml::node* node = take(key);
    if (node == nullptr) return {};
    const auto value = node->value_exact<int64_t>();
    if (!value || *value < 1 || *value > 100'000) return wrong(key, expected);
    out = static_cast<uint64_t>(*value);
    return {};
  }
  // A text, or a list of them; an empty list for anything else.
  std::vector<std::string> texts(const char* key, const std::string& otherwise) {
    const toml::node* node = take(key);
    if (node == nullptr) return {otherwise};
    if (!node->is_array()) return {node->value_exact<std::string>().value_or("")};
    std::vector<std::string> texts;
    for (const toml::node& text : *node->as_array()) texts.push_back(text.value_exact<std::string>().value_or(""));
    return texts;
  }
  std::string text(const char* key, const std::string& otherwise) {
    const toml::node* node = take(key);
    return node == nullptr ? otherwise : node->value_exact<std::string>().value_or("");
  }
  const toml::node* take(const char* key) {
    taken_.insert(key);
    return table_.get(key);
  }
  Status finish() const {
    for (const auto& [key, value] : table_) {
      if (!taken_.contains(std::string(key.str()))) return unreadable(text_of(where_, ": nobody knows ", key.str()));
    }
    return {};
  }

 private:
  const toml::table& table_;
  const std::string where_;
  std::set<std::string> taken_;
};

Status read_party(Table& table, const char* name, std::vector<LieKind>& lies, Conduct& conduct) {
  constexpr std::array<std::string_view, 8> kConducts = {"",         "stalls",    "floods",      "changes",
                                                         "unsigned", "other-key", "equivocates", "shows-more"};
  for (const std::string& lie : table.texts(name, "honest")) {
    const auto kind = lie_kind(lie);
    if (!kind) return table.wrong(name, "honest or the name of a lie, or a list of them");
    lies.push_back(*kind);
  }
  if (lies.empty()) return table.wrong(name, "honest or the name of a lie, or a list of them");
  const std::string key = text_of(name, "_conduct");
  const auto place = place_in(kConducts, table.text(key.c_str(), ""));
  if (!place) return table.wrong(key, "stalls, floods, changes, unsigned, other-key, equivocates or shows-more");
  conduct = static_cast<Conduct>(*place);
  return {};
}

Status read_faults(Table& table, const std::string& where, NetworkFaults& n, MachineFaults& m) {
  const toml::table none;
  const auto part = [&](const char* name) {
    const toml::node* node = table.take(name);
    return node == nullptr || !node->is_table() ? Table(none, where) : Table(*node->as_table(), where + ": " + name);
  };
  Table network = part("network");
  ISOBIT_RETURN_IF_ERROR(network.chance("drop", n.drop));
  ISOBIT_RETURN_IF_ERROR(network.chance("duplicate", n.duplicate));
  ISOBIT_RETURN_IF_ERROR(network.chance("corrupt", n.corrupt));
  ISOBIT_RETURN_IF_ERROR(network.number("delay", n.delay));
  ISOBIT_RETURN_IF_ERROR(network.chance("partition", n.partition));
  ISOBIT_RETURN_IF_ERROR(network.number("partition_seconds", n.partition_seconds));
  ISOBIT_RETURN_IF_ERROR(network.finish());
  Table machines = part("machines");
  ISOBIT_RETURN_IF_ERROR(machines.chance("crash", m.crash));
  ISOBIT_RETURN_IF_ERROR(machines.chance("referee_crash", m.referee_crash));
  ISOBIT_RETURN_IF_ERROR(machines.number("crash_seconds", m.crash_seconds));
  ISOBIT_RETURN_IF_ERROR(machines.chance("full_disk", m.full_disk));
  ISOBIT_RETURN_IF_ERROR(machines.number("full_disk_seconds", m.full_disk_seconds));
  ISOBIT_RETURN_IF_ERROR(machines.chance("rot", m.rot));
  return machines.finish();
}

Status read_difference(Table& table, Scenario& s) {
  constexpr std::array<std::string_view, 4> kDifferences = {"", "entry", "missing", "beyond"};
  s.difference.clear();
  for (const std::string& name : table.texts("difference", "")) {
    const auto place = place_in(kDifferences, name);
    const bool may = s.arithmetic == std::vector<std::string>{"logged-1"} && s.is_honest();
    if (!place || (*place != 0 && !may)) {
      return table.wrong("difference",
                         "entry, missing or beyond, of honest parties under logged-1 alone: elsewhere two "
                         "honest parties have one value");
    }
    s.difference.push_back(static_cast<Difference>(*place));
  }
  return s.difference.empty() ? table.wrong("difference", "a name, or a list of them") : Status();
}

}  // namespace

Expected<Scenario> read_scenario(const fs::path& file) {
  ISOBIT_TRY(const Bytes bytes, read_file(file, kMaxBytes));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string where = file.filename().string();
  ISOBIT_RETURN_IF_ERROR(train::check_toml_limits(text, where));
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return unreadable(text_of(where, ":", error.source().begin.line, ": ", error.description()));
  }
  Scenario s;
  s.name = file.stem().string();
  Table table(root, where);
  s.arithmetic = table.texts("arithmetic", "");
  if (s.arithmetic.empty() || std::ranges::find(s.arithmetic, "") != s.arithmetic.end()) {
    return table.wrong("arithmetic", "the name of an arithmetic, or a list of them");
  }
  ISOBIT_RETURN_IF_ERROR(read_party(table, "trainer", s.trainer, s.trainer_conduct));
  ISOBIT_RETURN_IF_ERROR(read_party(table, "challenger", s.challenger, s.challenger_conduct));
  constexpr std::array<std::string_view, 6> kEnds = {"ends",          "trainer wrong",    "challenger wrong",
                                                     "trainer loses", "challenger loses", "nobody wrong"};
  const auto expected = place_in(kEnds, table.text("expected", ""));
  if (!expected) {
    return table.wrong("expected", "ends, nobody wrong, trainer wrong, challenger wrong, trainer or challenger loses");
  }
  s.expected = static_cast<Ending>(*expected);
  ISOBIT_RETURN_IF_ERROR(read_difference(table, s));
  ISOBIT_RETURN_IF_ERROR(table.number("weight", s.weight, "a number from 1 to 100000"));
  ISOBIT_RETURN_IF_ERROR(read_faults(table, where, s.network, s.machines));
  ISOBIT_RETURN_IF_ERROR(table.finish());
  return s;
}

Expected<std::vector<Scenario>> read_scenarios(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<Scenario> scenarios;
  for (const fs::path& file : files) {
    ISOBIT_TRY(Scenario scenario, read_scenario(file));
    scenarios.push_back(std::move(scenario));
  }
  return scenarios;
}

}  // namespace isobit::adversary::simulator
