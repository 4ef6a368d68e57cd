#include <cstdio>
#include <nlohmann/json.hpp>

#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/run/probe.h"

namespace isobit::cli {

namespace {

Expected<int> run(Console& console) {
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  console.line("platform                digest of its bits (a probe of two training steps)");
  const std::string best = platform::parse_platform("ordered")->text();
  for (const platform::Platform& p : platform::available_platforms()) {
    ISOBIT_TRY(const commit::Digest digest, run::probe(p));
    document.push_back({{"platform", p.text()}, {"digest", commit::hex_of(digest)}, {"default", p.text() == best}});
    char line[160];
    std::snprintf(line, sizeof line, "%-22s  %s%s", p.text().c_str(), commit::hex_of(digest).substr(0, 32).c_str(),
                  p.text() == best ? "  (ordered)" : "");
    console.line(line);
  }
  console.document(document.dump(2));
  return kAgreed;
}

}  // namespace

void add_platforms(Commands& commands) {
  Command& c = commands.add("platforms", "list what this machine can run, each with a digest of its bits",
                            "  isobit platforms\n");
  c.action([](Console& console) { return run(console); });
}

}  // namespace isobit::cli
