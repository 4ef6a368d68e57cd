// The format "plain" of Graphviz: a line each for the graph, every node and every edge, and "stop".
#include <charconv>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/report/layout.h"

namespace isobit::report {
namespace {

class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  std::string_view next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
    const std::string_view word = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(word.size());
    return word;
  }
  // A finite number within the largest drawing.
  bool number(double& value) {
    const std::string_view word = next();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() && std::isfinite(value) &&
           std::abs(value) <= kMaxSide;
  }
  bool count(size_t& value, size_t limit, bool named) {
    std::string_view word = next();
    if (named && !word.starts_with('n')) return false;
    if (named) word.remove_prefix(1);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size() && value < limit;
  }

 private:
  std::string_view rest_;
};

bool read_edge(Words& words, size_t nodes, Layout& layout) {
  Layout::Edge edge;
  size_t points = 0;
  if (!words.count(edge.from, nodes, true) || !words.count(edge.to, nodes, true) || !words.count(points, 4096, false)) {
    return false;
  }
  if (points < 4 || points % 3 != 1) return false;
  for (size_t i = 0; i < points; ++i) {
    Point p;
    if (!words.number(p.x) || !words.number(p.y)) return false;
    edge.points.push_back({p.x, layout.height - p.y});
  }
  layout.edges.push_back(std::move(edge));
  return true;
}

}  // namespace

Expected<Layout> read_plain(std::string_view text, size_t nodes, size_t edges, const std::string& what) {
  Layout layout;
  layout.centres.resize(nodes);
  size_t placed = 0, line_number = 0;
  std::vector<bool> seen(nodes);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    Words words(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    const std::string_view kind = words.next();
    double scale = 0;
    size_t node = 0;
    bool good = false;
    if (kind == "graph") {
      good = line_number == 1 && words.number(scale) && words.number(layout.width) && words.number(layout.height) &&
             layout.width >= 0 && layout.height >= 0;
    } else if (kind == "node") {
      Point p;
      good = line_number > 1 && words.count(node, nodes, true) && !seen[node] && words.number(p.x) && words.number(p.y);
      if (good) {
        seen[node] = true;
        ++placed;
        layout.centres[node] = {p.x, layout.height - p.y};
      }
    } else if (kind == "edge") {
      good = line_number > 1 && layout.edges.size() < edges && read_edge(words, nodes, layout);
    } else if (kind == "stop") {
      if (placed == nodes && layout.edges.size() == edges) return layout;
    }
    if (!good)
      return unreadable(text_of(what, ": line ", line_number, " of its answer is not what the format plain has"));
  }
  return unreadable(text_of(what, ": its answer ends without 'stop'"));
}

}  // namespace isobit::report
