#include "isobit/lab/explain/separation.h"

#include <algorithm>
#include <set>

#include "isobit/base/status.h"
#include "isobit/base/text.h"
#include "isobit/lab/deviation/dendrogram.h"

namespace isobit::lab::explain {
namespace {

constexpr size_t kMaxColumns = 64;     // that are combined, those of fewest values
constexpr size_t kMaxContrasts = 512;  // items whose pairs are looked at

// Fields of one grouping of the items.
struct Column {
  std::vector<std::string> names;
  std::vector<int> groups;  // of each item, from 1
  size_t values = 0;
  bool everywhere = false;  // whether some field of them is recorded on all items
};

std::vector<Column> columns_of(const std::vector<Fields>& items) {
  std::set<std::string> names;
  for (const Fields& fields : items) {
    for (const auto& [name, value] : fields) names.insert(name);
  }
  std::map<std::vector<int>, Column> by_grouping;
  for (const std::string& name : names) {
    std::vector<std::optional<std::string>> values;
    for (const Fields& fields : items) {
      const auto found = fields.find(name);
      values.push_back(found == fields.end() ? std::nullopt : std::optional(found->second));
    }
    std::vector<int> groups = deviation::number_classes(values);
    if (std::ranges::max(groups) < 2) continue;
    Column& column = by_grouping[groups];
    const bool everywhere = std::ranges::all_of(values, [](const auto& v) { return v.has_value(); });
    // One that everybody recorded speaks for the others.
    column.names.insert(everywhere && !column.everywhere ? column.names.begin() : column.names.end(), name);
    column.everywhere = column.everywhere || everywhere;
    column.values = static_cast<size_t>(std::ranges::max(groups));
    column.groups = std::move(groups);
  }
  std::vector<Column> columns;
  for (auto& [groups, column] : by_grouping) columns.push_back(std::move(column));
  std::ranges::stable_sort(columns, {}, [](const Column& c) { return std::tie(c.values, c.names); });
  return columns;
}

using Set = std::vector<const Column*>;

// Adds the set where its values determine the class and some platforms share theirs.
void try_set(const Set& set, const std::vector<int>& classes, std::vector<SeparatingSet>& found) {
  std::map<std::vector<int>, std::pair<int, size_t>> seen;  // class and number of items of each combination
  for (size_t i = 0; i < classes.size(); ++i) {
    std::vector<int> key;
    for (const Column* column : set) key.push_back(column->groups[i]);
    const auto [place, is_new] = seen.try_emplace(key, classes[i], size_t{0});
    if (place->second.first != classes[i]) return;
    ++place->second.second;
  }
  if (seen.size() == classes.size()) return;
  SeparatingSet result;
  for (const Column* column : set) {
    result.fields.push_back(column->names);
    result.partial += !column->everywhere;
  }
  result.values = seen.size();
  for (const auto& [key, of] : seen) result.repeated += of.second > 1 ? of.second : 0;
  result.exact = seen.size() == static_cast<size_t>(std::ranges::max(classes));
  found.push_back(std::move(result));
}

void find_sets(const std::vector<Column>& columns, const std::vector<int>& classes, std::vector<SeparatingSet>& found) {
  const size_t n = std::min(columns.size(), kMaxColumns);
  for (size_t i = 0; i < n; ++i) try_set({&columns[i]}, classes, found);
  if (!found.empty()) return;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) try_set({&columns[i], &columns[j]}, classes, found);
  }
  if (!found.empty()) return;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      for (size_t k = j + 1; k < n; ++k) try_set({&columns[i], &columns[j], &columns[k]}, classes, found);
    }
  }
}

void find_contrasts(const std::vector<Column>& columns, const std::vector<int>& classes, Separation& result) {
  std::map<size_t, Contrast> contrasts;
  const size_t n = std::min(classes.size(), kMaxContrasts);
  for (size_t a = 0; a < n; ++a) {
    for (size_t b = a + 1; b < n; ++b) {
      size_t different = 0, which = 0;
      for (size_t k = 0; k < columns.size() && different < 2; ++k) {
        if (columns[k].groups[a] == columns[k].groups[b]) continue;
        ++different;
        which = k;
      }
      const bool differs = classes[a] != classes[b];
      if (different == 0 && differs && !result.indistinguishable) result.indistinguishable = {a, b};
      if (different != 1) continue;
      Contrast& contrast = contrasts[which];
      contrast.fields = columns[which].names;
      size_t& count = differs ? contrast.differing : contrast.agreeing;
      if (count++ == 0) (differs ? contrast.differing_pair : contrast.agreeing_pair) = {a, b};
    }
  }
  for (auto& [which, contrast] : contrasts) result.contrasts.push_back(std::move(contrast));
}

}  // namespace

Fields fields_of(const records::PlatformRecord& record) {
  Fields fields = record.fields;
  fields["engine"] = record.engine;
  if (record.cores != 0) fields["cores"] = text_of(record.cores);
  if (!record.cpu_flags.empty()) {
    std::string& flags = fields["CPU flags"];
    for (const std::string& flag : record.cpu_flags) flags += flag + " ";
  }
  // "openblas@haswell/2t+winograd4:correct-1": what the record's own fields do not say.
  const auto part = [&](char begin, const char* ends, const char* field) {
    const size_t at = record.name.find(begin);
    if (at == std::string::npos) return;
    fields.emplace(field, record.name.substr(at + 1, record.name.find_first_of(ends, at + 1) - at - 1));
  };
  part('@', "/+:~", "name after @");  // an instruction set, a core type or an engine's setting
  part('/', "+:~", "threads");
  part('+', ":~", "convolutions");
  return fields;
}

Separation separate(const std::vector<Fields>& items, const std::vector<int>& classes) {
  ISOBIT_CHECK(items.size() == classes.size());
  Separation result;
  result.items = items.size();
  if (items.empty()) return result;
  result.classes = static_cast<size_t>(std::ranges::max(classes));
  const std::vector<Column> columns = columns_of(items);
  result.fields = columns.size();
  find_contrasts(columns, classes, result);
  if (result.classes < 2 || result.indistinguishable) return result;
  find_sets(columns, classes, result.sets);
  std::ranges::stable_sort(result.sets, {}, [](const SeparatingSet& s) { return std::tie(s.partial, s.values); });
  if (result.sets.size() > kMaxSets) result.sets.resize(kMaxSets);
  return result;
}

}  // namespace isobit::lab::explain
