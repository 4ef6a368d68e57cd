// Elements of whole training steps judged alone: every node, output and statistic of a step of each builder, with every
// optimizer, as the executor computed them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <set>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/judge/logged.h"
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
    return {};
  }
  Status after_stage(const runtime::NodeRun& run) override {
    keep_operands(run);
    for (size_t o = 0; o < run.outputs.size(); ++o) {
      if (run.outputs[o].defined()) values[run.node.outputs[o]] = run.outputs[o].clone();
    }
    return {};
  }

  std::map<graph::ValueId, Tensor> values;
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
  int64_t elements = 0;
  size_t most_needs = 0;
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

  // The bits of an element of an operand or of a statistic.
  using ValueOf = std::function<judge::Bits(const graph::ElementSource&)>;

  static std::vector<judge::Bits> values_of(const std::vector<graph::ElementSource>& needs, const ValueOf& value_of) {
    std::vector<judge::Bits> values;
    for (const graph::ElementSource& s : needs) values.push_back(value_of(s));
    return values;
  }

  // What is the same on every platform. How many needs it has.
  static size_t expect_bits(const Job& job, const judge::Question& q, const ValueOf& value_of, judge::Bits expected) {
    ThreadPool pool(1);
    const kernels::KernelContext ctx{kernels::Isa::kReference, &pool};
    const auto needs = judge::needs_of(q);
    EXPECT_TRUE(needs) << needs.error().message;
    if (!needs) return 0;
    const auto bits = judge::evaluate(ctx, q, values_of(*needs, value_of), arithmetic_of(job));
    EXPECT_TRUE(bits) << bits.error().message;
    if (!bits) return 0;
    EXPECT_EQ(arithmetic_of(job).rounds ? judge::rounded(q, *bits, job.rounding.bits) : *bits, expected)
        << q.where.element << " of " << needs->size() << " needs";
    return needs->size();
  }

  // What the trainer published of an inner product is legal.
  static size_t expect_legal(const Job& job, const judge::Question& q, const ValueOf& value_of, judge::Bits claimed) {
    const judge::LoggedProduct product = judge::LoggedProduct::of(q).value();
    judge::State state = product.begin();
    size_t needs = 0;
    for (int64_t c = 0; c < product.chunks(); ++c) {
      const std::vector<judge::Bits> values = values_of(product.needs(c), value_of);
      needs += values.size();
      state = product.partial(c, values, state).value();
    }
    const std::vector<judge::Bits> once = values_of(product.once(), value_of);
    const judge::ExactElement element = product.finish(once, state, job.rounding.bits).value();
    const runtime::ErrorBounds bounds{32, runtime::sound_divergence(product.terms())};
    EXPECT_TRUE(judge::rule_on_claim(element, claimed, bounds, job.rounding.bits).taken()) << q.where.element;
    return needs + once.size();
  }

  static void judge_node(const Job& job, const graph::Graph& graph, size_t n, const Keeper& kept, Judgement& all) {
    const graph::Node& node = graph.nodes()[n];
    SCOPED_TRACE(text_of(node.op, " '", node.name, "'"));
    const auto operand_at = [&](int i) { return operand(graph, kept, node.inputs[static_cast<size_t>(i)]); };
    judge::Question q = judge::ask_about(graph, node, operand_at).value();
    all.operators.insert(node.op);
    const auto found = kept.statistics.find(n);
    const std::vector<Tensor> statistics = found == kept.statistics.end() ? std::vector<Tensor>{} : found->second;
    const ValueOf value_of = [&](const graph::ElementSource& s) {
      return judge::bits_of(s.of_statistic ? statistics[static_cast<size_t>(s.input)] : *operand_at(s.input),
                            s.element);
    };
    const bool has_rule = arithmetic_of(job).rounds && q.def().is_inner_product();
    const auto expect = [&](const Tensor& expected) {
      for (const int64_t e : {int64_t{0}, expected.elements() / 2, expected.elements() - 1}) {
        q.where.element = e;
        const judge::Bits bits = judge::bits_of(expected, e);
        const size_t needs = has_rule ? expect_legal(job, q, value_of, bits) : expect_bits(job, q, value_of, bits);
        ++all.elements;
        all.most_needs = std::max(all.most_needs, needs);
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
  for (const char* arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
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
  for (const char* arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
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
