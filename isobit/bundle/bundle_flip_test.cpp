// Every bit of every file of a small bundle, flipped; every file cut to every length. Nothing may be accepted.
#include <gtest/gtest.h>

#include "isobit/bundle/reader.h"
#include "isobit/bundle/testing.h"

namespace isobit::bundle {
namespace {

const OpenOptions kPinned{testing::key_of(testing::kClient).public_key()};

class Flip : public ::testing::TestWithParam<bool> {
 protected:
  Flip() {
    ISOBIT_CHECK(testing::write_run(run_, plan_).has_value());
    files_ = testing::files_of(run_);
  }
  ErrorCode refused() const {
    const auto reader = testing::open_bundle(run_, kPinned, plan_);
    return reader ? ErrorCode{} : reader.error().code;
  }
  const testing::Plan plan_ = testing::plan_of(GetParam());
  testing::TemporaryFolder scratch_;
  fs::path run_ = scratch_ / "run";
  testing::Files files_;
};

INSTANTIATE_TEST_SUITE_P(WithoutAndWithLog, Flip, ::testing::Bool());

TEST_P(Flip, EveryBitOfEveryFile) {
  size_t newer = 0, bits = 0;
  for (const auto& [name, good] : files_) {
    std::string bytes = good;
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit, ++bits) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      testing::put_file(run_ / name, bytes);
      const ErrorCode code = refused();
      ASSERT_NE(code, ErrorCode{}) << name << " bit " << bit;
      // All but one bit of the versions of engagement and signature make a newer version, and that is what is then
      // said.
      newer += code != ErrorCode::kRejected;
      bytes[bit / 8] = good[bit / 8];
    }
    testing::put_file(run_ / name, good);
  }
  EXPECT_EQ(newer, 2u * 31);
  EXPECT_GT(bits, 20000u);
  EXPECT_EQ(refused(), ErrorCode{});
}

TEST_P(Flip, EveryLengthOfEveryFile) {
  for (const auto& [name, good] : files_) {
    for (size_t n = 0; n < good.size(); ++n) {
      testing::put_file(run_ / name, good.substr(0, n));
      ASSERT_EQ(refused(), ErrorCode::kRejected) << name << " cut to " << n;
    }
    testing::put_file(run_ / name, good + '\0');
    ASSERT_EQ(refused(), ErrorCode::kRejected) << name << " lengthened";
    testing::put_file(run_ / name, good);
  }
}

}  // namespace
}  // namespace isobit::bundle
