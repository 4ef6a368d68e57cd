#include "isobit/adversary/simulator/schedule_for_test.h"

#include <algorithm>
#include <sstream>

#include "isobit/adversary/simulator/cast_for_test.h"
#include "isobit/base/text.h"

namespace isobit::adversary::simulator {
namespace {

using dispute::Party;

// The nodes, the clock and what is under way.
class Stage {
 public:
  Stage(Material& material, const Schedule& schedule) : schedule_(schedule), cast_(material, schedule.tale) {
    party_.emplace(cast_.open_party(party_disk_, false));
    boot_referee();
  }

  // "" or why it cannot be done.
  std::string act(const std::string& action) {
    if (action == "time") {
      now_ += seconds(1);
      send(referee_->tick(now_));
    } else if (action == "crash party") {
      party_.emplace(cast_.open_party(party_disk_, true));
    } else if (action == "crash referee") {
      boot_referee();
    } else if (action.starts_with("say ")) {
      const std::vector<Bytes> says = cast_.variants(referee_->referee().question());
      const size_t which = static_cast<size_t>(std::stoul(action.substr(4)));
      if (which >= says.size()) return "there is nothing like that to say";
      send(referee_->receive(says[which], now_));
    } else {
      return with_message(action);
    }
    return "";
  }

  const dispute::RefereeNode& referee() const { return *referee_; }
  const dispute::PartyNode& party() const { return *party_; }

 private:
  struct UnderWay {
    bool to_referee = false;
    Bytes bytes;
    bool operator==(const UnderWay&) const = default;
  };

  void boot_referee() {
    referee_ = cast_.open_referee(referee_disk_, now_);
    send(referee_->tick(now_));
  }
  void put(bool to_referee, Bytes bytes) {
    UnderWay m{to_referee, std::move(bytes)};
    if (std::ranges::find(under_way_, m) == under_way_.end()) under_way_.push_back(std::move(m));
  }
  void send(std::vector<dispute::Outgoing> out) {
    for (dispute::Outgoing& o : out) {
      if (o.to == schedule_.tale.honest) put(false, std::move(o.bytes));
    }
  }

  std::string with_message(const std::string& action) {
    for (const std::string what : {"deliver twice ", "deliver ", "lose ", "die behind "}) {
      if (!action.starts_with(what)) continue;
      const std::string label = action.substr(what.size());
      const auto found =
          std::ranges::find_if(under_way_, [&](const UnderWay& m) { return label_of(m.bytes) == label; });
      if (found == under_way_.end()) return "no such message is under way";
      const UnderWay m = *found;
      if (what != "deliver twice ") under_way_.erase(found);
      if (what == "lose ") return "";
      if (what == "die behind ") return die_behind(m);
      if (m.to_referee) send(referee_->receive(m.bytes, now_));
      if (m.to_referee) return "";
      for (Bytes& bytes : party_->receive(m.bytes, now_)) put(true, std::move(bytes));
      return "";
    }
    return "is no action";
  }

  std::string die_behind(const UnderWay& m) {
    if (m.to_referee) {
      referee_->receive(m.bytes, now_);
      boot_referee();
    } else {
      party_->receive(m.bytes, now_);
      party_.emplace(cast_.open_party(party_disk_, true));
    }
    return "";
  }

  const Schedule& schedule_;
  Cast cast_;
  Bytes party_disk_, referee_disk_;
  std::optional<dispute::PartyNode> party_;
  std::unique_ptr<dispute::RefereeNode> referee_;
  std::vector<UnderWay> under_way_;
  uint64_t now_ = 0;
};

}  // namespace

std::string text_of_schedule(const Schedule& s) {
  std::string text =
      text_of("honest ", name_of(s.tale.honest), "\nlie ", name_of(s.tale.lie), "\nseed ", s.tale.seed, "\nmixes ",
              s.tale.mixes ? 1 : 0, "\ntimely ", s.bounds.timely ? 1 : 0, "\nends ", s.ending, "\n\n");
  for (const std::string& action : s.actions) text += action + "\n";
  return text;
}

Expected<Schedule> parse_schedule(const std::string& text, const std::string& what) {
  Schedule s;
  std::istringstream lines(text);
  std::map<std::string, std::string> fields;
  std::string line;
  while (std::getline(lines, line) && !line.empty()) {
    const size_t space = line.find(' ');
    if (space == line.npos) return unreadable(text_of(what, ": '", line, "' has no value"));
    fields[line.substr(0, space)] = line.substr(space + 1);
  }
  for (const char* name : {"honest", "lie", "seed", "mixes", "timely", "ends"}) {
    if (!fields.contains(name)) return unreadable(text_of(what, ": field '", name, "' is missing"));
  }
  const auto lie = lie_kind(fields["lie"]);
  if (!lie) return unreadable(text_of(what, ": field 'lie': found '", fields["lie"], "'"));
  s.tale = {fields["honest"] == "trainer" ? Party::kTrainer : Party::kChallenger, *lie, std::stoull(fields["seed"]),
            fields["mixes"] == "1"};
  s.bounds.timely = fields["timely"] == "1";
  s.ending = fields["ends"];
  while (std::getline(lines, line)) s.actions.push_back(line);
  return s;
}

std::string replay_schedule(Material& material, const Schedule& schedule) {
  Stage stage(material, schedule);
  for (size_t i = 0; i < schedule.actions.size(); ++i) {
    if (stage.referee().closing()) return text_of("the game is over before action ", i);
    const std::string problem = stage.act(schedule.actions[i]);
    if (!problem.empty()) return text_of("action ", i, ", '", schedule.actions[i], "': ", problem);
  }
  if (!stage.referee().closing()) return "the game has not ended";
  const std::string ending = name_of(stage.referee().closing()->outcome);
  if (ending != schedule.ending) return text_of("it ends with '", ending, "'");
  const auto again = dispute::replay(stage.referee().record(), material.subject());
  return again && again->verdict == *stage.referee().referee().verdict() ? "" : "its record leads to something else";
}

}  // namespace isobit::adversary::simulator
