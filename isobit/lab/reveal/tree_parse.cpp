#include "isobit/base/text.h"
#include "isobit/lab/reveal/tree.h"

namespace isobit::lab::reveal {

namespace {

// Nodes are numbered when they close, so that each comes after its children; its id waits for the number of leaves.
class TreeParser {
 public:
  TreeParser(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  Expected<SumTree> parse() {
    if (text_.size() > kMostTreeText) {
      return unreadable(text_of(what_, ": tree of ", text_.size(), " bytes, expected at most ", kMostTreeText));
    }
    if (text_ == "0") return SumTree();
    ISOBIT_RETURN_IF_ERROR(read_nodes());
    std::vector<bool> seen(static_cast<size_t>(leaves_));
    for (auto& children : nodes_) {
      for (TreeId& child : children) {
        if (child < 0) {
          child = static_cast<TreeId>(leaves_ - child - 1);
          continue;
        }
        if (child >= leaves_ || seen[static_cast<size_t>(child)]) {
          return unreadable(text_of(what_, ": tree of ", leaves_, " leaves: found leaf ", child,
                                    ", expected each of 0 to ", leaves_ - 1, " once"));
        }
        seen[static_cast<size_t>(child)] = true;
      }
    }
    return SumTree(leaves_, nodes_);
  }

 private:
  tl::unexpected<Error> fail(std::string_view expected) const {
    const std::string found = at_ < text_.size() ? text_of("byte ", static_cast<int>(text_[at_])) : "the end";
    return unreadable(text_of(what_, ": tree, offset ", at_, ": found ", found, ", expected ", expected));
  }

  Status read_nodes() {
    std::vector<std::vector<TreeId>> open;
    do {
      if (at_ >= text_.size()) return fail("'(', ')' or a leaf");
      const char c = text_[at_];
      if (c == '(') {
        if (static_cast<int64_t>(open.size()) >= kMostLeaves) return fail("fewer levels");
        open.emplace_back();
        ++at_;
      } else if (c == ')') {
        if (open.empty() || open.back().size() < 2) return fail("at least two operands");
        nodes_.push_back(std::move(open.back()));
        open.pop_back();
        ++at_;
        if (!open.empty()) open.back().push_back(-static_cast<TreeId>(nodes_.size()));
      } else if (c >= '0' && c <= '9' && !open.empty()) {
        ISOBIT_TRY(const TreeId leaf, read_leaf());
        open.back().push_back(leaf);
      } else {
        return fail("'(', ')' or a leaf");
      }
      if (!open.empty() && !open.back().empty() && at_ < text_.size() && text_[at_] != ')') {
        if (text_[at_] != ' ') return fail("a space");
        ++at_;
        if (at_ < text_.size() && text_[at_] == ')') return fail("an operand");
      }
    } while (!open.empty());
    if (at_ != text_.size()) return fail("the end");
    return {};
  }

  Expected<TreeId> read_leaf() {
    const size_t begin = at_;
    int64_t leaf = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      leaf = leaf * 10 + (text_[at_] - '0');
      if (leaf >= kMostLeaves) return fail(text_of("a leaf below ", kMostLeaves));
    }
    if (at_ - begin > 1 && text_[begin] == '0') return fail("a number without leading zeros");
    ++leaves_;
    if (leaves_ > kMostLeaves) return fail(text_of("at most ", kMostLeaves, " leaves"));
    return static_cast<TreeId>(leaf);
  }

  std::string_view text_, what_;
  size_t at_ = 0;
  int64_t leaves_ = 0;
  std::vector<std::vector<TreeId>> nodes_;
};

}  // namespace

Expected<SumTree> parse_tree(std::string_view text, std::string_view what) { return TreeParser(text, what).parse(); }

}  // namespace isobit::lab::reveal
