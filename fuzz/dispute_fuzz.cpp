// What parties to a dispute send, and records of disputes: what decodes encodes to the very same bytes, and looking at
// what it shows does not crash, whatever it claims. The first byte says as what the rest is read.
#include <algorithm>

#include "isobit/dispute/link.h"
#include "isobit/dispute/record.h"

using namespace isobit;

namespace {

void read_body(ByteView input, size_t kind, bool logged) {
  const verify::TranscriptRules rules{.steps = 8, .commit_every = 2, .loss_dtype = DType::kFloat32, .logged = logged};
  const auto body = dispute::decode_body(input, kind, rules, "input");
  if (!body) return;
  ISOBIT_CHECK(std::ranges::equal(dispute::encode(*body), input));
  if (const auto* node = std::get_if<dispute::NodeShowing>(&*body)) {
    verify::JobRootParts parts;
    (void)dispute::resolve(node->node, node->node.node.node.index, dispute::GraphParts::of(parts), {});
  }
  if (const auto* grounds = std::get_if<dispute::Grounds>(&*body)) {
    for (const dispute::ShownPart& part : grounds->shown) {
      (void)dispute::ShownTensor::open({"t", DType::kFloat32, {64, 64}, 1}, {}, part.tiles);
    }
  }
  if (const auto* sums = std::get_if<dispute::SumsShowing>(&*body)) {
    const size_t each = sums->parts.empty() ? 0 : sums->parts.front().sums.size();
    for (const uint64_t size : {uint64_t{1}, sums->parts.size(), uint64_t{1000}}) {
      if (size > 0) (void)dispute::claimed_sums({0, size}, *sums, each);
    }
  }
  if (const auto* graph = std::get_if<dispute::GraphShowing>(&*body)) {
    // Under its own root, so that it is made again.
    std::vector<verify::GraphNode> nodes;
    for (const auto& node : graph->nodes) nodes.push_back(node.node);
    (void)dispute::graph_of(*graph, verify::graph_root(graph->head, nodes));
  }
  if (const auto* log = std::get_if<dispute::LogShowing>(&*body)) {
    for (const auto& side : {log->entry.before, log->entry.after}) {
      if (!side || side->chunk.kind() != log::Kind::kSparse) continue;
      // Under the root that the proof leads to, so that what it shows is looked at.
      const auto tree = commit::inclusion_root(side->inclusion, commit::leaf_hash(verify::encode(side->chunk)));
      if (!tree) continue;
      const auto root = verify::log_root(1, log::Kind::kSparse, {side->inclusion.size, *tree});
      (void)verify::shown_entry(log->entry, side->chunk.node, 7, 1, root);
    }
  }
  if (const auto* accusation = std::get_if<dispute::Accusation>(&*body)) {
    (void)verify::verify_log_chunk(accusation->chunk, 1, {});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ByteView input(data + 1, size - 1);
  // Kinds that came later are read as the last numbers, so that a kept input means what it meant.
  constexpr size_t kKinds = 14, kMore = std::variant_size_v<dispute::Body> - kKinds;
  const size_t as = data[0] % (kKinds + 6 + kMore);
  if (as < kKinds) {
    read_body(input, as, data[0] >= 128);
  } else if (as >= kKinds + 6) {
    read_body(input, as - 6, data[0] >= 128);
  } else if (as == kKinds) {
    const auto message = dispute::decode_message(input, "input");
    if (message) ISOBIT_CHECK(std::ranges::equal(dispute::encode(*message), input));
  } else if (as == kKinds + 2) {
    const auto asked = dispute::decode_question(input, "input");
    if (asked) ISOBIT_CHECK(std::ranges::equal(dispute::encode(*asked), input));
  } else if (as == kKinds + 3) {
    const auto restart = dispute::decode_restart(input, "input");
    if (restart) ISOBIT_CHECK(std::ranges::equal(dispute::encode(*restart), input));
  } else if (as == kKinds + 4) {
    const auto closing = dispute::decode_closing(input, "input");
    if (closing) ISOBIT_CHECK(std::ranges::equal(dispute::encode(*closing), input));
  } else if (as == kKinds + 5) {
    const auto two = dispute::decode_equivocation(input, "input");
    if (two) ISOBIT_CHECK(std::ranges::equal(dispute::encode(*two), input));
  } else {
    const auto record = dispute::decode_record(input, "input");
    if (record) ISOBIT_CHECK(std::ranges::equal(dispute::encode(*record), input));
  }
  return 0;
}
