// What is tried in a simulated dispute, as a file: who lies about what, how the network and the machines fail, how a
// dishonest party behaves, and how that must end. scenarios/README.md describes the fields.
#pragma once

#include <string>
#include <vector>

#include "isobit/adversary/simulator/lie_for_test.h"
#include "isobit/base/file.h"

namespace isobit::adversary::simulator {

// How a game must end. Whatever it says, an honest party is never found wrong, and the game ends.
enum class Ending : uint8_t {
  kEnds,             // and nothing else is asked
  kTrainerWrong,     // the trainer, and not the challenger
  kChallengerWrong,  //
  kTrainerLoses,     // it is wrong, or forfeits; alone
  kChallengerLoses,  //
  kNobodyWrong,      // with the finding that the parties' difference has
};

// Of a dishonest party, beside its lie.
enum class Conduct : uint8_t {
  kNone,
  kStalls,       // says nothing from some turn on
  kFloods,       // sends some messages that count for nothing every second
  kChanges,      // signs an answer with some bits of it changed
  kUnsigned,     // sends answers whose signature is none
  kOtherKey,     // signs answers with a stranger's key
  kEquivocates,  // signs another answer beside its own
  kShowsMore,    // as a challenger: all of a node's operands as what says where an element is from
};

struct NetworkFaults {
  double drop = 0, duplicate = 0, corrupt = 0;  // chances of a message
  uint64_t delay = 1;                           // a message takes 1 to so many seconds, and overtakes others
  double partition = 0;                         // chance in a second that a party is cut off
  uint64_t partition_seconds = 1;               // for at most so long
};

struct MachineFaults {
  double crash = 0;  // chance in a second; in a quarter of all cases while it saves, so that half of that is lost
  double referee_crash = 0;  // of the referee's machine; its disk is full as theirs are
  uint64_t crash_seconds = 1;
  double full_disk = 0;  // chance in a second
  uint64_t full_disk_seconds = 1;
  double rot = 0;  // chance that some bits of what a party saved are others when it starts again
};

struct Scenario {
  std::string name;                          // of the file
  std::vector<std::string> arithmetic;       // likewise
  std::vector<LieKind> trainer, challenger;  // games take turns with them
  Conduct trainer_conduct = Conduct::kNone, challenger_conduct = Conduct::kNone;
  NetworkFaults network;
  MachineFaults machines;
  Ending expected = Ending::kEnds;
  std::vector<Difference> difference = {Difference::kNone};  // of two honest parties; games take turns
  uint64_t weight = 1;                                       // so many times as many games as others have

  bool is_honest() const { return is_honest(dispute::Party::kTrainer) && is_honest(dispute::Party::kChallenger); }
  bool is_honest(dispute::Party party) const {
    const bool of_trainer = party == dispute::Party::kTrainer;
    return (of_trainer ? trainer : challenger) == std::vector{LieKind::kNone} &&
           (of_trainer ? trainer_conduct : challenger_conduct) == Conduct::kNone;
  }
};

// kUnreadable with the field for a file that is none, a field that is unknown or out of range.
Expected<Scenario> read_scenario(const fs::path& file);
// Of a folder, by name.
Expected<std::vector<Scenario>> read_scenarios(const fs::path& folder);

}  // namespace isobit::adversary::simulator
