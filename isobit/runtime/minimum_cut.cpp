#include "isobit/runtime/minimum_cut.h"

#include <algorithm>

#include "isobit/base/status.h"

namespace isobit::runtime {

int MinimumCut::add_vertex(int64_t weight) {
  of_.resize(of_.size() + 2);
  add_arc(in(vertices_), out(vertices_), weight);
  return vertices_++;
}

void MinimumCut::add_edge(int from, int to) { add_arc(out(from), in(to), kNever); }
void MinimumCut::from_source(int vertex) { add_arc(kSource, in(vertex), kNever); }
void MinimumCut::to_sink(int vertex) { add_arc(out(vertex), kSink, kNever); }

void MinimumCut::add_arc(int from, int to, int64_t room) {
  of_[static_cast<size_t>(from)].push_back(static_cast<int>(arcs_.size()));
  arcs_.push_back({to, room});
  of_[static_cast<size_t>(to)].push_back(static_cast<int>(arcs_.size()));
  arcs_.push_back({from, 0});
}

// How far each end is from the source; false: the sink is not reached.
bool MinimumCut::find_levels() {
  level_.assign(of_.size(), -1);
  level_[kSource] = 0;
  std::vector<int> reached = {kSource};
  for (size_t i = 0; i < reached.size(); ++i) {
    const auto end = static_cast<size_t>(reached[i]);
    for (const int a : of_[end]) {
      const Arc& arc = arcs_[static_cast<size_t>(a)];
      if (arc.room == 0 || level_[static_cast<size_t>(arc.to)] >= 0) continue;
      level_[static_cast<size_t>(arc.to)] = level_[end] + 1;
      reached.push_back(arc.to);
    }
  }
  return level_[kSink] >= 0;
}

// One more path along the levels; false: there is none. No recursion: paths are as long as the graph is deep.
bool MinimumCut::push() {
  std::vector<int> path;
  int end = kSource;
  while (end != kSink) {
    size_t& next = next_[static_cast<size_t>(end)];
    const std::vector<int>& arcs = of_[static_cast<size_t>(end)];
    const auto leads_on = [&](int a) {
      const Arc& arc = arcs_[static_cast<size_t>(a)];
      return arc.room > 0 && level_[static_cast<size_t>(arc.to)] == level_[static_cast<size_t>(end)] + 1;
    };
    while (next < arcs.size() && !leads_on(arcs[next])) ++next;
    if (next < arcs.size()) {
      path.push_back(arcs[next]);
      end = arcs_[static_cast<size_t>(arcs[next])].to;
      continue;
    }
    if (path.empty()) return false;
    end = arcs_[static_cast<size_t>(path.back() ^ 1)].to;  // a dead end: back, and on to the next arc
    path.pop_back();
    ++next_[static_cast<size_t>(end)];
  }
  int64_t room = kNever;
  for (const int a : path) room = std::min(room, arcs_[static_cast<size_t>(a)].room);
  ISOBIT_CHECK(room < kNever);
  for (const int a : path) {
    arcs_[static_cast<size_t>(a)].room -= room;
    arcs_[static_cast<size_t>(a ^ 1)].room += room;
  }
  return true;
}

std::vector<int> MinimumCut::cut() {
  while (find_levels()) {
    next_.assign(of_.size(), 0);
    while (push()) {
    }
  }
  // From the sink backwards, along arcs that still have room.
  std::vector<char> before_sink(of_.size(), 0);
  before_sink[kSink] = 1;
  std::vector<int> reached = {kSink};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const int a : of_[static_cast<size_t>(reached[i])]) {
      const int from = arcs_[static_cast<size_t>(a)].to;
      if (arcs_[static_cast<size_t>(a ^ 1)].room == 0 || before_sink[static_cast<size_t>(from)] != 0) continue;
      before_sink[static_cast<size_t>(from)] = 1;
      reached.push_back(from);
    }
  }
  std::vector<int> found;
  for (int v = 0; v < vertices_; ++v) {
    if (before_sink[static_cast<size_t>(in(v))] == 0 && before_sink[static_cast<size_t>(out(v))] != 0) {
      found.push_back(v);
    }
  }
  return found;
}

}  // namespace isobit::runtime
