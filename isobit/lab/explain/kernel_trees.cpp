#include "isobit/lab/explain/kernel_trees.h"

#include <algorithm>

#include "isobit/base/fp_env.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/vendor/child.h"
#include "isobit/lab/reveal/svg.h"
#include "isobit/lab/reveal/worker.h"
#include "isobit/runtime/kernels/linear.h"

namespace isobit::lab::explain {
namespace {

constexpr int kTreeSeconds = 300;
constexpr uint64_t kMaxWords = 64 * 1024, kMaxSvg = 8 << 20;

using Dims = std::vector<int64_t>;

// The last two dimensions of what the operator makes, or its channels and places, tell one element from the others.
std::string where_words(const Versions::Element& e, const std::string& place) {
  return text_of("at ", place, " of what it makes, where platforms recorded ", e.versions, " different results");
}

// A kernel is asked some two K log K times, and each time computes the whole operator.
bool is_affordable(const reveal::ConvForm& f, int64_t k) {
  constexpr double kMost = 4e11;  // products: some ten seconds
  const double each = static_cast<double>(f.oc) * static_cast<double>(f.rows() * f.columns()) * static_cast<double>(k);
  return each * (100 + 4 * static_cast<double>(k)) <= kMost;
}

// The operator's own convolution, at an element that tells as many platforms apart as one can.
bool ask_of_itself(const kernels::ConvShape& s, const Dims& out, const Versions& versions, reveal::ConvForm form,
                   AskedSum& asked) {
  form.ih = s.ih, form.iw = s.iw, form.oc = s.oc;
  form.stride_h = s.stride_h, form.stride_w = s.stride_w;
  form.pad_top = s.pad_top, form.pad_left = s.pad_left, form.pad_bottom = s.pad_bottom, form.pad_right = s.pad_right;
  const int64_t columns = form.columns(), rows = form.rows();
  if (s.n != 1 || versions.dims() != out || !is_affordable(form, asked.sum->k)) return false;
  const auto place = [&](int64_t element) {
    form.channel = element / (rows * columns), form.row = element / columns % rows, form.column = element % columns;
  };
  const auto element = versions.most_different([&](int64_t e) {
    place(e);
    return form.tap_rows() > 0 && form.tap_columns() > 0 && form.terms() > 1;
  });
  if (!element) return false;
  place(element->place);
  reveal::SumRequest itself = *asked.sum;
  itself.k = form.terms();
  itself.conv = form;
  if (!reveal::check(itself)) return false;
  asked.sum = itself;
  asked.words =
      text_of("this convolution, ", asked.sum->k, " terms ",
              where_words(*element, text_of("channel ", form.channel, ", row ", form.row, ", column ", form.column)));
  return true;
}

AskedSum convolution(const kernels::ConvShape& s, size_t axes, const Dims& out, const Versions& versions) {
  AskedSum asked;
  if (s.groups != 1 || s.dilation_h != 1 || s.dilation_w != 1) {
    asked.problem = "it has groups or dilations, and of such convolutions the order is not asked";
    return asked;
  }
  reveal::ConvForm form;
  form.axes = static_cast<int64_t>(axes);
  form.ic = s.ic, form.kh = s.kh, form.kw = s.kw;
  form.ih = axes == 1 ? 1 : s.kh + reveal::kConvMargin, form.iw = s.kw + reveal::kConvMargin;
  form.oc = reveal::kConvOutputs;
  const int64_t k = s.ic * s.kh * s.kw;
  asked.sum = reveal::SumRequest{.target = reveal::Target::kConv, .k = k, .conv = form};
  if (ask_of_itself(s, out, versions, form, asked)) return asked;
  asked.words = text_of("a small convolution of as many terms, ", k, ": ", s.ic, s.ic == 1 ? " channel" : " channels",
                        " times ", s.kh, " x ", s.kw);
  return asked;
}

AskedSum product(int64_t m, int64_t k, int64_t n, const Versions& versions) {
  AskedSum asked;
  asked.sum = reveal::SumRequest{.target = reveal::Target::kMatmul,
                                 .k = k,
                                 .m = std::clamp<int64_t>(m, 1, reveal::kMostRows),
                                 .n = std::clamp<int64_t>(n, 1, reveal::kMostRows)};
  asked.words = text_of("a matrix product ", asked.sum->m, " x ", k, " by ", k, " x ", asked.sum->n);
  const bool same_rows = !versions.dims().empty() && versions.dims().back() == n;
  const auto element =
      same_rows ? versions.most_different([&](int64_t e) { return e % n < asked.sum->n; }) : std::nullopt;
  if (!element) return asked;
  asked.sum->column = element->place % n;
  asked.words += ", " + where_words(*element, text_of("column ", asked.sum->column));
  return asked;
}

AskedSum asked_of_node(const graph::Graph& graph, const graph::Node& node, const Versions& versions) {
  const auto dims = [&](graph::ValueId value) { return graph.value(value).dims; };
  const Dims a = dims(node.inputs[0]), b = dims(node.inputs[1]), out = dims(node.outputs[0]);
  switch (graph::op_of(node).product) {
    case graph::ProductForm::kConv:
      if (a.size() == 3 || a.size() == 4) {
        const auto p = runtime::product_of_node(node, Shape(a), Shape(b), Shape(out));
        return convolution(p.conv, a.size() - 2, out, versions);
      }
      break;
    case graph::ProductForm::kMatmul:
      if (a.size() >= 2 && b.size() >= 2) return product(a[a.size() - 2], a.back(), b.back(), versions);
      break;
    case graph::ProductForm::kGemm:
      if (out.size() == 2 && out[0] > 0) return product(out[0], Shape(a).elements() / out[0], out[1], versions);
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
  w.text(tree.tree.size() <= kMaxWords ? tree.tree : "");
  w.text(tree.svg.size() <= kMaxSvg ? tree.svg : "");
  return w.take();
}

Status decode(ByteView bytes, const std::string& what, KernelTree& tree) {
  ByteReader reader(bytes, what);
  for (std::string* text : {&tree.call, &tree.words, &tree.rounding, &tree.digest}) {
    ISOBIT_TRY(*text, reader.text("words", kMaxWords));
  }
  ISOBIT_TRY(tree.tree, reader.text("tree", kMaxWords));
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
  if (r.revealed.verdict == reveal::Verdict::kNotATree)
    tree.words = "what it makes of these terms is no sum of them in one order";
  if (r.revealed.tree) {
    tree.tree = reveal::text_of_tree(*r.revealed.tree);
    tree.digest = commit::hex_of(reveal::digest_of_tree(*r.revealed.tree));
    tree.svg = reveal::svg_of_tree(*r.revealed.tree, text_of("the order in which ", r.platform, " adds"));
  }
  return tree;
}

// The operators of ONNX Runtime were looked at in a session that rewrites
// nothing, whatever its setting (docs/lab.md).
std::string asked_name(const records::PlatformRecord& record) {
  std::string name = record.name;
  const size_t at = name.find('@');
  if (at != std::string::npos && name.substr(0, at) == "onnxruntime") {
    name.replace(at, name.find('/', at) - at, "@disabled");
  }
  return name;
}

}  // namespace

AskedSum asked_of(const Part& part, const Feeds& feeds, const Versions& versions) {
  const auto graph = graph_of({&part.model, &feeds});
  if (!graph) return {.problem = graph.error().message};
  const graph::Node* found = nullptr;
  bool has_statistics = false;
  for (const graph::Node& node : graph->nodes()) {
    has_statistics |= static_cast<bool>(graph::op_of(node).statistics);
    if (!graph::op_of(node).is_inner_product()) continue;
    if (found != nullptr) return {.problem = "several inner products lie between the values that were recorded"};
    found = &node;
  }
  if (found == nullptr && has_statistics) {
    return {.problem =
                "it has no inner product, but a mean and a variance, whose sums every engine takes in its own way; "
                "these orders are not asked"};
  }
  if (found == nullptr) return {.problem = "it has no inner product"};
  AskedSum asked = asked_of_node(*graph, *found, versions);
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
  if (name.find('~') != std::string::npos) {
    tree.problem = "kernels on emulated processors are not asked";
    return tree;
  }
  if (const size_t colon = name.find(':'); colon != std::string::npos) {
    tree.problem = text_of("kernels are asked in float32, and not under ", name.substr(colon + 1));
    return tree;
  }
  const auto& engines = reveal::worker_engines();
  const bool is_engine = std::ranges::count(engines, name.substr(0, name.find_first_of("@/"))) > 0;
  if (!is_engine && !platform::parse_platform(name)) {
    tree.problem = text_of("of engines only ", join_or(engines), " can be asked");
    return tree;
  }
  const auto bytes =
      kernels::vendor::run_in_child("the order of its sums", work, kTreeSeconds, kMaxSvg + 6 * kMaxWords);
  if (!bytes) {
    tree.problem = bytes.error().message;
  } else if (const Status read = decode(*bytes, "the order of its sums", tree); !read) {
    tree.problem = read.error().message;
  }
  return tree;
}

}  // namespace isobit::lab::explain
