#include "isobit/dispute/spot_draw.h"

#include <cmath>

namespace isobit::dispute {
namespace {

using Entry = train::TraceEntry;

constexpr std::string_view kDrawTag = "isobit.spot-draw";
constexpr uint32_t kSpotDrawVersion = 1;

}  // namespace

std::vector<std::vector<uint64_t>> spot_units(const std::vector<Entry>& schema, bool is_fed_known) {
  std::vector<std::vector<uint64_t>> units;
  int64_t node = -1;
  for (uint64_t i = 0; i < schema.size(); ++i) {
    const Entry& e = schema[i];
    if (is_fed_known && e.kind == Entry::Kind::kBatch) continue;
    if (e.kind == Entry::Kind::kState || e.kind == Entry::Kind::kRate || Shape(e.dims).elements() == 0) continue;
    if (e.node < 0 || e.node != node) units.emplace_back();
    units.back().push_back(i);
    node = e.node;
  }
  return units;
}

uint64_t SpotDraw::below(uint64_t n, const commit::Digest& history) {
  const uint64_t fair = UINT64_MAX - UINT64_MAX % n;  // as many of each below it
  for (;;) {
    ByteWriter w;
    w.bytes(seed_);
    w.fixed(history);
    w.u64(next_++);
    const commit::Digest digest = commit::tagged_hash(kDrawTag, kSpotDrawVersion, w.view());
    uint64_t x = 0;
    for (size_t i = 0; i < 8; ++i) x |= uint64_t{digest[i]} << (8 * i);
    if (x < fair) return x % n;
  }
}

SpotPlace SpotDraw::place(const std::vector<std::vector<uint64_t>>& units, const std::vector<Entry>& schema,
                          const commit::Digest& history) {
  const std::vector<uint64_t>& unit = units[below(units.size(), history)];
  const uint64_t entry = unit[below(unit.size(), history)];
  const auto elements = static_cast<uint64_t>(Shape(schema[entry].dims).elements());
  return {entry, static_cast<int64_t>(below(elements, history))};
}

double spot_miss_probability(uint64_t units, uint64_t false_units, uint64_t draws, double fraction, double found) {
  const double hit = fraction * found * static_cast<double>(false_units) / static_cast<double>(units);
  return std::pow(1 - hit, static_cast<double>(draws));
}

}  // namespace isobit::dispute
