// What is declared of a job's fields (job_fields.inc), as values: for the reader, the writer, the canonical bytes, help
// and documents.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isobit/train/job.h"

namespace isobit::train {

// Some jobs: which, and how documents say it.
struct Which {
  bool (*holds)(const Job&);
  const char* words;
};
inline constexpr Which kEveryJob = {[](const Job&) { return true; }, "every job"};

struct WholeRange {
  int64_t least = 0, most = 0;
};
struct RealRange {
  double least = 0, most = 0;  // most may be infinite, values may not
};

// All that a declaration says besides type, place and default. Predicates see the fields declared above their own.
struct FieldRules {
  // The job must have it: what the complaint asks for ("": one of the names). Null: there is a default.
  const char* required = nullptr;
  WholeRange whole = {};  // of whole numbers
  RealRange real = {};    // of numbers, also those of a table of numbers
  // The values of a choice, in the order of its enumeration; the keys of a table of numbers; for documents and
  // complaints alone where a text is looked up later, by the code that knows its meaning.
  std::vector<std::string> (*names)() = nullptr;
  // Of a text that is absent: what follows from the fields above it; "": nothing does.
  std::string (*implied)(const Job&) = nullptr;
  Which known = kEveryJob;    // the table of these jobs has the key; in others it is an error, as a misspelt one is
  Which allowed = kEveryJob;  // of those; in the others the key is an error that says why:
  const char* refused = nullptr;
  // In which of those it means something, and is committed; not said: in all of them.
  std::optional<Which> matters = std::nullopt;
  std::string (*problem)(const Job&) = nullptr;  // what is wrong with the value that was read; "" when nothing is
  bool committed = true;
  bool only_if_changed = false;  // committed only where it is not the default
  bool unordered = false;        // of a list: its order means nothing; written and committed ascending
  bool path = false;             // names files: resolved, written only where given, never committed
  const char* meaning = "";
};

// A member of an enumeration, by its number.
struct Choice {
  std::function<size_t()> get;
  std::function<void(size_t)> set;
};
// Where the value of a field lies in one job.
using Place = std::variant<int64_t*, uint64_t*, double*, bool*, std::string*, std::vector<std::string>*, Numbers*,
                           ParameterGroups*, data::InputFiles*, Choice>;

struct Field {
  std::string_view name;  // "table.key"
  Place (*in)(Job&);
  FieldRules rules;

  std::string_view table() const { return name.substr(0, name.find('.')); }
  std::string_view key() const { return name.substr(name.find('.') + 1); }
  bool committed_in(const Job& job) const;
};

// In the order in which a job is read: the fields of a table follow each other.
const std::vector<Field>& job_fields();
// The tables of a job, in that order.
const std::vector<std::string>& job_tables();
// Null for a name that no field has.
const Field* find_job_field(std::string_view table, std::string_view key);

// The table of docs/formats/job.md.
std::string job_fields_page();
// The names of the fields, a line for each table, for --help.
std::string job_fields_help();

}  // namespace isobit::train
