#include "isobit/train/trace_schema.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/graph/op.h"
#include "isobit/train/trainer.h"

namespace isobit::train {
namespace {

using Kind = TraceEntry::Kind;

// The example jobs on data that are always there, a few samples a step.
std::vector<Job> example_jobs(const std::string& arithmetic, const fs::path& text) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  const std::string folder = std::string(source ? source : ".") + "/examples/jobs/";
  const std::string digits = "data.dataset=digits", no_path = "data.path=\"\"";
  std::vector<Job> jobs;
  for (auto& [name, overrides] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"digits", {}},
           {"logistic", {}},
           {"mnist", {digits, no_path}},
           {"cifar10-resnet", {digits, no_path}},
           {"tiny-gpt", {text_of("data.path=\"", text.string(), "\""), "data.context=8"}}}) {
    overrides.insert(overrides.end(), {"job.arithmetic=" + arithmetic, "data.batch=3"});
    const auto job = load_job(folder + name + ".toml", overrides);
    EXPECT_TRUE(job) << job.error().message;
    jobs.push_back(*job);
  }
  return jobs;
}

class TextFile {
 public:
  TextFile() : path_(fs::temp_directory_path() / text_of("isobit_trace_schema_", ::getpid())) {
    Bytes bytes(4000);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i / 7);
    EXPECT_TRUE(write_file_durably(path_, bytes));
  }
  ~TextFile() { fs::remove(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// What the executor gives out in a step.
class Recorder : public runtime::Observer {
 public:
  struct Seen {
    Kind kind;
    int64_t node, place;
    DType dtype;
    std::vector<int64_t> dims;
    bool operator==(const Seen&) const = default;
  };
  bool wants_statistics() const override { return true; }
  Status before_stage(const runtime::NodeRun& n) override {
    add(Kind::kStatistic, n.index, n.statistics);
    return {};
  }
  Status after_stage(const runtime::NodeRun& n) override {
    add(Kind::kOutput, n.index, n.outputs);
    return {};
  }
  std::vector<Seen> seen;

 private:
  void add(Kind kind, size_t node, std::span<const Tensor> tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& t = tensors[i];
      if (!t.defined()) continue;
      seen.push_back({kind, static_cast<int64_t>(node), static_cast<int64_t>(i), t.dtype(), t.shape().dims()});
    }
  }
};

TEST(TraceSchema, IsWhatTheExecutorGivesOutInAStepOfEveryExampleJob) {
  const TextFile text;
  for (const char* arithmetic : {"ordered-1", "logged-1"}) {
    for (const Job& job : example_jobs(arithmetic, text.path())) {
      platform::Engine engine(platform::parse_platform("ordered/1t").value());
      auto trainer = Trainer::create(job, data::open_dataset(job.data).value(), engine).value();
      Recorder recorder;
      ASSERT_TRUE(trainer->advance({.observer = &recorder}));
      std::vector<Recorder::Seen> expected;
      for (const TraceEntry& e : trace_schema(trainer->step_graph())) {
        if (e.node >= 0) expected.push_back({e.kind, e.node, e.place, e.dtype, e.dims});
      }
      EXPECT_TRUE(expected == recorder.seen) << job.name << " " << arithmetic << ": " << expected.size() << " entries, "
                                             << recorder.seen.size() << " seen";
    }
  }
}

// Operators whose elements need a sum or a maximum over elements that are no terms of theirs.
TEST(TraceSchema, EveryNormSoftmaxCrossEntropyAndClippingHasItsStatistics) {
  const TextFile text;
  std::set<std::string> met;
  for (const Job& job : example_jobs("ordered-1", text.path())) {
    const StepGraph step = build_step_graph(job, *data::open_dataset(job.data).value()).value();
    std::set<int64_t> with;
    for (const TraceEntry& e : trace_schema(step)) {
      if (e.kind == Kind::kStatistic) with.insert(e.node);
    }
    for (size_t n = 0; n < step.graph.nodes().size(); ++n) {
      const std::string& op = step.graph.nodes()[n].op;
      // By the word: independent of the table that the schema is made from. Scaling by given moments needs none.
      const bool needs = (op.find("Norm") != std::string::npos || op.find("Softmax") != std::string::npos ||
                          op == "isobit.CrossEntropy" || op == "isobit.BatchStatistics") &&
                         op != "isobit.BatchNormApply";
      EXPECT_EQ(with.contains(static_cast<int64_t>(n)), needs) << job.name << ": " << op;
      if (needs) met.insert(op);
    }
  }
  EXPECT_EQ(met, (std::set<std::string>{"LayerNormalization", "isobit.BatchNormGrad", "isobit.BatchStatistics",
                                        "isobit.CausalSoftmax", "isobit.CausalSoftmaxGrad", "isobit.CrossEntropy",
                                        "isobit.GlobalNorm", "isobit.LayerNormGrad"}));
}

TEST(TraceSchema, TheStateComesOutUnderItsOwnNamesAndLayout) {
  const TextFile text;
  for (const Job& job : example_jobs("ordered-1", text.path())) {
    const StepGraph step = build_step_graph(job, *data::open_dataset(job.data).value()).value();
    const auto schema = trace_schema(step);
    for (size_t i = 0; i < step.slots.size(); ++i) {
      const TraceEntry& before = schema[i];
      EXPECT_EQ(before.kind, Kind::kState);
      EXPECT_EQ(before.name, step.slots[i].name);
      EXPECT_EQ(before.split, before.dims.size() < 2 ? 0 : 1);
      const auto after = std::ranges::count_if(schema, [&](const TraceEntry& e) {
        return e.kind == Kind::kOutput && e.name == before.name && e.dims == before.dims && e.split == before.split;
      });
      EXPECT_EQ(after, 1) << before.name;
    }
  }
}

// Tiles that hold the terms of output (y, x) of a 3x3 convolution over src [n, c, h, w] with padding 1.
size_t tiles_of_terms(const TraceEntry& src, int split, int64_t y, int64_t x) {
  const commit::TileGrid grid(Shape(src.dims), {split});
  const int64_t c = src.dims[1], h = src.dims[2], w = src.dims[3];
  std::set<int64_t> tiles;
  for (int64_t ic = 0; ic < c; ++ic) {
    for (int64_t ky = std::max<int64_t>(0, y - 1); ky <= std::min(h - 1, y + 1); ++ky) {
      for (int64_t kx = std::max<int64_t>(0, x - 1); kx <= std::min(w - 1, x + 1); ++kx) {
        tiles.insert(grid.place_of((ic * h + ky) * w + kx).tile);
      }
    }
  }
  return tiles.size();
}

TEST(TraceSchema, TheTermsOfOneConvolutionOutputLieInFewTiles) {
  const TextFile text;
  const Job job = example_jobs("ordered-1", text.path())[0];
  const StepGraph step = build_step_graph(job, *data::open_dataset(job.data).value()).value();
  const auto& nodes = step.graph.nodes();
  const auto conv2 =
      std::ranges::find_if(nodes, [](const graph::Node& n) { return n.op == "Conv" && n.name == "conv2"; });
  ASSERT_NE(conv2, nodes.end());
  const std::string& name = step.graph.value(conv2->inputs[0]).name;
  const auto schema = trace_schema(step);
  const auto src = std::ranges::find(schema, name, &TraceEntry::name);
  ASSERT_NE(src, schema.end());
  ASSERT_EQ(src->dims, (std::vector<int64_t>{3, 16, 8, 8}));
  EXPECT_EQ(src->split, 2);
  // 16 channels of 3 x 3 elements: rows y - 1 .. y + 1 of 8 elements each are at most two tiles wide.
  EXPECT_EQ(tiles_of_terms(*src, 2, 4, 4), 2u);
  EXPECT_EQ(tiles_of_terms(*src, 1, 4, 4), 32u);
}

TEST(TraceSchema, AttentionIsCutBetweenRowsAndColumnsOfItsMatrices) {
  const TextFile text;
  const Job job = example_jobs("ordered-1", text.path()).back();
  const StepGraph step = build_step_graph(job, *data::open_dataset(job.data).value()).value();
  const auto schema = trace_schema(step);
  for (const char* name : {"h0.attn.scores", "h0.attn.mixed", "h1.attn.scores"}) {
    const auto entry = std::ranges::find(schema, name, &TraceEntry::name);
    ASSERT_NE(entry, schema.end()) << name;
    EXPECT_EQ(entry->dims.size(), 4u);
    EXPECT_EQ(entry->split, 3) << name;
  }
}

TEST(TraceSchema, EntriesHaveOneEncoding) {
  const TraceEntry e{Kind::kStatistic, 7, 1, "x#var", DType::kFloat32, {3, 4}, 1};
  EXPECT_EQ(to_hex(trace_entry_bytes(e, 5)).substr(2 * 26),
            "01000000"
            "0500000000000000"
            "04"
            "0700000000000000"
            "0100000000000000"
            "0500000000000000"
            "7823766172"
            "01"
            "0200000000000000"
            "0300000000000000"
            "0400000000000000"
            "01000000");
  std::set<Bytes> all;
  for (int change = 0; change < 8; ++change) {
    TraceEntry other = e;
    if (change == 1) other.kind = Kind::kOutput;
    if (change == 2) other.node = 8;
    if (change == 3) other.place = 0;
    if (change == 4) other.name = "x#sum";
    if (change == 5) other.dtype = DType::kFloat64;
    if (change == 6) other.dims = {4, 3};
    if (change == 7) other.split = 2;
    all.insert(trace_entry_bytes(other, 5));
  }
  all.insert(trace_entry_bytes(e, 6));
  EXPECT_EQ(all.size(), 9u);
}

}  // namespace
}  // namespace isobit::train
