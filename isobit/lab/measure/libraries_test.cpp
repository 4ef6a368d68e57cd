// Records of libraries, and what is here now.
#include "isobit/lab/measure/libraries.h"

#include <gtest/gtest.h>

#include "isobit/kernels/vendor/vendor.h"

namespace isobit::lab::measure {
namespace {

records::PlatformRecord record_of(const std::string& version, const std::string& core) {
  records::PlatformRecord record;
  record.fields = {{"library", version}, {"core", core}};
  return record;
}

TEST(Libraries, ARecordOfAnotherVersionIsNotOfWhatIsHere) {
  const Target target{kOwnEngine, "float32", "openblas/1t", 1, "1"};
  Libraries libraries;
  libraries.learn(target, record_of("OpenBLAS 0.3.21", "Haswell"));
  EXPECT_TRUE(libraries.is_here(target, record_of("OpenBLAS 0.3.21", "Haswell")));
  EXPECT_FALSE(libraries.is_here(target, record_of("OpenBLAS 0.3.22", "Haswell")));
  EXPECT_FALSE(libraries.is_here(target, record_of("OpenBLAS 0.3.21", "Zen")));
  // What names no library is compared by other things.
  EXPECT_TRUE(libraries.is_here(target, {}));
  const Target engine{"numpy", "", "numpy/1t", 1, "1"};
  EXPECT_TRUE(libraries.is_here(engine, record_of("another", "")));
}

TEST(Libraries, TheLibraryIsAsked) {
  const kernels::VendorId id{"openblas", ""};
  if (!kernels::vendor_installed(id.library)) GTEST_SKIP() << "skipped: no OpenBLAS";
  const auto probe = kernels::probe_vendor(id);
  ASSERT_TRUE(probe) << probe.error().message;
  const Target target{kOwnEngine, "float32", "openblas/1t", 1, "1"};
  Libraries libraries;
  EXPECT_TRUE(libraries.is_here(target, record_of(probe->record.version, probe->record.core)));
  EXPECT_FALSE(libraries.is_here(target, record_of(probe->record.version + " of tomorrow", probe->record.core)));
}

}  // namespace
}  // namespace isobit::lab::measure
