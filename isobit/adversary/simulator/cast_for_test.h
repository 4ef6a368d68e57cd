// Who plays in an explored dispute: the production's nodes, made whenever they are needed, from what they saved; and
// what the dishonest one may say.
#pragma once

#include <memory>

#include "isobit/adversary/simulator/schedule_for_test.h"
#include "isobit/dispute/party_node.h"
#include "isobit/dispute/referee_node.h"

namespace isobit::adversary::simulator {

// Time passes in such steps; in each the referee asks again, and three make the time to answer.
inline uint64_t seconds(int age) { return 200 * static_cast<uint64_t>(age); }

// "question 3", "answer 3", "restart 3": of which turn; "closing".
std::string label_of(ByteView message);

class Cast {
 public:
  // Nothing is owned.
  Cast(Material& material, const Tale& tale);

  // The honest one. What it saves is put behind what is there.
  dispute::PartyNode open_party(Bytes& disk, bool restarted);
  std::unique_ptr<dispute::RefereeNode> open_referee(Bytes& disk, uint64_t now);
  // What the dishonest one may answer: by its lie; where it mixes, also without it, and what is no answer. The same
  // each time.
  const std::vector<Bytes>& variants(const dispute::Question& question);
  dispute::Party sender(ByteView to_referee) const;
  const dispute::Subject& subject() const { return material_.subject(); }

 private:
  Expected<dispute::Body> answer(dispute::Player player, const dispute::Question& question) const;

  Material& material_;
  const Tale tale_;
  const dispute::Party dishonest_;
  Random random_;
  const Lie lie_, truth_;
  const verify::Transcript claimed_;
  const dispute::Challenge challenge_;
  LyingWitness lying_, truthful_;
  std::map<std::string, Expected<dispute::Body>> answers_;
  std::map<std::string, std::vector<Bytes>> variants_;
};

}  // namespace isobit::adversary::simulator
