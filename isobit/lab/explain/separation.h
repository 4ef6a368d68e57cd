// Which fields of the platform records go with the classes. Fields that separate classes need not be what causes them:
// nothing here says more than that, and a field that is another one on every platform says nothing at all.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "isobit/lab/records/record.h"

namespace isobit::lab::explain {

using Fields = std::map<std::string, std::string>;

// What a record says that may tell platforms apart: its fields, and "engine", "cores", "CPU flags" and what its name
// says ("openblas@haswell/2t+winograd4"): "name after @", and "threads" and "convolutions" where no fields have them.
Fields fields_of(const records::PlatformRecord& record);

struct SeparatingSet {
  // Each entry: fields that group the platforms alike, so that one stands for the others.
  std::vector<std::vector<std::string>> fields;
  size_t partial = 0;   // entries that some platforms do not have at all: that is a value, too
  size_t values = 0;    // combinations of values that occur
  size_t repeated = 0;  // platforms that share theirs with another: what the statement rests on
  bool exact = false;   // different values always go with different classes
};

// Two platforms that differ in one field only (or in several that always change together).
struct Contrast {
  std::vector<std::string> fields;
  size_t differing = 0, agreeing = 0;  // pairs of different classes, of the same class
  // The first pair of each kind, as places among the items. REQUIRES the count above not to be 0.
  std::pair<size_t, size_t> differing_pair, agreeing_pair;
};

struct Separation {
  size_t items = 0, classes = 0;
  std::vector<SeparatingSet>
      sets;  // the smallest that separate: fields that all have first, then few values; at most kMaxSets
  std::vector<Contrast> contrasts;
  // Two items of different classes whose fields are all the same: then no set can separate.
  std::optional<std::pair<size_t, size_t>> indistinguishable;
  size_t fields = 0;  // that have two values or more, fields that group alike counted once
};
constexpr size_t kMaxSets = 6;

// Sets of up to three fields whose values determine the class. REQUIRES as many fields as classes.
Separation separate(const std::vector<Fields>& items, const std::vector<int>& classes);

}  // namespace isobit::lab::explain
