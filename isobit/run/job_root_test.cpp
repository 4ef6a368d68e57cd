#include "isobit/run/job_root.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace isobit::run {
namespace {

// tests/oracles/job_oracle.py, which shares no code with isobit, checks the same file.
TEST(JobRoot, EqualsTheIndependentEncoder) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  std::ifstream file(std::string(source ? source : ".") + "/tests/golden/job_root.txt");
  ASSERT_TRUE(file) << "run from the root of the tree, or set ISOBIT_SOURCE_DIR";
  int checked = 0, frozen = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    std::string root;
    in >> root;
    std::map<std::string, std::string> fields;
    for (std::string item; in >> item;) fields[item.substr(0, item.find('='))] = item.substr(item.find('=') + 1);
    const auto digest = [&](const char* name) { return commit::digest_from_hex(fields.at(name), name).value(); };
    JobRootParts parts{digest("job"),
                       digest("dataset.root"),
                       std::stoull(fields.at("dataset.train")),
                       std::stoull(fields.at("dataset.test")),
                       digest("graph.step"),
                       digest("graph.eval"),
                       digest("trace"),
                       digest("state.initial"),
                       std::nullopt};
    if (fields.contains("frozen.count")) {
      parts.frozen = FrozenParameters{std::stoull(fields.at("frozen.count")), digest("frozen.root")};
      ++frozen;
    }
    EXPECT_EQ(commit::hex_of(job_root(parts)), root);
    ++checked;
  }
  EXPECT_EQ(checked, 2);
  EXPECT_EQ(frozen, 1);
}

}  // namespace
}  // namespace isobit::run
