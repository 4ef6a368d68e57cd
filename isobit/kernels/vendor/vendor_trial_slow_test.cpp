// Every core type of every library that is installed passes the trial of large products; what it costs.
#include <gtest/gtest.h>

#include <ctime>

#include "isobit/base/text.h"
#include "isobit/kernels/vendor/child.h"
#include "isobit/kernels/vendor/trial.h"

namespace isobit::kernels {
namespace {

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// In a child each, since a process holds one core type of a library.
TEST(LargeTrial, PassesEveryLibraryThatIsHere) {
  int tried = 0;
  for (const VendorId& id : known_vendors()) {
    const auto result = vendor::run_in_child(
        id.text(),
        [&]() -> Expected<Bytes> {
          ISOBIT_TRY(const auto product, open_vendor(id, {1, "", false}));
          if (!product->has_f64()) return Bytes();
          const double begin = processor_seconds();
          ISOBIT_RETURN_IF_ERROR(vendor::try_large_products(*product));
          const std::string text = text_of(processor_seconds() - begin);
          return Bytes(text.begin(), text.end());
        },
        300);
    if (!result) {
      const std::string& why = result.error().message;
      EXPECT_EQ(why.find("is not classical"), std::string::npos) << why;
      EXPECT_EQ(why.find("error bound"), std::string::npos) << why;
      continue;
    }
    if (result->empty()) continue;
    ++tried;
    std::printf("%-24s %.4s s of processor time\n", id.text().c_str(),
                std::string(result->begin(), result->end()).c_str());
  }
  if (tried == 0) GTEST_SKIP() << "skipped: no vendor library";
}

}  // namespace
}  // namespace isobit::kernels
