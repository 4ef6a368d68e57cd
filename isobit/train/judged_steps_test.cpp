// Elements of whole training steps judged alone: every node, output and statistic of a step of each builder, with every
// optimizer, as the executor computed them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <set>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/judge/judge.h"
#include "isobit/train/trainer.h"

namespace isobit::train {
namespace {

// Every value of a step, and every statistic, as copies.
class Keeper : public runtime::Observer {
 public:
  bool wants_statistics() const override { return true; }
  Status before_stage(const runtime::NodeRun& run) override {
    keep_operands(run);
    for (const Tensor& t : run.statistics) statistics[run.index].push_back(t.clone());
    for (size_t o = 0; o < run.outputs.size(); ++o) {
      if (run.outputs[o].defined()) before[run.node.outputs[o]] = run.outputs[o].clone();
    }
    return {};
  }
  Status after_stage(const runtime::NodeRun& run) override {
    keep_operands(run);
    for (size_t o = 0; o < run.outputs.size(); ++o) {
      if (run.outputs[o].defined()) values[run.node.outputs[o]] = run.outputs[o].clone();
    }
    return {};
  }

  std::map<graph::ValueId, Tensor> values, before;  // behind a stage, and before it
  std::map<size_t, std::vector<Tensor>> statistics;

 private:
  // What was fed is seen where it is first used, unless that overwrites it: the state, which is known.
  void keep_operands(const runtime::NodeRun& run) {
    for (size_t i = 0; i < run.inputs.size(); ++i) {
      const graph::ValueId id = run.node.inputs[i];
      if (run.input(i) != nullptr && !values.contains(id)) values[id] = run.input(i)->clone();
    }
  }
};

struct Judgement {
  int64_t elements = 0, most_needs = 0;
  std::set<std::string> operators;
};

class JudgedSteps : public ::testing::Test {
 protected:
  static Job job_of(const std::string& model, const std::string& data, const std::string& optimizer,
                    const std::string& arithmetic) {
    return parse_job(text_of("[job]\nseed = 5\nsteps = 4\narithmetic = \"", arithmetic, "\"\n[model]\n", model,
                             "\n[data]\n", data, "\n[optimizer]\n", optimizer, "\n"),
                     "test", "")
        .value();
  }

  // The second step, whose momentum is not zero.
  static Judgement judge_a_step(const Job& job) {
    platform::Engine engine(platform::parse_platform("ordered/2t").value());
    const std::shared_ptr<const data::Dataset> dataset = data::open_dataset(job.data).value();
    auto trainer = Trainer::create(job, dataset, engine).value();
    EXPECT_TRUE(trainer->advance());
    Keeper kept;
    const StepGraph& step = trainer->step_graph();
    for (size_t i = 0; i < step.slots.size(); ++i) kept.values[step.slots[i].in] = trainer->state()[i].tensor.clone();
    EXPECT_TRUE(trainer->advance({.observer = &kept}));
    Judgement all;
    for (size_t n = 0; n < step.graph.nodes().size(); ++n) judge_node(job, step.graph, n, kept, all);
    return all;
  }

  static const Tensor* operand(const graph::Graph& graph, const Keeper& kept, graph::ValueId id) {
    if (id == graph::kNoValue) return nullptr;
    if (const Tensor* constant = graph.initializer(id)) return constant;
    return &kept.values.at(id);
  }

  static void judge_node(const Job& job, const graph::Graph& graph, size_t n, const Keeper& kept, Judgement& all) {
    const graph::Node& node = graph.nodes()[n];
    SCOPED_TRACE(text_of(node.op, " '", node.name, "'"));
    judge::Question q = judge::ask_about(graph, node, [&](int i) {
                          return operand(graph, kept, node.inputs[static_cast<size_t>(i)]);
                        }).value();
    all.operators.insert(node.op);
    const auto found = kept.statistics.find(n);
    const std::vector<Tensor> statistics = found == kept.statistics.end() ? std::vector<Tensor>{} : found->second;
    const auto expect = [&](const Tensor& expected) {
      for (const int64_t e : {int64_t{0}, expected.elements() / 2, expected.elements() - 1}) {
        q.where.element = e;
        const auto needs = judge::needs_of(q);
        ASSERT_TRUE(needs) << needs.error().message;
        std::vector<judge::Bits> values;
        for (const graph::ElementSource& s : *needs) {
          const auto i = static_cast<size_t>(s.input);
          values.push_back(
              judge::bits_of(s.of_statistic ? statistics[i] : *operand(graph, kept, node.inputs[i]), s.element));
        }
        ThreadPool pool(1);
        const kernels::KernelContext ctx{kernels::Isa::kReference, &pool};
        const auto bits = judge::evaluate(ctx, q, values, arithmetic_of(job));
        ASSERT_TRUE(bits) << bits.error().message;
        EXPECT_EQ(*bits, judge::bits_of(expected, e)) << e << " of " << needs->size() << " needs";
        ++all.elements;
        all.most_needs = std::max(all.most_needs, static_cast<int64_t>(needs->size()));
      }
    };
    for (size_t s = 0; s < statistics.size(); ++s) {
      q.where.statistic = s;
      expect(statistics[s]);
    }
    q.where.statistic.reset();
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o] == graph::kNoValue) continue;
      q.where.output = o;
      expect(kept.values.at(node.outputs[o]));
    }
  }
};

constexpr char kDigits[] = "dataset = \"digits\"\nbatch = 16";
constexpr char kPlain[] = "lr = 0.1";
constexpr char kMomentum[] = "lr = 0.1\nmomentum = 0.9\nnesterov = true\nweight_decay = 1e-3\nclip_norm = 0.5";
constexpr char kAdam[] = "name = \"adam\"\nlr = 0.01\nweight_decay = 0.1";
constexpr char kAdamW[] = "name = \"adamw\"\nlr = 0.01\nweight_decay = 0.1\nclip_norm = 1.0";

TEST_F(JudgedSteps, OfNetworksOfImages) {
  for (const char* arithmetic : {"ordered-1", "correct-1"}) {
    for (const char* optimizer : {kPlain, kMomentum, kAdam, kAdamW}) {
      SCOPED_TRACE(text_of(arithmetic, " ", optimizer));
      for (const char* model : {"builder = \"logistic\"", "builder = \"mnist-cnn\"", "builder = \"digits-cnn\"",
                                "builder = \"resnet\"\nwidth = 4\nblocks = 1",
                                "builder = \"resnet\"\nwidth = 4\nblocks = 1\nrunning_variance = \"unbiased\""}) {
        SCOPED_TRACE(model);
        const Judgement all = judge_a_step(job_of(model, kDigits, optimizer, arithmetic));
        EXPECT_GT(all.elements, 30);
      }
    }
  }
}

TEST_F(JudgedSteps, OfGpt) {
  const fs::path path = fs::temp_directory_path() / text_of("isobit_judged_steps_", ::getpid());
  Bytes bytes(4000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i / 7);
  ASSERT_TRUE(write_file_durably(path, bytes));
  const std::string data = text_of("dataset = \"text\"\npath = \"", path.string(), "\"\ncontext = 8\nbatch = 4");
  const std::string model = "builder = \"gpt\"\nlayers = 1\nheads = 2\nchannels = 16\ndropout = 0.1";
  for (const char* arithmetic : {"ordered-1", "correct-1"}) {
    for (const std::string& more : {std::string(), std::string("\nmicro_batches = 2")}) {
      for (const char* optimizer : {kMomentum, kAdamW}) {
        SCOPED_TRACE(text_of(arithmetic, " ", optimizer, more));
        const Judgement all = judge_a_step(job_of(model, data + more, optimizer, arithmetic));
        EXPECT_GT(all.elements, 100);
      }
    }
  }
  fs::remove(path);
}

}  // namespace
}  // namespace isobit::train
