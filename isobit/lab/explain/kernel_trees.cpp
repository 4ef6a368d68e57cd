#include "isobit/lab/explain/kernel_trees.h"

#include <algorithm>

#include "isobit/base/fp_env.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/vendor/child.h"
#include "isobit/lab/reveal/svg.h"
#include "isobit/lab/reveal/worker.h"

namespace isobit::lab::explain {
namespace {

constexpr int kMostSeconds = 120;
constexpr uint64_t kMaxWords = 64 * 1024, kMaxSvg = 8 << 20;

using Dims = std::vector<int64_t>;

AskedSum convolution(const Dims& weights) {
  AskedSum asked;
  if (weights.size() != 4 || weights[2] != weights[3]) {
    asked.problem = "its windows are no squares, and of other convolutions the order is not asked";
    return asked;
  }
  const int64_t k = weights[1] * weights[2] * weights[3];
  asked.sum = reveal::SumRequest{.target = reveal::Target::kConv, .k = k, .window = weights[2]};
  asked.words = text_of("a convolution of as many terms, ", k, ": ", weights[1],
                        weights[1] == 1 ? " channel" : " channels", " times ", weights[2], " x ", weights[3]);
  return asked;
}

AskedSum product(int64_t m, int64_t k, int64_t n) {
  AskedSum asked;
  asked.sum = reveal::SumRequest{.target = reveal::Target::kMatmul,
                                 .k = k,
                                 .m = std::clamp<int64_t>(m, 1, reveal::kMostRows),
                                 .n = std::clamp<int64_t>(n, 1, reveal::kMostRows)};
  asked.words = text_of("a matrix product ", asked.sum->m, " x ", k, " by ", k, " x ", asked.sum->n);
  return asked;
}

AskedSum asked_of_node(const graph::Graph& graph, const graph::Node& node) {
  const auto dims = [&](graph::ValueId value) { return graph.value(value).dims; };
  const Dims a = dims(node.inputs[0]), b = dims(node.inputs[1]), out = dims(node.outputs[0]);
  switch (graph::op_of(node).product) {
    case graph::ProductForm::kConv:
      return convolution(b);
    case graph::ProductForm::kMatmul:
      if (a.size() >= 2 && b.size() >= 2) return product(a[a.size() - 2], a.back(), b.back());
      break;
    case graph::ProductForm::kGemm:
      if (out.size() == 2 && out[0] > 0) return product(out[0], Shape(a).elements() / out[0], out[1]);
      break;
    default:
      break;
  }
  return {.problem = "of this kind of product the order is not asked"};
}

Bytes encode(const KernelTree& tree) {
  ByteWriter w;
  for (const std::string* text : {&tree.call, &tree.words, &tree.rounding, &tree.digest})
    w.text(text->substr(0, kMaxWords));
  w.text(tree.svg.size() <= kMaxSvg ? tree.svg : "");
  return w.take();
}

Status decode(ByteView bytes, const std::string& what, KernelTree& tree) {
  ByteReader reader(bytes, what);
  for (std::string* text : {&tree.call, &tree.words, &tree.rounding, &tree.digest}) {
    ISOBIT_TRY(*text, reader.text("words", kMaxWords));
  }
  ISOBIT_TRY(tree.svg, reader.text("drawing", kMaxSvg));
  return reader.finish();
}

KernelTree tree_of_revelation(const reveal::Revelation& r) {
  KernelTree tree;
  tree.call = text_of(r.version.empty() ? "" : r.version + ": ", r.call);
  tree.words = r.words();
  if (r.confirmation.sums > 0) tree.rounding = r.confirmation.words(r.sum.format);
  for (const reveal::Probe& probe : r.probes) {
    tree.rounding += text_of(tree.rounding.empty() ? "" : "; ", probe.name, ": ", probe.finding);
  }
  if (r.revealed.tree) {
    tree.digest = commit::hex_of(reveal::digest_of_tree(*r.revealed.tree));
    tree.svg = reveal::svg_of_tree(*r.revealed.tree, text_of("the order in which ", r.platform, " adds"));
  }
  return tree;
}

// Without the arithmetic behind a colon; of an engine without its setting, "@all".
std::string asked_name(const records::PlatformRecord& record) {
  std::string name = record.name.substr(0, record.name.find(':'));
  const size_t at = name.find('@');
  if (at != std::string::npos && std::ranges::count(reveal::worker_engines(), name.substr(0, at)) > 0) {
    name.erase(at, name.find('/', at) - at);
  }
  return name;
}

}  // namespace

AskedSum asked_of(const Part& part, const Feeds& feeds) {
  const auto graph = graph_of({&part.model, &feeds});
  if (!graph) return {.problem = graph.error().message};
  const graph::Node* found = nullptr;
  for (const graph::Node& node : graph->nodes()) {
    if (!graph::op_of(node).is_inner_product()) continue;
    if (found != nullptr) return {.problem = "several inner products lie between the values that were recorded"};
    found = &node;
  }
  if (found == nullptr) return {.problem = "it has no inner product"};
  AskedSum asked = asked_of_node(*graph, *found);
  if (asked.sum) {
    if (const Status possible = reveal::check(*asked.sum); !possible) {
      asked.problem = possible.error().message;
      asked.sum.reset();
    }
  }
  return asked;
}

KernelTree tree_of(const Explanation& explanation, size_t platform, const reveal::SumRequest& sum,
                   const std::string& python) {
  const std::string name = asked_name(explanation.comparison.platforms[platform].record);
  const auto work = [&]() -> Expected<Bytes> {
    pin_fp_environment();
    ISOBIT_TRY(const reveal::Revelation revelation,
               reveal::reveal({.sum = sum, .platform = name, .python = python, .probes = true}));
    return encode(tree_of_revelation(revelation));
  };
  KernelTree tree;
  tree.platform = platform;
  tree.asked = name;
  const auto bytes =
      kernels::vendor::run_in_child("the order of its sums", work, kMostSeconds, kMaxSvg + 5 * kMaxWords);
  if (!bytes) {
    tree.problem = bytes.error().message;
  } else if (const Status read = decode(*bytes, "the order of its sums", tree); !read) {
    tree.problem = read.error().message;
  }
  return tree;
}

}  // namespace isobit::lab::explain
