// An exploration as a test: nothing is violated, the worst schedules come out the same on living nodes, and what was
// looked at is printed.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "isobit/adversary/simulator/explorer_for_test.h"
#include "isobit/base/text.h"

namespace isobit::adversary::simulator {

// With ISOBIT_TEST_SCHEDULES_OUT, a folder, the worst schedules are written there.
inline void keep_schedule(const Schedule& schedule, const std::string& name) {
  const char* folder = std::getenv("ISOBIT_TEST_SCHEDULES_OUT");
  if (folder == nullptr) return;
  const std::string text = text_of_schedule(schedule);
  ISOBIT_CHECK(write_file_durably(fs::path(folder) / (name + ".schedule"), as_bytes(text)).has_value());
}

inline Explored explore_and_print(Material& material, const Tale& tale, const Bounds& bounds) {
  const Explored e = explore(material, tale, bounds);
  EXPECT_EQ(e.problem, "");
  if (!e.problem.empty()) return e;
  std::string text =
      text_of("honest ", name_of(tale.honest), ", ", bounds.timely ? "timely" : "any time", ", lost ", bounds.lost,
              ", twice ", bounds.twice, ", crashes ", bounds.party_crashes, " + ", bounds.referee_crashes, ": ",
              e.states, " states, ", e.steps, " steps, ", e.transitions, " transitions of nodes, ", e.endings,
              " records; longest ", e.longest.actions.size(), " actions; ");
  for (const auto& [outcome, n] : e.outcomes) text += text_of(outcome, " ", n, "; ");
  std::printf("%s%.3g schedules\n", text.c_str(), e.schedules);
  std::fflush(stdout);
  const std::string name = text_of(name_of(tale.honest), "-", name_of(tale.lie), bounds.timely ? "" : "-any-time");
  for (const auto& [kind, schedule] : {std::pair("longest", &e.longest), std::pair("repeats", &e.most_repeats),
                                       std::pair("crashes", &e.most_crashes)}) {
    EXPECT_EQ(replay_schedule(material, *schedule), "") << text_of_schedule(*schedule);
    keep_schedule(*schedule, text_of(name, "-", kind));
  }
  return e;
}

}  // namespace isobit::adversary::simulator
