// The machine of a simulated node: it crashes, also while it saves, its disk is full for a while, or rots.
#pragma once

#include "isobit/adversary/simulator/network_for_test.h"
#include "isobit/adversary/simulator/world_for_test.h"

namespace isobit::adversary::simulator {

class Failures {
 public:
  // crash: chance in a second.
  Failures(const MachineFaults& faults, double crash, Random& random, Traffic& traffic)
      : faults_(faults), crash_(crash), random_(random), traffic_(traffic) {}

  // What was saved; of an entry that was cut short, some of it.
  Bytes& disk() { return disk_; }
  Status save(ByteView more) {
    if (is_full_) return unavailable("the disk is full");
    const size_t kept = torn_next_ ? random_.below(more.size()) : more.size();
    disk_.insert(disk_.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(kept));
    dies_ = torn_next_;
    if (dies_) ++traffic_.torn_saves;
    return {};
  }

  // The machine starts again: now and then other bits are on its disk than were saved.
  void rot() {
    if (disk_.empty() || !random_.chance(faults_.rot)) return;
    ++traffic_.rotten_disks;
    has_rotted_ = true;
    flip_bits(disk_, random_);
  }
  bool has_rotted() const { return has_rotted_; }
  void stay_down() { down_until_ = UINT64_MAX; }

  // Whether it died while it saved; then crash() is to follow.
  bool dies() const { return dies_; }
  bool is_down(uint64_t now) const { return now < down_until_; }
  // A second of a machine that is up. True: it crashes, and crash() is to follow.
  bool tick(uint64_t now) {
    if (now >= full_until_ && random_.chance(faults_.full_disk)) {
      ++traffic_.full_disks;
      full_until_ = now + 1 + random_.below(faults_.full_disk_seconds);
    }
    is_full_ = now < full_until_;
    if (!random_.chance(crash_)) return false;
    if (random_.below(4) != 0) return true;
    torn_next_ = true;
    return false;
  }
  void crash(uint64_t now) {
    ++traffic_.crashes;
    dies_ = torn_next_ = false;
    down_until_ = now + 1 + random_.below(faults_.crash_seconds);
  }

 private:
  const MachineFaults& faults_;
  const double crash_;
  Random& random_;
  Traffic& traffic_;
  Bytes disk_;
  bool is_full_ = false, torn_next_ = false, dies_ = false, has_rotted_ = false;
  uint64_t down_until_ = 0, full_until_ = 0;
};

}  // namespace isobit::adversary::simulator
