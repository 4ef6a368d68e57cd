// How many tiles a referee has to be shown for one leaf of a dispute: of every operator of the steps of some networks,
// small and large, the most 16x16 tiles of its operands (commit/tensor_root.h, cut as the trace schema says) that the
// needs of one chunk of one element lie in. From shapes alone: no tensor of these networks is made.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>

#include "isobit/base/text.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/judge/logged.h"
#include "isobit/judge/reduction.h"
#include "isobit/models/layers.h"
#include "isobit/train/step_graph.h"
#include "isobit/train/trace_schema.h"

namespace isobit::train {
namespace {

using graph::ElementSource;
using graph::ValueId;
using models::ConvOptions;

constexpr int64_t kMostTiles = 800;  // of 1 KiB: what fits into 1 MiB with their proofs

// He et al. 2016, table 1: a stem, then stages of residual blocks, of two 3x3 convolutions or as bottlenecks.
class Resnet : public models::Network {
 public:
  Resnet(std::vector<int64_t> blocks, bool bottleneck, bool large_stem)
      : blocks_(std::move(blocks)), bottleneck_(bottleneck), large_stem_(large_stem) {}

  Expected<models::Model> build(const models::ModelConfig& config) const override {
    models::Model model;
    models::Layers layers(config, model);
    const std::vector<int64_t>& s = config.input_shape;
    ValueId x = model.graph.add_input("input", DType::kFloat32, {config.batch, s[0], s[1], s[2]});
    model.inputs = {x};
    const auto normal = [&](const std::string& name, ValueId y, ConvOptions options) {
      options.bias = false;
      return layers.batch_norm(name + ".bn", layers.conv(name, y, options));
    };
    x = layers.relu(large_stem_ ? normal("stem", x, {.channels = 64, .kernel = 7, .stride = 2, .pad = 3})
                                : normal("stem", x, {.channels = 64, .kernel = 3, .pad = 1}));
    using Ints = std::vector<int64_t>;
    const graph::Attributes window = {
        {"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}};
    if (large_stem_) x = model.graph.emit("MaxPool", {x}, window, "pool");
    for (size_t stage = 0; stage < blocks_.size(); ++stage) {
      const int64_t channels = int64_t{64} << stage;
      for (int64_t block = 0; block < blocks_[stage]; ++block) {
        const std::string name = text_of("stage", stage, ".", block);
        const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        ValueId y;
        if (bottleneck_) {
          y = layers.relu(normal(name + ".a", x, {.channels = channels}));
          y = layers.relu(normal(name + ".b", y, {.channels = channels, .kernel = 3, .stride = stride, .pad = 1}));
          y = normal(name + ".c", y, {.channels = 4 * channels});
        } else {
          y = layers.relu(normal(name + ".a", x, {.channels = channels, .kernel = 3, .stride = stride, .pad = 1}));
          y = normal(name + ".b", y, {.channels = channels, .kernel = 3, .pad = 1});
        }
        const int64_t out = bottleneck_ ? 4 * channels : channels;
        if (model.graph.value(x).dims[1] != out || stride != 1) {
          x = normal(name + ".shortcut", x, {.channels = out, .stride = stride});
        }
        x = layers.relu(model.graph.emit("Add", {y, x}, {}, name));
      }
    }
    x = layers.flatten(model.graph.emit("GlobalAveragePool", {x}, {}, "average"));
    model.output = layers.linear("fc", x, config.classes);
    return model;
  }
  Expected<std::vector<NamedTensor>> given_values() const override { return std::vector<NamedTensor>{}; }
  uint64_t given_bytes() const override { return 0; }

 private:
  const std::vector<int64_t> blocks_;
  const bool bottleneck_, large_stem_;
};

// The largest of what an operator's chunks touch.
struct Touched {
  int64_t tiles = 0;        // of 1 KiB
  int64_t needs = 0;        // elements of the chunk with the most
  int64_t guides = 0;       // elements that say where
  int64_t whole_bytes = 0;  // of operands that say where as a whole
  std::string where = {};
};

class Tiles {
 public:
  Tiles(const StepGraph& step, bool is_logged) : step_(step), is_logged_(is_logged) {
    for (const TraceEntry& e : trace_schema(step)) {
      if (e.kind == TraceEntry::Kind::kStatistic) {
        statistics_.try_emplace({e.node, e.place}, e);
      } else if (e.kind == TraceEntry::Kind::kOutput) {
        const auto& node = step.graph.nodes()[static_cast<size_t>(e.node)];
        put(node.outputs[static_cast<size_t>(e.place)], e);
      } else {
        fed_.push_back(e);
      }
    }
    std::vector<ValueId> ids;
    for (const StateSlot& slot : step.slots) ids.push_back(slot.in);
    ids.insert(ids.end(), step.inputs.begin(), step.inputs.end());
    for (const ValueId id : {step.target, step.lr, step.step, step.beta1_power, step.beta2_power}) {
      if (id != graph::kNoValue) ids.push_back(id);
    }
    ISOBIT_CHECK(ids.size() == fed_.size());
    for (size_t i = 0; i < ids.size(); ++i) put(ids[i], fed_[i]);
  }

  std::map<std::string, Touched> by_operator() {
    std::map<std::string, Touched> all;
    for (size_t n = 0; n < step_.graph.nodes().size(); ++n) {
      const graph::Node& node = step_.graph.nodes()[n];
      if (!seen_.insert(signature_of(node)).second) continue;
      look_at(n, all[node.op]);
    }
    return all;
  }

 private:
  struct Grid {
    commit::TileGrid grid;
    int64_t kib;  // of a whole tile
    explicit Grid(const TraceEntry& e) : grid(Shape(e.dims), {e.split}), kib(size_of(e.dtype) > 4 ? 2 : 1) {}
  };

  void put(ValueId id, const TraceEntry& e) { values_.try_emplace(id, e); }

  // Nodes that are alike touch as many.
  std::string signature_of(const graph::Node& node) const {
    std::string text = node.op;
    for (const auto* ids : {&node.inputs, &node.outputs}) {
      for (const ValueId id : *ids) {
        const auto found = values_.find(id);
        text += id == graph::kNoValue ? "-" : Shape(step_.graph.value(id).dims).text();
        if (found != values_.end()) text += text_of("/", found->second.grid.cols());
      }
    }
    for (const auto& [name, attribute] : node.attributes.items()) {
      text += " " + name;
      if (const auto* i = std::get_if<int64_t>(&attribute)) text += text_of(*i);
      if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute)) text += Shape(*list).text();
    }
    return text;
  }

  // Indices that name the first place, wherever they are looked at: as many takers of it as there can be.
  judge::Question ask(const graph::Node& node) {
    const auto operand = [this, &node](int i) {
      const graph::Value& value = step_.graph.value(node.inputs[static_cast<size_t>(i)]);
      Tensor& tensor = operands_[node.inputs[static_cast<size_t>(i)]];
      if (!tensor.defined()) {
        tensor = Tensor(value.dtype, Shape(value.dims));
        std::fill_n(static_cast<uint8_t*>(tensor.raw()), tensor.bytes(), uint8_t{0});
      }
      return &tensor;
    };
    return judge::ask_about(step_.graph, node, operand, [](int, int64_t) { return std::optional<judge::Bits>(0); })
        .value();
  }

  void look_at(size_t n, Touched& most) {
    const graph::Node& node = step_.graph.nodes()[n];
    judge::Question q = ask(node);
    for (size_t s = 0; s < q.statistics.size(); ++s) {
      q.where.statistic = s;
      look_at_elements(n, q, q.statistics[s].name, most);
    }
    q.where.statistic.reset();
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      q.where.output = o;
      if (node.outputs[o] != graph::kNoValue) look_at_elements(n, q, text_of("output ", o), most);
    }
  }

  // Every chunk, or of very many some.
  static std::vector<int64_t> some_of(int64_t chunks) {
    std::vector<int64_t> some;
    const int64_t looked = std::min<int64_t>(chunks, 32);
    for (int64_t i = 0; i < looked; ++i) some.push_back(i * (chunks - 1) / std::max<int64_t>(looked - 1, 1));
    return some;
  }

  void look_at_elements(size_t n, judge::Question& q, const std::string& what, Touched& most) {
    const int64_t count = q.elements();
    std::set<int64_t> elements = {0, count - 1, count / 2};
    for (uint64_t i = 1; i <= 9; ++i) {
      elements.insert(static_cast<int64_t>(i * 0x9e3779b97f4a7c15u % static_cast<uint64_t>(count)));
    }
    for (const int64_t e : elements) {
      q.where.element = e;
      for (const judge::WholeOperand& whole : judge::whole_operands(q)) {
        most.whole_bytes = std::max(most.whole_bytes, whole.bytes);
      }
      for (size_t stage = 0; stage < judge::guide_stages(q); ++stage) {
        most.guides = std::max(most.guides, static_cast<int64_t>(judge::guides_of(q, stage).value().size()));
      }
      if (is_logged_ && !q.where.statistic && q.def().is_inner_product()) {
        take_logged(n, q, what, most);
        continue;
      }
      const auto reduction = judge::Reduction::of(q, platform::arithmetic_of("ordered-1"));
      if (!reduction) {
        const auto needs = judge::needs_of(q);
        ASSERT_TRUE(needs) << needs.error().message;
        take(n, *needs, what, most);
        continue;
      }
      const int64_t chunks = (*reduction)->chunks();
      for (const int64_t c : some_of(chunks)) {
        std::vector<ElementSource> needs = (*reduction)->needs(c);
        const std::vector<ElementSource> once = (*reduction)->once();
        needs.insert(needs.end(), once.begin(), once.end());
        take(n, needs, what, most);
      }
    }
  }

  void take_logged(size_t n, const judge::Question& q, const std::string& what, Touched& most) {
    const auto product = judge::LoggedProduct::of(q);
    ASSERT_TRUE(product) << product.error().message;
    for (const int64_t c : some_of(product->chunks())) take(n, product->needs(c), what, most);
  }

  void take(size_t n, const std::vector<ElementSource>& needs, const std::string& what, Touched& most) {
    const graph::Node& node = step_.graph.nodes()[n];
    std::set<std::pair<const Grid*, int64_t>> tiles;
    int64_t kib = 0;
    for (const ElementSource& s : needs) {
      const ValueId id = s.of_statistic ? graph::kNoValue : node.inputs[static_cast<size_t>(s.input)];
      if (id != graph::kNoValue && step_.graph.initializer(id) != nullptr) continue;  // known with the graph
      const Grid& grid = s.of_statistic ? statistics_.at({static_cast<int64_t>(n), s.input}) : values_.at(id);
      if (tiles.emplace(&grid, grid.grid.place_of(s.element).tile).second) kib += grid.kib;
    }
    if (kib > most.tiles) most.where = text_of("'", node.name, "' ", what);
    most.tiles = std::max(most.tiles, kib);
    most.needs = std::max(most.needs, static_cast<int64_t>(needs.size()));
  }

  const StepGraph& step_;
  const bool is_logged_;
  std::vector<TraceEntry> fed_;
  std::map<ValueId, Grid> values_;
  std::map<std::pair<int64_t, int64_t>, Grid> statistics_;
  std::map<ValueId, Tensor> operands_;
  std::set<std::string> seen_;
};

struct Case {
  std::string name;
  std::string model, data, optimizer;
  data::DataShape shape;
  std::shared_ptr<const models::Network> network = models::built_in();
};

data::DataShape tokens(int64_t context, int64_t vocabulary) {
  data::DataShape shape;
  shape.name = "text";
  shape.inputs = {{.name = "tokens", .dtype = DType::kInt64, .shape = {context}}};
  shape.target = {
      .kind = data::TargetKind::kClassPerToken, .dtype = DType::kInt64, .shape = {context}, .classes = vocabulary};
  return shape;
}

std::vector<Case> cases() {
  const std::string sgd = "lr = 0.1\nmomentum = 0.9\nweight_decay = 1e-3\nclip_norm = 0.5";
  const std::string adam = "name = \"adamw\"\nlr = 0.01\nclip_norm = 1.0";
  const auto images = [](int64_t side, int64_t classes) { return data::shape_of_classes({3, side, side}, classes); };
  const std::string gpt2 = "builder = \"gpt\"\nlayers = 12\nheads = 12\nchannels = 768";
  std::vector<Case> all = {
      {"digits-cnn", "builder = \"digits-cnn\"", "dataset = \"digits\"\nbatch = 64", sgd,
       data::shape_of_classes({1, 8, 8}, 10)},
      {"resnet-20", "builder = \"resnet\"\nblocks = 3", "dataset = \"cifar10\"\nbatch = 128", sgd, images(32, 10)},
      {"tiny-gpt", "builder = \"gpt\"\nlayers = 4\nheads = 4\nchannels = 128", "dataset = \"text\"\nbatch = 32", adam,
       tokens(64, 256)},
      {"resnet-18", "builder = \"resnet\"", "dataset = \"cifar10\"\nbatch = 128", sgd, images(32, 10),
       std::make_shared<Resnet>(std::vector<int64_t>{2, 2, 2, 2}, false, false)},
      {"resnet-50", "builder = \"resnet\"", "dataset = \"cifar10\"\nbatch = 8", sgd, images(224, 1000),
       std::make_shared<Resnet>(std::vector<int64_t>{3, 4, 6, 3}, true, true)}};
  for (const int64_t context : {64, 256, 1024}) {
    all.push_back({text_of("gpt-2 T=", context), gpt2, "dataset = \"text\"\nbatch = 4", adam, tokens(context, 50257)});
  }
  return all;
}

void expect_few_tiles(const Case& c, const char* arithmetic) {
  SCOPED_TRACE(c.name + " " + arithmetic);
  const auto job = parse_job(text_of("[job]\nsteps = 4\narithmetic = \"", arithmetic, "\"\n[model]\n", c.model,
                                     "\n[data]\n", c.data, "\n[optimizer]\n", c.optimizer, "\n"),
                             "test", "");
  ASSERT_TRUE(job) << job.error().message;
  const auto step = build_step_graph(*job, c.shape, *c.network);
  ASSERT_TRUE(step) << step.error().message;
  std::printf("%s %s\n  %-28s %6s %6s %7s %9s  %s\n", c.name.c_str(), arithmetic, "operator", "tiles", "needs",
              "guides", "whole B", "most tiles at");
  const bool is_logged = platform::arithmetic_of(arithmetic).rounds;
  for (const auto& [op, most] : Tiles(*step, is_logged).by_operator()) {
    std::printf("  %-28s %6lld %6lld %7lld %9lld  %s\n", op.c_str(), static_cast<long long>(most.tiles),
                static_cast<long long>(most.needs), static_cast<long long>(most.guides),
                static_cast<long long>(most.whole_bytes), most.where.c_str());
    EXPECT_LE(most.tiles, kMostTiles) << op << " " << most.where;
  }
}

TEST(ChunkTiles, AreFewEnoughForOneMessage) {
  for (const Case& c : cases()) {
    for (const char* arithmetic : {"ordered-1", "logged-1"}) expect_few_tiles(c, arithmetic);
  }
}

}  // namespace
}  // namespace isobit::train
