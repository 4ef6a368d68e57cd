// The network of a simulated dispute.
#pragma once

#include <queue>

#include "isobit/adversary/simulator/world_for_test.h"

namespace isobit::adversary::simulator {

inline void flip_bits(Bytes& bytes, Random& random) {
  for (uint64_t n = 1 + random.below(3); n > 0 && !bytes.empty(); --n) {
    bytes[random.below(bytes.size())] ^= static_cast<uint8_t>(1 << random.below(8));
  }
}

// Between the referee and each party; what is sent arrives later, perhaps, and perhaps not as it was.
class Network {
 public:
  Network(const NetworkFaults& faults, Random& random, Traffic& traffic)
      : faults_(faults), random_(random), traffic_(traffic) {}

  struct Arrival {
    uint64_t at = 0, number = 0;
    dispute::Party party = dispute::Party::kTrainer;  // whose line it is on
    bool to_referee = false;
    Bytes bytes;
    bool operator<(const Arrival& o) const { return std::pair(at, number) > std::pair(o.at, o.number); }
  };

  void send(dispute::Party party, bool to_referee, Bytes bytes, uint64_t now) {
    ++traffic_.sent;
    if (now < cut_off_until_[static_cast<size_t>(party)]) {
      ++traffic_.cut_off;
      return;
    }
    if (random_.chance(faults_.drop)) {
      ++traffic_.lost;
      return;
    }
    const bool twice = random_.chance(faults_.duplicate);
    if (twice) ++traffic_.repeated;
    for (int copy = 0; copy < (twice ? 2 : 1); ++copy) {
      Arrival arrival{now + 1 + random_.below(faults_.delay), ++number_, party, to_referee, bytes};
      if (random_.chance(faults_.corrupt)) {
        ++traffic_.corrupted;
        flip_bits(arrival.bytes, random_);
      }
      under_way_.push(std::move(arrival));
    }
  }

  void tick(uint64_t now) {
    for (uint64_t& until : cut_off_until_) {
      if (now >= until && random_.chance(faults_.partition)) until = now + 1 + random_.below(faults_.partition_seconds);
    }
  }

  std::optional<Arrival> take(uint64_t now) {
    if (under_way_.empty() || under_way_.top().at > now) return std::nullopt;
    Arrival arrival = under_way_.top();
    under_way_.pop();
    ++traffic_.delivered;
    return arrival;
  }

 private:
  const NetworkFaults& faults_;
  Random& random_;
  Traffic& traffic_;
  std::priority_queue<Arrival> under_way_;
  uint64_t number_ = 0;
  std::array<uint64_t, 2> cut_off_until_{};
};

}  // namespace isobit::adversary::simulator
