// The list of algorithms, and what a run on a platform with one of them says of each convolution.
#include "isobit/lab/convolutions.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "isobit/lab/inference.h"
#include "isobit/onnx/model_for_test.h"

namespace isobit::lab {
namespace {

TEST(ConvolutionAlgorithms, HaveADigestEachOrSayWhyNot) {
  std::set<std::string> digests;
  size_t with_digest = 0;
  for (const ConvolutionAlgorithm& a : convolution_algorithms()) {
    EXPECT_FALSE(a.words.empty() || a.applies.empty()) << a.name;
    if (a.name == "autotune") {
      EXPECT_TRUE(a.digest.empty() && a.error.empty());
      continue;
    }
    EXPECT_NE(a.digest.empty(), a.error.empty()) << a.name;
    EXPECT_TRUE(a.error.empty() || a.name == "fft") << a.name << ": " << a.error;
    with_digest += !a.digest.empty();
    if (!a.digest.empty()) digests.insert(a.digest);
  }
  EXPECT_GE(with_digest, 7u);
  EXPECT_EQ(digests.size(), with_digest) << "all have other bits";
  const auto again = convolution_algorithms();
  EXPECT_EQ(again.front().digest, convolution_algorithms().front().digest);
}

class Chosen : public ::testing::Test {
 protected:
  Chosen() : folder_(fs::temp_directory_path() / ("isobit_chosen_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    request_.model = folder_ / "m.onnx";
    request_.arithmetic = "float32";
    onnx::ModelForTest model;
    model.input("x", {1, 2, 6, 6});
    model.initializer("w", onnx::floats({2, 2, 3, 3}, std::vector<float>(36, 0.1f)));
    model.initializer("p", onnx::floats({3, 2, 1, 1}, std::vector<float>(6, 0.2f)));
    model.node("Conv", {"x", "w"}, {"h"});
    model.node("Relu", {"h"}, {"r"});
    model.node("Conv", {"r", "p"}, {"y"});
    model.output("y");
    model.write(request_.model);
  }
  ~Chosen() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::vector<ChosenKernel> on(platform::Engine& engine) {
    const auto done = infer(request_, engine);
    EXPECT_TRUE(done) << done.error().message;
    return done ? done->chosen : std::vector<ChosenKernel>();
  }

  fs::path folder_;
  InferenceRequest request_;
};

TEST_F(Chosen, IsSaidOfEachConvolutionInTheOrderOfExecution) {
  platform::Engine engine(platform::parse_platform("ordered/1t+winograd2").value());
  request_.repeat = 2;
  const std::vector<ChosenKernel> chosen = on(engine);
  ASSERT_EQ(chosen.size(), 2u) << "of the first run";
  EXPECT_EQ(chosen[0].kernel, "winograd2");
  EXPECT_EQ(chosen[0].why, "");
  EXPECT_EQ(chosen[0].src, "[1, 2, 6, 6]");
  EXPECT_EQ(chosen[0].weights, "[2, 2, 3, 3]");
  EXPECT_EQ(chosen[1].kernel, "own");
  EXPECT_EQ(chosen[1].why, "winograd2: it has 3 x 3 taps only, not 1 x 1");
}

TEST_F(Chosen, IsTheRacesWinner) {
  double now = 0;
  int asked = 0;
  // In the first race the second candidate is the fastest, in all others the first.
  platform::Engine engine(platform::parse_platform("ordered/1t+autotune").value(), platform::Clock([&] {
                            if (asked++ % 2 == 1) now += asked == 4 ? 0.5 : 1;
                            return now;
                          }));
  const std::vector<ChosenKernel> chosen = on(engine);
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0].kernel, "direct");
  EXPECT_EQ(chosen[1].kernel, "own");
  EXPECT_TRUE(chosen[0].why.starts_with("fastest of ")) << chosen[0].why;
}

TEST_F(Chosen, IsEmptyWherePlatformsHaveOneAlgorithm) {
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  EXPECT_TRUE(on(engine).empty());
}

}  // namespace
}  // namespace isobit::lab
