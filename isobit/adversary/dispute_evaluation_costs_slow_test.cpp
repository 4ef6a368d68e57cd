// What a dispute about an evaluation costs its referee, of networks of the sizes that are shipped: bytes are counted
// here; with ISOBIT_TEST_RECORDS_OUT, a folder, the records and jobs are written there, of which scripts/referee_costs
// --evaluations measures the time and memory that judging them takes.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "isobit/adversary/simulator/world_for_test.h"
#include "isobit/base/text.h"
#include "isobit/dispute/shown_tensor.h"
#include "isobit/formats/npy.h"
#include "isobit/train/metrics.h"

namespace isobit::adversary::simulator {
namespace {

struct Shipped {
  const char* name;
  const char* model;
  std::vector<int64_t> sample;  // its shape; of a text none
  int64_t classes = 0;
};

class EvaluationCosts : public ::testing::TestWithParam<Shipped> {
 protected:
  std::string toml(const Shipped& shipped, const std::string& arithmetic) {
    std::string data;
    if (shipped.sample.empty()) {
      const fs::path text = folder_ / "text";
      std::string words;
      for (int i = 0; i < 400; ++i) words += text_of("line ", i * i, " of a text\n");
      EXPECT_TRUE(write_file_durably(text, as_bytes(words)));
      data = text_of("dataset = \"text\"\ncontext = 64\npath = \"", text.string(), "\"\n");
    } else {
      std::vector<int64_t> dims = {4};
      dims.insert(dims.end(), shipped.sample.begin(), shipped.sample.end());
      Tensor inputs(DType::kFloat32, Shape(dims)), labels(DType::kInt64, {4});
      for (int64_t i = 0; i < inputs.elements(); ++i) inputs.data<float>()[i] = static_cast<float>(i * 37 % 61) / 61;
      for (int64_t i = 0; i < 4; ++i) labels.data<int64_t>()[i] = shipped.classes - 1 - i;
      fs::create_directories(folder_ / "data");
      for (const char* set : {"", "test_"}) {
        EXPECT_TRUE(formats::write_npy(folder_ / text_of("data/", set, "inputs.npy"), inputs));
        EXPECT_TRUE(formats::write_npy(folder_ / text_of("data/", set, "labels.npy"), labels));
      }
      data = text_of("dataset = \"npy\"\npath = \"", (folder_ / "data/").string(), "\"\n");
    }
    return text_of("[job]\nname = \"", shipped.name, "\"\nseed = 1\nsteps = 1\narithmetic = \"", arithmetic,
                   "\"\n[model]\n", shipped.model, "[data]\nbatch = 2\n", data,
                   "[optimizer]\nlr = 0.01\n[evaluate]\nsamples = 4\n");
  }

  run::testing::Folder folder_{"evaluation_costs"};
};

struct Most {
  uint64_t disputes = 0, bytes = 0, list_bytes = 0;
};

void settle_one(Material& material, const Lie& lie, const std::string& where, Most& most) {
  const Settled settled = settle(material, {lie, Lie{}});
  EXPECT_EQ(settled.verdict.outcome, dispute::Outcome::kTrainerWrong) << where << ": " << settled.verdict.reason;
  const uint64_t beyond = settled.counts.bytes - settled.counts.list_bytes;
  EXPECT_LT(beyond, 1'000'000U) << where;
  ++most.disputes;
  most.bytes = std::max(most.bytes, beyond);
  most.list_bytes = std::max(most.list_bytes, settled.counts.list_bytes);
  const char* out = std::getenv("ISOBIT_TEST_RECORDS_OUT");
  if (out == nullptr) return;
  ISOBIT_CHECK(write_file_durably(fs::path(out) / (where + ".dispute"), encode(settled.record)).has_value());
}

// The largest value that nodes of each operator make, and the largest that is fed.
std::map<std::string, uint64_t> largest_by_operator(dispute::Witness& scored) {
  const auto& schema = scored.schema();
  std::map<std::string, uint64_t> largest;
  for (uint64_t i = 0; i < schema.size(); ++i) {
    std::string op = "fed";
    if (schema[i].node >= 0) op = scored.graph().nodes()[static_cast<size_t>(schema[i].node)].op;
    const auto [at, is_new] = largest.try_emplace(op, i);
    if (Shape(schema[i].dims).elements() > Shape(schema[at->second].dims).elements()) at->second = i;
  }
  return largest;
}

TEST_P(EvaluationCosts, StayWithinWhatARefereeIsToNeed) {
  const Shipped& shipped = GetParam();
  for (const std::string arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
    const std::string text = toml(shipped, arithmetic), name = text_of(shipped.name, " ", arithmetic);
    const train::Job job = train::parse_job(text, shipped.name, "").value();
    const std::unique_ptr<Material> made = Material::of_job(job);
    Material& material = *made;
    if (const char* out = std::getenv("ISOBIT_TEST_RECORDS_OUT")) {
      ISOBIT_CHECK(write_file_durably(fs::path(out) / (name + ".toml"), as_bytes(text)).has_value());
    }
    Most most;
    constexpr uint64_t kSample = 2;
    dispute::Witness& scored = *material.honest().scored(kSample).value();
    for (const auto& [op, entry] : largest_by_operator(scored)) {
      const int64_t elements = Shape(scored.schema()[entry].dims).elements();
      settle_one(material, lie_about_sample(material, kSample, 0, std::pair(entry, elements - 1)),
                 text_of(name, " ", op), most);
    }
    for (size_t metric = 0; metric < train::metric_names(job.loss).size(); ++metric) {
      settle_one(material, lie_about_sample(material, kSample, metric, std::nullopt),
                 text_of(name, " ", train::metric_names(job.loss)[metric]), most);
    }
    std::printf("%s: %llu disputes, at most %llu bytes in lists and %llu beyond them\n", name.c_str(),
                static_cast<unsigned long long>(most.disputes), static_cast<unsigned long long>(most.list_bytes),
                static_cast<unsigned long long>(most.bytes));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, EvaluationCosts,
    ::testing::Values(Shipped{"digits", "builder = \"digits-cnn\"\n", {1, 8, 8}, 10},
                      Shipped{"mnist", "builder = \"mnist-cnn\"\n", {1, 28, 28}, 10},
                      Shipped{"cifar10-resnet", "builder = \"resnet\"\nwidth = 16\n", {3, 32, 32}, 10},
                      Shipped{"cifar10-resnet18", "builder = \"resnet18\"\nform = \"small\"\n", {3, 32, 32}, 10},
                      Shipped{"cifar10-vgg11", "builder = \"vgg11-bn\"\nform = \"small\"\n", {3, 32, 32}, 10},
                      Shipped{
                          "imagenet-resnet50", "builder = \"resnet50\"\nform = \"imagenet\"\n", {3, 224, 224}, 1000},
                      Shipped{"tiny-gpt", "builder = \"gpt\"\nlayers = 2\nheads = 4\nchannels = 64\n", {}},
                      Shipped{"gpt-85m", "builder = \"gpt\"\nlayers = 12\nheads = 12\nchannels = 768\n", {}},
                      Shipped{"classes-50257", "builder = \"logistic\"\n", {16}, 50257}),
    [](const auto& tested) {
      std::string name = tested.param.name;
      std::ranges::replace(name, '-', '_');
      return name;
    });

}  // namespace
}  // namespace isobit::adversary::simulator
