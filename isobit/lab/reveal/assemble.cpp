#include "isobit/lab/reveal/assemble.h"

#include "isobit/base/text.h"

namespace isobit::lab::reveal {

namespace {

// A part of the tree. `open` are its root's children where that root may still get more of them from outside (its set
// is only a part of what lies below the root), else it is closed and `id` stands for it.
struct Part {
  std::vector<TreeId> open;
  int64_t below = 1;  // leaves of the whole tree under the root
};

class Assembly {
 public:
  Assembly(int64_t leaves, const std::vector<LeafSet>& sets) : leaves_(leaves), sets_(sets), parts_(sets.size()) {}

  Assembled run() {
    for (size_t s = sets_.size(); s-- > 0;) {
      if (!join(s)) return {std::nullopt, reason_};
    }
    if (parts_[0].below != leaves_) return {std::nullopt, misfit(parts_[0].below, leaves_)};
    close(parts_[0]);
    return {SumTree(leaves_, nodes_), ""};
  }

 private:
  static std::string misfit(int64_t found, int64_t expected) {
    return text_of("some terms meet in a sum of ", found, " terms, but those found below it are ", expected);
  }

  // One id for the part.
  TreeId close(const Part& part) {
    if (part.open.size() == 1) return part.open[0];
    nodes_.push_back(part.open);
    return static_cast<TreeId>(leaves_ + static_cast<int64_t>(nodes_.size()) - 1);
  }

  // Along the way from the pivot to the root of its set: the subtree so far, and each group beside it.
  bool join(size_t s) {
    const LeafSet& set = sets_[s];
    Part part{{set.pivot}, 1};
    int64_t held = 1;
    for (const LeafSet::Group& group : set.groups) {
      const Part& beside = parts_[group.set];
      const int64_t size = static_cast<int64_t>(sets_[group.set].leaves.size());
      if (held != part.below) return fail(part.below, held);  // only the last group's node may lie beyond the set
      std::vector<TreeId> children = {close(part)};
      if (size > 1 && beside.below == group.below) {  // the group meets in the very node where it meets the pivot
        children.insert(children.end(), beside.open.begin(), beside.open.end());
      } else if (beside.below == size) {
        children.push_back(close(beside));
      } else {
        return fail(beside.below, size);
      }
      part = {std::move(children), group.below};
      held += size;
      if (part.below < held) return fail(part.below, held);
    }
    parts_[s] = std::move(part);
    return true;
  }

  bool fail(int64_t found, int64_t expected) {
    reason_ = misfit(found, expected);
    return false;
  }

  const int64_t leaves_;
  const std::vector<LeafSet>& sets_;
  std::vector<Part> parts_;
  std::vector<std::vector<TreeId>> nodes_;
  std::string reason_;
};

}  // namespace

Assembled assemble(int64_t leaves, const std::vector<LeafSet>& sets) { return Assembly(leaves, sets).run(); }

}  // namespace isobit::lab::reveal
