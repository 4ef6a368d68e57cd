#include <algorithm>
#include <filesystem>
#include <sstream>

#define TOML_ASSERT(condition) static_cast<void>(0)  // see job_toml.cpp
#include <toml++/toml.h>

#include "isobit/base/file.h"
#include "isobit/train/job_fields.h"

namespace isobit::train {
namespace {

// Writes one field. What is not given (no path, an empty list, a number that no file could give) is left out.
struct Write {
  const Field& field;
  toml::table& table;

  void operator()(const int64_t* v) const {
    const bool given = field.rules.required != nullptr || *v >= field.rules.whole.least;
    if (given) insert(*v);
  }
  void operator()(const uint64_t* v) const { insert(static_cast<int64_t>(*v)); }
  void operator()(const double* v) const { insert(*v); }
  void operator()(const bool* v) const { insert(*v); }
  void operator()(const std::string* v) const {
    if (!field.rules.path) {
      insert(*v);
    } else if (!v->empty()) {
      insert(absolute(*v));
    }
  }
  void operator()(const std::vector<std::string>* v) const {
    std::vector<std::string> list = *v;
    if (field.rules.unordered) std::ranges::sort(list);
    toml::array array;
    for (const std::string& item : list) array.push_back(field.rules.path ? absolute(item) : item);
    if (!array.empty()) insert(array);
  }
  void operator()(const Numbers* v) const {
    toml::table numbers;
    for (const auto& [name, value] : *v) numbers.insert(name, value);
    if (!numbers.empty()) insert(numbers);
  }
  void operator()(const ParameterGroups* v) const {
    toml::array array;
    for (const ParameterGroup& group : *v) {
      toml::table one;
      one.insert("match", group.match);
      one.insert("lr_factor", group.lr_factor);
      if (group.weight_decay) one.insert("weight_decay", *group.weight_decay);
      array.push_back(std::move(one));
    }
    if (!array.empty()) insert(array);
  }
  void operator()(const data::InputFiles* v) const {
    toml::table files;
    for (const auto& [name, path] : *v) files.insert(name, absolute(path));
    if (!files.empty()) insert(files);
  }
  void operator()(const Choice& v) const { insert(field.rules.names()[v.get()]); }

 private:
  template <class T>
  void insert(const T& value) const {
    table.insert(field.key(), value);
  }
  static std::string absolute(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }
};

}  // namespace

std::string job_to_toml(const Job& job) {
  Job written = job;
  toml::table root;
  for (const Field& field : job_fields()) {
    if (!field.rules.known.holds(job) || !field.rules.allowed.holds(job)) continue;
    toml::table& table = *root.insert(field.table(), toml::table{}).first->second.as_table();
    std::visit(Write{field, table}, field.in(written));
  }
  std::ostringstream out;
  out << root << "\n";
  return out.str();
}

}  // namespace isobit::train
