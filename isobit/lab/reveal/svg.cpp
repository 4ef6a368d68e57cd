#include "isobit/lab/reveal/svg.h"

#include <algorithm>
#include <map>
#include <queue>
#include <vector>

#include "isobit/base/text.h"
#include "isobit/lab/reveal/words.h"

namespace isobit::lab::reveal {

namespace {

// Okabe and Ito's palette, told apart by nearly everybody.
constexpr const char* kColours[] = {"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"};
constexpr double kLeafWidth = 22, kFoldedWidth = 74, kMargin = 24, kHead = 70;
constexpr double kLetterWidth = 6.8, kLineHeight = 16;  // of the words below the title; some letters are wider
constexpr size_t kMostLines = 6;
constexpr int64_t kShortestFoldedChain = 4;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

// In lines of so many bytes at most, but for a longer word.
std::vector<std::string> lines_of(const std::string& words, size_t most) {
  std::vector<std::string> lines = {""};
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (!lines.back().empty() && lines.back().size() + 1 + end - at > most) {
      if (lines.size() == kMostLines) {
        lines.back() += " ...";
        break;
      }
      lines.emplace_back();
    }
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back().append(words, at, end - at);
    at = end + 1;
  }
  return lines;
}

struct Spot {
  double x = 0, y = 0;
};

class Drawing {
 public:
  explicit Drawing(const SumTree& tree)
      : tree_(tree),
        sizes_(tree.sizes()),
        smallest_(tree.smallest()),
        words_(words_of(tree)),
        folded_(sizes_.size(), false),
        spots_(sizes_.size()) {
    if (tree.leaves() > kMostDrawnLeaves) fold();
    place();
  }

  std::string svg(const std::string& title) const {
    std::string out = text_of("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width_, "\" height=\"", height_,
                              "\" viewBox=\"0 0 ", width_, " ", height_, "\" role=\"img\" aria-labelledby=\"t d\" ",
                              "font-family=\"sans-serif\" font-size=\"10\">\n<title id=\"t\">", escaped(title),
                              "</title>\n<desc id=\"d\">", escaped(words_), "</desc>\n",
                              "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n<text x=\"", kMargin,
                              "\" y=\"24\" font-size=\"16\" font-weight=\"bold\">", escaped(title), "</text>\n");
    for (size_t i = 0; i < lines_.size(); ++i) {
      append_text(out, text_of("<text x=\"", kMargin, "\" y=\"", 44 + static_cast<double>(i) * kLineHeight,
                               "\" font-size=\"12\">", escaped(lines_[i]), "</text>\n"));
    }
    draw(out);
    return out + "</svg>\n";
  }

 private:
  static size_t at(TreeId id) { return static_cast<size_t>(id); }
  bool ends(TreeId id) const { return tree_.is_leaf(id) || folded_[at(id)]; }

  // Whole chains become one triangle each; then the largest subtrees are opened until there are enough parts.
  void fold() {
    std::vector<bool> chain(sizes_.size(), true);
    for (TreeId id = static_cast<TreeId>(tree_.leaves()); id <= tree_.root(); ++id) {
      const auto& children = tree_.children(id);
      const auto inner = std::count_if(children.begin(), children.end(), [&](TreeId c) { return !tree_.is_leaf(c); });
      chain[at(id)] =
          inner <= 1 && std::all_of(children.begin(), children.end(), [&](TreeId c) { return chain[at(c)]; });
    }
    std::fill(folded_.begin(), folded_.end(), true);
    std::priority_queue<std::pair<int64_t, TreeId>> closed;
    closed.emplace(tree_.leaves(), tree_.root());
    int64_t parts = 1;
    while (!closed.empty() && parts < kMostDrawnLeaves) {
      const TreeId id = closed.top().second;
      closed.pop();
      if (tree_.is_leaf(id)) break;
      if (id != tree_.root() && chain[at(id)] && sizes_[at(id)] >= kShortestFoldedChain) continue;
      folded_[at(id)] = false;
      parts += static_cast<int64_t>(tree_.children(id).size()) - 1;
      for (const TreeId child : tree_.children(id)) closed.emplace(sizes_[at(child)], child);
    }
  }

  void place() {
    struct Visit {
      TreeId id;
      int level;
      size_t next = 0;
    };
    std::vector<std::pair<TreeId, int>> levels;
    std::vector<Visit> stack = {{tree_.root(), 0}};
    double x = kMargin;
    int deepest = 0;
    while (!stack.empty()) {
      Visit& top = stack.back();
      const TreeId id = top.id;
      deepest = std::max(deepest, top.level);
      if (ends(id)) {
        const double width = tree_.is_leaf(id) ? kLeafWidth : kFoldedWidth;
        spots_[at(id)].x = x + width / 2;
        x += width;
      } else if (top.next < tree_.children(id).size()) {
        const int level = top.level + 1;
        const TreeId child = tree_.children(id)[top.next++];
        stack.push_back({child, level});
        continue;
      } else {
        const auto& children = tree_.children(id);
        spots_[at(id)].x = (spots_[at(children.front())].x + spots_[at(children.back())].x) / 2;
      }
      levels.emplace_back(id, top.level);
      order_.push_back(id);
      stack.pop_back();
    }
    const double step = std::clamp(640.0 / std::max(1, deepest), 9.0, 44.0);
    width_ = std::max(x + kMargin, 640.0);
    lines_ = lines_of(words_, static_cast<size_t>((width_ - 2 * kMargin) / kLetterWidth));
    const double head = kHead + static_cast<double>(lines_.size() - 1) * kLineHeight;
    for (const auto& [id, level] : levels) spots_[at(id)].y = head + level * step;
    height_ = head + deepest * step + 70;
  }

  void draw(std::string& out) const {
    std::map<int64_t, const char*> colours;  // of folded subtrees, by their size
    for (const TreeId id : order_) {
      const Spot& spot = spots_[at(id)];
      if (ends(id)) {
        const char*& colour = colours.emplace(sizes_[at(id)], nullptr).first->second;
        if (colour == nullptr) colour = kColours[(colours.size() - 1) % std::size(kColours)];
        end(out, id, spot, colour);
        continue;
      }
      for (const TreeId child : tree_.children(id)) {
        const Spot& to = spots_[at(child)];
        append_text(out, text_of("<line x1=\"", spot.x, "\" y1=\"", spot.y, "\" x2=\"", to.x, "\" y2=\"", to.y,
                                 "\" stroke=\"#555555\"/>\n"));
      }
      append_text(out, text_of("<circle cx=\"", spot.x, "\" cy=\"", spot.y, "\" r=\"",
                               tree_.children(id).size() > 2 ? 4.5 : 2.5, "\" fill=\"#222222\"><title>sum of ",
                               sizes_[at(id)], " terms</title></circle>\n"));
    }
  }

  void end(std::string& out, TreeId id, const Spot& spot, const char* colour) const {
    if (tree_.is_leaf(id)) {
      append_text(out,
                  text_of("<circle cx=\"", spot.x, "\" cy=\"", spot.y, "\" r=\"3\" fill=\"", colour, "\"/><text x=\"",
                          spot.x, "\" y=\"", spot.y + 14, "\" text-anchor=\"middle\">", id, "</text>\n"));
      return;
    }
    append_text(out,
                text_of("<path d=\"M", spot.x, " ", spot.y, " l-26 28 h52 z\" fill=\"", colour,
                        "\" fill-opacity=\"0.35\" stroke=\"", colour, "\"/><text x=\"", spot.x, "\" y=\"", spot.y + 41,
                        "\" text-anchor=\"middle\">from ", smallest_[at(id)], "</text><text x=\"", spot.x, "\" y=\"",
                        spot.y + 53, "\" text-anchor=\"middle\">", sizes_[at(id)], " terms</text>\n"));
  }

  const SumTree& tree_;
  const std::vector<int64_t> sizes_;
  const std::vector<TreeId> smallest_;
  const std::string words_;
  std::vector<std::string> lines_;  // of the words, as they are drawn
  std::vector<bool> folded_;
  std::vector<Spot> spots_;
  std::vector<TreeId> order_;  // children before their parents
  double width_ = 0, height_ = 0;
};

}  // namespace

std::string svg_of_tree(const SumTree& tree, const std::string& title) { return Drawing(tree).svg(title); }

}  // namespace isobit::lab::reveal
