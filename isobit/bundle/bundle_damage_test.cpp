// Bits that flip on the disk under an unfinished run: what is lost is computed again, or the run is refused. It never
// ends as another run than the one that was signed for.
#include <gtest/gtest.h>

#include "isobit/bundle/checkpoint_index.h"
#include "isobit/bundle/record_file.h"
#include "isobit/bundle/testing.h"

namespace isobit::bundle {
namespace {

using testing::Files;
using testing::files_of;
using testing::Plan;
using testing::put_file;
using testing::put_files;

class Damage : public ::testing::TestWithParam<bool> {
 protected:
  Damage() {
    ISOBIT_CHECK(testing::write_run(scratch_ / "whole", plan_).has_value());
    whole_ = files_of(scratch_ / "whole");
    auto writer = testing::create(run_, plan_);
    ISOBIT_CHECK(writer.has_value() && testing::drive(*writer, plan_, 7).has_value());  // after step 6
    writer = usage_error("closed");
    begun_ = files_of(run_);
  }
  std::string flipped(const std::string& name, size_t bit) const {
    std::string bytes = begun_.at(name);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    return bytes;
  }
  // Puts the damaged file into the run and resumes. True when the run then ends as it should; a run that ends otherwise
  // fails the test.
  bool resumes(const std::string& name, const std::string& bytes, const Plan& plan) {
    put_files(run_, begun_);
    put_file(run_ / name, bytes);
    const Status status = testing::resume_run(run_, plan);
    if (!status) {
      EXPECT_EQ(run_state(run_), RunState::kUnfinished);
      return false;
    }
    EXPECT_TRUE(testing::open_bundle(run_, {}, plan_)) << name;
    EXPECT_EQ(files_of(run_).at("transcript"), whole_.at("transcript")) << name;
    EXPECT_EQ(files_of(run_).at("checkpoints/step-7.safetensors"), whole_.at("checkpoints/step-7.safetensors"));
    return true;
  }

  const Plan plan_ = testing::plan_of(GetParam());
  testing::TemporaryFolder scratch_;
  fs::path run_ = scratch_ / "run";
  Files whole_, begun_;
};

INSTANTIATE_TEST_SUITE_P(WithoutAndWithLog, Damage, ::testing::Bool());

TEST_P(Damage, OfCheckpointsAndTheirIndexIsAlwaysMended) {
  for (const char* name : {"checkpoints/step-4.safetensors", "checkpoints/step-6.safetensors", "checkpoints/index"}) {
    for (size_t bit = 0; bit < begun_.at(name).size() * 8; bit += 13) {
      EXPECT_TRUE(resumes(name, flipped(name, bit), plan_)) << name << " bit " << bit;
    }
    for (size_t n = 0; n < begun_.at(name).size(); n += 7) {
      EXPECT_TRUE(resumes(name, begun_.at(name).substr(0, n), plan_)) << name << " cut to " << n;
    }
  }
}

TEST_P(Damage, OfLeavesHeadsAndSegmentsIsMendedFromAnOlderState) {
  std::map<std::string, size_t> headers = {{"transcript", transcript_header(plan_.rules).size()},
                                           {"heads", heads_header().size()}};
  if (GetParam()) headers["log/segments"] = log_header().size();
  for (const auto& [name, header] : headers) {
    for (size_t bit = header * 8; bit < begun_.at(name).size() * 8; bit += 61) {
      EXPECT_TRUE(resumes(name, flipped(name, bit), plan_)) << name << " bit " << bit;
    }
    for (size_t n = header; n < begun_.at(name).size(); n += 17) {
      EXPECT_TRUE(resumes(name, begun_.at(name).substr(0, n), plan_)) << name << " cut to " << n;
    }
    // Without its beginning nobody knows what it is.
    for (size_t bit = 0; bit < header * 8; bit += 7) {
      EXPECT_FALSE(resumes(name, flipped(name, bit), plan_)) << name << " bit " << bit;
    }
  }
}

// What is computed again must lead to the heads that were signed: else this trainer would sign a second history.
TEST_P(Damage, AMachineThatComputesOtherwiseIsRefused) {
  Plan other = plan_;
  other.cheat.wrong_loss_at = 3;
  const size_t header = transcript_header(plan_.rules).size();
  EXPECT_FALSE(resumes("transcript", begun_.at("transcript").substr(0, header + 200), other));
  EXPECT_EQ(files_of(run_).at("heads"), begun_.at("heads")) << "nothing was signed";
  if (!GetParam()) return;
  EXPECT_FALSE(resumes("log/segments", begun_.at("log/segments").substr(0, log_header().size() + 20), other));
  EXPECT_EQ(files_of(run_).at("heads"), begun_.at("heads"));
}

TEST_P(Damage, OfTermsAndJob) {
  for (size_t bit = 0; bit < begun_.at("engagement").size() * 8; bit += 31) {
    EXPECT_FALSE(resumes("engagement", flipped("engagement", bit), plan_)) << bit;
  }
}

// The disk may change a file while the run goes on: what is signed for at the end is read once more.
TEST_P(Damage, IsNoticedBeforeTheManifestIsSigned) {
  std::vector<std::string> names = {"job.toml",
                                    "engagement",
                                    "transcript",
                                    "heads",
                                    "checkpoints/step-6.safetensors",
                                    "checkpoints/step-7.safetensors"};
  if (GetParam()) names.push_back("log/segments");
  const uint64_t final_leaf = plan_.rules.leaves() - 1;
  for (const std::string& name : names) {
    for (const bool gone : {false, true}) {
      put_files(run_, begun_);
      {
        auto writer = BundleWriter::resume(run_, testing::key_of(testing::kTrainer));
        ASSERT_TRUE(writer && writer->continue_from(6) && testing::drive(*writer, plan_, final_leaf));
        ASSERT_TRUE(writer->append(testing::leaves_of(plan_)[final_leaf]));
        ASSERT_TRUE(testing::write_checkpoint(*writer, 7, testing::fake_checkpoint(7), plan_.keep));
        std::string bytes = files_of(run_).at(name);
        bytes[bytes.size() - 9] = static_cast<char>(bytes[bytes.size() - 9] ^ 4);
        put_file(run_ / name, bytes);
        if (gone) fs::remove(run_ / name);
        const Status status = writer->finish({});
        ASSERT_FALSE(status) << name;
        EXPECT_EQ(status.error().code, ErrorCode::kUnavailable) << status.error().message;
        EXPECT_NE(status.error().message.find(name), std::string::npos) << status.error().message;
        if (!gone) {
          EXPECT_EQ(run_state(run_), RunState::kUnfinished);
        }
        EXPECT_NE(run_state(run_), RunState::kFinished);
        EXPECT_FALSE(fs::exists(run_ / kManifestSignatureFile));
      }
      if (gone || name == "job.toml" || name == "engagement")
        continue;  // refused, or another job's: not for a bundle to say
      const Status again = testing::resume_run(run_, plan_);
      ASSERT_TRUE(again) << name << ": " << again.error().message;
      EXPECT_TRUE(testing::open_bundle(run_, {}, plan_)) << name;
    }
  }
}

TEST(CheckpointIndex, RoundTripsAndLosesOnlyWhatIsDamaged) {
  CheckpointIndex index;
  for (uint64_t step : {2, 4, 900}) {
    index[step] = {entry_of(testing::fake_checkpoint(step)), testing::fake_state_root(step)};
  }
  const Bytes good = encode(index);
  EXPECT_EQ(decode_checkpoint_index(good), index);
  const size_t header = encode(CheckpointIndex{}).size();
  EXPECT_EQ(good.size(), header + 3 * 88);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const CheckpointIndex left = decode_checkpoint_index(bad);
    EXPECT_EQ(left.size(), bit / 8 < header ? 0u : 2u) << bit;
    for (const auto& [step, record] : left) EXPECT_EQ(record, index.at(step));
  }
  for (size_t n = 0; n < good.size(); ++n) {
    EXPECT_EQ(decode_checkpoint_index(ByteView(good).first(n)).size(), n < header ? 0 : (n - header) / 88);
  }
}

}  // namespace
}  // namespace isobit::bundle
