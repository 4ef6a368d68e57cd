// Weights of a builder with a library's names: files as that library writes them, whole or of a part of the network.
#include "isobit/run/initial_weights.h"

#include <gtest/gtest.h>

#include <limits>

#include "isobit/formats/safetensors.h"
#include "isobit/run/job_root.h"
#include "isobit/run/network.h"
#include "isobit/run/run_weights.h"
#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using testing::Folder;

class Gpt2Weights : public ::testing::Test {
 protected:
  Gpt2Weights() {
    EXPECT_TRUE(
        write_file_durably(folder_ / "text", as_bytes("some words, then other words, and no more than these.")));
    platform::Engine engine(platform::parse_platform("ordered/1t").value());
    Session session = open_session(job(), engine).value();
    EXPECT_TRUE(session.trainer->advance());  // biases are no zeros any more
    tensors_ = inference_tensors(session.trainer->state());
  }

  train::Job job(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> overrides = {text_of("data.path=\"", (folder_ / "text").string(), "\"")};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return train::parse_job(R"(
[job]
steps = 3
[model]
builder = "gpt2"
layers = 1
heads = 2
channels = 4
positions = 7
[data]
dataset = "text"
context = 5
batch = 2
[optimizer]
lr = 0.1
)",
                            "gpt2", "", overrides)
        .value();
  }

  // "" when the state of a run that begins with them is what was written.
  std::string read_back(const std::vector<NamedTensor>& tensors) {
    EXPECT_TRUE(formats::write_safetensors(folder_ / "w", {tensors, {}}));
    const train::Job next = job({text_of("model.weights=\"", (folder_ / "w").string(), "\"")});
    const auto network = open_network(next, {});
    if (!network) return network.error().message;
    platform::Engine engine(platform::parse_platform("ordered/1t").value());
    const auto session = open_session(next, engine);
    if (!session) return session.error().message;
    const auto begun = inference_tensors(session->trainer->state());
    if (begun.size() != tensors_.size()) return "another number of tensors";
    for (size_t i = 0; i < begun.size(); ++i) {
      if (begun[i].name != tensors_[i].name || !identical(begun[i].tensor, tensors_[i].tensor)) return begun[i].name;
    }
    return "";
  }

  const NamedTensor& named(const std::string& name) const {
    return *std::ranges::find(tensors_, name, &NamedTensor::name);
  }

  Folder folder_{"gpt2_weights"};
  std::vector<NamedTensor> tensors_;
};

TEST_F(Gpt2Weights, OfTheWholeNetworkAndOfOneWithoutAHead) {
  EXPECT_EQ(named("transformer.h.0.attn.c_attn.weight").tensor.shape(), (Shape{4, 12}));
  EXPECT_EQ(named("transformer.wpe.weight").tensor.shape(), (Shape{7, 4}));
  EXPECT_EQ(read_back(tensors_), "");
  std::vector<NamedTensor> headless = tensors_;
  for (NamedTensor& t : headless) t.name = t.name.substr(std::string("transformer.").size());
  EXPECT_EQ(read_back(headless), "");
  headless.push_back(named("transformer.ln_f.bias"));
  EXPECT_NE(read_back(headless).find("has 'transformer.ln_f.bias' twice"), std::string::npos);
}

// Older files hold the mask of each block, and some the tied matrix twice.
TEST_F(Gpt2Weights, ConstantsArePassedOverAndWhatIsTiedMustBeEqual) {
  std::vector<NamedTensor> more = tensors_;
  more.push_back({"transformer.h.0.attn.bias", Tensor::zeros(DType::kUint8, {1, 1, 7, 7})});
  more.push_back({"transformer.h.0.attn.masked_bias", Tensor::scalar(-std::numeric_limits<float>::infinity())});
  more.push_back({"lm_head.weight", named("transformer.wte.weight").tensor});
  EXPECT_EQ(read_back(more), "");
  more.back().tensor = more.back().tensor.clone();
  more.back().tensor.data<float>()[0] += 1;
  const std::string said = read_back(more);
  EXPECT_NE(said.find("'lm_head.weight' is not equal to 'transformer.wte.weight'"), std::string::npos) << said;
  std::erase_if(more, [](const NamedTensor& t) { return t.name == "transformer.wte.weight"; });
  const std::string alone = read_back(more);
  EXPECT_NE(alone.find("missing: 'transformer.wte.weight'"), std::string::npos) << alone;
}

TEST_F(Gpt2Weights, OtherNamesAreStillUnknown) {
  std::vector<NamedTensor> more = tensors_;
  more.push_back({"score.weight", Tensor::zeros(DType::kFloat32, {2, 4})});
  const std::string said = read_back(more);
  EXPECT_NE(said.find("unknown to the network: 'transformer.score.weight'"), std::string::npos) << said;
  more = tensors_;
  std::erase_if(more, [](const NamedTensor& t) { return t.name == "transformer.h.0.ln_1.bias"; });
  EXPECT_NE(read_back(more).find("missing: 'transformer.h.0.ln_1.bias'"), std::string::npos);
}

}  // namespace
}  // namespace isobit::run
