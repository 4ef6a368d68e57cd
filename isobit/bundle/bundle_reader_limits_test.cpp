// What must be so before the reader takes anything's word for a size.
#include "isobit/bundle/reader_for_test.h"

namespace isobit::bundle {
namespace {

using testing::kPinned;
using testing::Plan;
using testing::put_file;
using testing::put_files;

class ReaderLimits : public testing::ReaderCase {};

INSTANTIATE_TEST_SUITE_P(WithoutAndWithLog, ReaderLimits, ::testing::Bool());

// The header of the transcript is outside the tree: it must be that of the job before it sizes anything.
TEST_P(ReaderLimits, HeaderMustBeThatOfTheJob) {
  std::vector<verify::TranscriptRules> others(5, plan_.rules);
  others[0].steps = 8;
  others[1].steps = verify::kMaxSteps;
  others[2].commit_every = 1;
  others[3].loss_dtype = DType::kFloat64;
  others[4].logged = !plan_.rules.logged;
  for (const auto& rules : others) {
    const Bytes header = transcript_header(rules);
    put_file(run_ / "transcript",
             std::string(header.begin(), header.end()) + files_.at("transcript").substr(header.size()));
    resign();
    const auto reader = open();
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().code, ErrorCode::kRejected);
    EXPECT_NE(reader.error().message.find("the job says"), std::string::npos) << reader.error().message;
    fs::remove(run_ / "manifest.json");
    EXPECT_EQ(code(), ErrorCode::kRejected) << "neither in an unfinished run";
    put_files(run_, files_);
  }
  Plan longer = plan_;
  longer.rules.steps = 9;
  EXPECT_EQ(testing::open_bundle(run_, kPinned, longer).error().code, ErrorCode::kRejected);
}

// Sizes are looked at before bytes are: sparse files, which take no space, would take hours and memory.
TEST_P(ReaderLimits, LargerThanTheJobImpliesIsNotRead) {
  std::vector<std::string> names = {"transcript",
                                    "heads",
                                    "job.toml",
                                    "engagement",
                                    "checkpoints/step-7.safetensors",
                                    "checkpoints/step-6.safetensors",
                                    "manifest.json",
                                    "manifest.sig"};
  if (GetParam()) names.push_back("log/segments");
  for (const std::string& name : names) {
    for (uint64_t size : {uint64_t{1} << 21, uint64_t{1} << 40}) {
      std::error_code error;
      fs::resize_file(run_ / name, size, error);
      if (error) continue;  // this file system has none as large
      if (!name.starts_with("manifest")) sign_for(name, {size, {}});
      EXPECT_EQ(code(), ErrorCode::kRejected) << name;
      put_files(run_, files_);
    }
  }
  EXPECT_TRUE(open());
}

TEST_P(ReaderLimits, UnsignedManifestIsNotParsed) {
  // Deep, wide and endless texts: whoever wrote them has not signed them.
  for (const std::string& text : {std::string(1 << 20, '['), std::string(1 << 20, '{'), std::string("{}")}) {
    put_file(run_ / "manifest.json", text);
    const auto reader = open();
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().code, ErrorCode::kRejected);
    EXPECT_NE(reader.error().message.find("is not valid for this manifest"), std::string::npos);
    sign(text);
    EXPECT_EQ(code(), ErrorCode::kRejected) << "signed it is no manifest either";
  }
}

TEST_P(ReaderLimits, CheckpointIsCheckedAgainWhenRead) {
  const auto reader = open();
  ASSERT_TRUE(reader);
  put_file(run_ / "checkpoints" / "step-6.safetensors", "something else");
  EXPECT_EQ(testing::contents(reader->open_checkpoint(6)).error().code, ErrorCode::kRejected);
  // Grown in place since, it would take the memory of what it is now.
  std::error_code error;
  for (uint64_t size : {uint64_t{1} << 34, uint64_t{1} << 40}) {
    fs::resize_file(run_ / "checkpoints" / "step-7.safetensors", size, error);
    if (error) continue;  // this file system has none as large
    const auto grown = testing::contents(reader->open_checkpoint(7));
    ASSERT_FALSE(grown);
    EXPECT_EQ(grown.error().code, ErrorCode::kRejected);
    EXPECT_NE(grown.error().message.find("more than the"), std::string::npos) << grown.error().message;
  }
}

}  // namespace
}  // namespace isobit::bundle
