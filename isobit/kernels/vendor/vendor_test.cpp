// Every installed library against a naive double loop; core types that are refused; fingerprints. A process holds one
// core type of a library, so whatever opens one runs in a child of the test.
#include "isobit/kernels/vendor/vendor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <set>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "isobit/base/fp_env.h"
#include "isobit/base/text.h"
#include "isobit/kernels/vendor/child.h"
#include "isobit/kernels/vendor/each_library_for_test.h"
#include "isobit/kernels/vendor/trial.h"

namespace isobit::kernels {
namespace {

constexpr int kLimit = 120;

// Where to find a library that is not in the usual places: ISOBIT_VENDORS="mkl=/path/libmkl_rt.so.3:blis=/path".
std::string path_of(const std::string& library) {
  const char* given = std::getenv("ISOBIT_VENDORS");
  const std::string all = given ? text_of(":", given, ":") : "";
  const size_t at = all.find(":" + library + "=");
  if (at == std::string::npos) return "";
  const size_t start = at + library.size() + 2;
  return all.substr(start, all.find(':', start) - start);
}
bool installed(const std::string& library) { return vendor_installed(library) || !path_of(library).empty(); }

// Runs `body` in a child, where it may open what it likes; an empty text means that all was well.
std::string in_child(const std::function<std::string()>& body) {
  const auto result = vendor::run_in_child(
      "test",
      [&]() -> Expected<Bytes> {
        const std::string text = body();
        return Bytes(text.begin(), text.end());
      },
      kLimit);
  return result ? std::string(result->begin(), result->end()) : result.error().message;
}

// "" or what is wrong. The destination starts as NaN and must be kept beyond each row.
template <class T>
std::string compare_with_loop(VendorProduct& product, int64_t m, int64_t n, int64_t k, int variant, int64_t pad) {
  GemmArgs<T> args = {.transpose_a = (variant & 1) != 0, .transpose_b = (variant & 2) != 0, .m = m, .n = n, .k = k};
  args.lda = (args.transpose_a ? m : k) + pad;
  args.ldb = (args.transpose_b ? k : n) + pad;
  args.ldc = n + pad;
  std::mt19937_64 random(static_cast<uint64_t>(m * 1000003 + n * 1009 + k));
  std::normal_distribution<T> normal;
  std::vector<T> a(static_cast<size_t>((args.transpose_a ? k : m) * args.lda + 1));
  std::vector<T> b(static_cast<size_t>((args.transpose_b ? n : k) * args.ldb + 1));
  std::vector<T> c(static_cast<size_t>(m * args.ldc + 1), std::numeric_limits<T>::quiet_NaN());
  for (T& x : a) x = normal(random);
  for (T& x : b) x = normal(random);
  args.a = a.data(), args.b = b.data(), args.c = c.data();
  const std::string what = text_of(product.record().text(), " ", sizeof(T) * 8, " bit, ", m, " x ", n, " x ", k,
                                   ", transposition ", variant, ", padding ", pad, ": ");
  if (const Status status = product.multiply(args); !status) return what + status.error().message;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < args.ldc; ++j) {
      const T found = c[static_cast<size_t>(i * args.ldc + j)];
      if (j >= n) {
        if (found == found) return text_of(what, "wrote beyond row ", i);
        continue;
      }
      double sum = 0, magnitude = 0;
      for (int64_t p = 0; p < k; ++p) {
        const double x =
            args.transpose_a ? a[static_cast<size_t>(p * args.lda + i)] : a[static_cast<size_t>(i * args.lda + p)];
        const double y =
            args.transpose_b ? b[static_cast<size_t>(j * args.ldb + p)] : b[static_cast<size_t>(p * args.ldb + j)];
        sum += x * y;
        magnitude += std::fabs(x * y);
      }
      // Both sides err by at most gamma_k for float64; the loop is exact enough for float32.
      const double tolerance = 1.01 * static_cast<double>(k) * std::numeric_limits<T>::epsilon() * magnitude;
      if (!(std::fabs(sum - static_cast<double>(found)) <= tolerance) || (k == 0 && std::signbit(found))) {
        return text_of(what, "(", i, ", ", j, ") is ", found, ", expected ", sum);
      }
    }
  }
  return "";
}

std::string compare_shapes(VendorProduct& product) {
  const int64_t shapes[][3] = {{0, 3, 4},  {3, 0, 4}, {3, 4, 0}, {1, 1, 1},    {1, 17, 5},   {17, 1, 5},
                               {5, 17, 1}, {2, 3, 4}, {8, 8, 8}, {31, 33, 29}, {64, 48, 65}, {70, 130, 257}};
  for (const auto& [m, n, k] : shapes) {
    for (int variant = 0; variant < 4; ++variant) {
      for (const int64_t pad : {0, 5}) {
        std::string wrong;
        if (product.has_f32()) wrong = compare_with_loop<float>(product, m, n, k, variant, pad);
        if (wrong.empty() && product.has_f64()) wrong = compare_with_loop<double>(product, m, n, k, variant, pad);
        if (!wrong.empty()) return wrong;
      }
    }
  }
  return "";
}

class EachVendor : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!installed(GetParam())) GTEST_SKIP() << "skipped: no " << GetParam();
  }
  VendorOptions options(int threads = 1, bool large_trial = false) const {
    return {threads, path_of(GetParam()), large_trial};
  }
  VendorId id() const { return testing::any_setting(GetParam()); }
};

TEST_P(EachVendor, ProductsAgreeWithALoop) {
  for (const int threads : {1, 2}) {
    EXPECT_EQ(in_child([&]() -> std::string {
                auto product = open_vendor(id(), options(threads));
                if (product) return compare_shapes(**product);
                // A library without core types has no threads, nor has Eigen where the compiler has no OpenMP.
                const std::string& why = product.error().message;
                const bool single = !testing::has_cores(GetParam()) || why.find("without OpenMP") != std::string::npos;
                return threads == 2 && single ? "" : why;
              }),
              "");
  }
}

TEST_P(EachVendor, PassesTheTrialOfLargeProductsAndItsRecordSaysWhatRuns) {
  EXPECT_EQ(in_child([&]() -> std::string {
              auto product = open_vendor(id(), options(1, true));
              if (!product) return product.error().message;
              const VendorRecord& r = (*product)->record();
              const bool complete = r.library == GetParam() && !r.version.empty() && r.threads == 1 &&
                                    r.path.starts_with("/") && r.core.empty() == !testing::has_cores(GetParam());
              return complete ? "" : text_of("incomplete: ", r.text(), ", ", r.version, ", ", r.path);
            }),
            "");
}

TEST_P(EachVendor, UnknownCoreIsRefused) {
  const auto product = open_vendor({GetParam(), "nosuchcore"}, options());
  ASSERT_FALSE(product);
  EXPECT_EQ(product.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(product.error().message.find(GetParam()), std::string::npos) << product.error().message;
}

TEST_P(EachVendor, ProbeRepeats) {
  const auto first = probe_vendor(id(), options()), second = probe_vendor(id(), options());
  ASSERT_TRUE(first && second) << (first ? "" : first.error().message);
  EXPECT_EQ(first->f32_digest, second->f32_digest);
  EXPECT_EQ(first->f64_digest, second->f64_digest);
  const auto types_of = [](bool f32, bool f64) { return text_of(f32 ? "float32 " : "", f64 ? "float64" : ""); };
  EXPECT_EQ(in_child([&]() -> std::string {
              const auto product = open_vendor(id(), options());
              return product ? types_of((*product)->has_f32(), (*product)->has_f64()) : product.error().message;
            }),
            types_of(first->f32_digest.size() == 64, first->f64_digest.size() == 64));
  EXPECT_GT(first->f32_error + first->f64_error, 0);
  EXPECT_LE(std::max(first->f32_error, first->f64_error), 1);
}

INSTANTIATE_TEST_SUITE_P(Vendors, EachVendor, ::testing::ValuesIn(vendor_libraries()), testing::test_name_of_library);

// The settings of OpenBLAS that this machine runs, by name; each is asked once.
const std::map<std::string, VendorProbe>& working() {
  static const std::map<std::string, VendorProbe> all = [] {
    std::map<std::string, VendorProbe> probes;
    for (const VendorId& id : known_vendors("openblas")) {
      if (auto probe = probe_vendor(id)) probes[id.core] = std::move(*probe);
    }
    return probes;
  }();
  return all;
}

TEST(OpenBlas, CoreTypesDiffer) {
  if (!vendor_installed("openblas")) GTEST_SKIP() << "skipped: no OpenBLAS";
  const auto& probes = working();
  if (probes.size() < 2) GTEST_SKIP() << "skipped: OpenBLAS has " << probes.size() << " core types here";
  std::set<std::string> f32, f64;
  for (const auto& [core, probe] : probes) {
    f32.insert(probe.f32_digest);
    f64.insert(probe.f64_digest);
  }
  EXPECT_GE(f32.size(), 2u);
  EXPECT_GE(f64.size(), 2u);
}

TEST(OpenBlas, SecondCoreTypeInOneProcessIsRefused) {
  if (!vendor_installed("openblas")) GTEST_SKIP() << "skipped: no OpenBLAS";
  const auto& probes = working();
  if (probes.size() < 2) GTEST_SKIP() << "skipped: OpenBLAS has " << probes.size() << " core types here";
  const std::string one = probes.begin()->first, other = std::next(probes.begin())->first;
  EXPECT_EQ(in_child([&]() -> std::string {
              const auto first = open_vendor({"openblas", one}, {1, "", false});
              if (!first) return first.error().message;
              const auto again = open_vendor({"openblas", one}, {2, "", false});
              if (!again) return again.error().message;
              const auto second = open_vendor({"openblas", other});
              if (second) return "opened " + (*second)->record().text();
              if (second.error().code != ErrorCode::kUnavailable) return "wrong code";
              return second.error().message.find("already holds") == std::string::npos ? second.error().message : "";
            }),
            "");
}

TEST(OpenBlas, AnotherLibraryBesideItKeepsItsOwnKernels) {
  if (!vendor_installed("openblas") || !vendor_installed("openblas-openmp") || !vendor_installed("netlib")) {
    GTEST_SKIP() << "skipped: needs OpenBLAS twice and the reference BLAS";
  }
  EXPECT_EQ(in_child([&]() -> std::string {
              auto product = open_vendor({"openblas", ""}, {2, "", false});
              if (!product) return product.error().message;
              const std::string wrong = compare_with_loop<double>(**product, 200, 200, 200, 0, 0);
              // Both after OpenBLAS has worked with its threads in this process.
              for (const char* other : {"netlib", "openblas-openmp"}) {
                auto beside = open_vendor({other, ""}, {1, "", false});
                if (!beside) return beside.error().message;
                if ((*beside)->record().path == (*product)->record().path) return "the same file";
              }
              return wrong;
            }),
            "");
}

// What the environment of the caller asks for must not decide.
TEST(OpenBlas, EnvironmentOfTheCallerIsPutBackAndNotObeyed) {
  if (!vendor_installed("openblas")) GTEST_SKIP() << "skipped: no OpenBLAS";
  const auto plain = probe_vendor({"openblas", ""});
  ASSERT_TRUE(plain) << plain.error().message;
  setenv("OPENBLAS_CORETYPE", "Prescott", 1);
  const auto probe = probe_vendor({"openblas", ""});
  EXPECT_STREQ(std::getenv("OPENBLAS_CORETYPE"), "Prescott");
  unsetenv("OPENBLAS_CORETYPE");
  ASSERT_TRUE(probe) << probe.error().message;
  EXPECT_EQ(probe->record.core, plain->record.core);
}

TEST(Eigen, BuildsLiveSideBySide) {
  if (!vendor_installed("eigen")) GTEST_SKIP() << "skipped: no Eigen";
  int opened = 0;
  for (const VendorId& id : known_vendors("eigen")) {
    const auto product = open_vendor(id, {1, "", false});
    if (!product) {
      EXPECT_NE(product.error().message.find("this CPU has no"), std::string::npos) << product.error().message;
      continue;
    }
    ++opened;
    EXPECT_EQ(compare_with_loop<float>(**product, 33, 35, 37, 1, 2), "");
  }
  EXPECT_GE(opened, 1);
}

// Each core type is a file of its own: that none is found does not mean that Eigen is not here.
TEST(Eigen, NamesWithoutACoreTypeThatIsHereAreAnsweredByThoseThatAre) {
  if (!vendor_installed("eigen")) GTEST_SKIP() << "skipped: no Eigen";
  for (const char* core : {"", "avx3"}) {
    const auto product = open_vendor({"eigen", core}, {1, "", false});
    ASSERT_FALSE(product);
    EXPECT_EQ(product.error().code, ErrorCode::kUnavailable);
    const std::string& message = product.error().message;
    EXPECT_EQ(message.find("usual places"), std::string::npos) << message;
    for (const VendorId& id : known_vendors("eigen")) {
      EXPECT_NE(message.find(id.text()), std::string::npos) << message;
    }
  }
}

TEST(OneDnn, HasNoFloat64) {
  if (!vendor_installed("onednn")) GTEST_SKIP() << "skipped: no oneDNN";
  EXPECT_EQ(in_child([]() -> std::string {
              auto product = open_vendor({"onednn", ""});
              if (!product) return product.error().message;
              double x = 1;
              const Status status = (*product)->multiply(
                  {.m = 1, .n = 1, .k = 1, .a = &x, .lda = 1, .b = &x, .ldb = 1, .c = &x, .ldc = 1});
              if (status || status.error().code != ErrorCode::kUnavailable) return "not refused";
              return status.error().message.find("float64") == std::string::npos ? status.error().message : "";
            }),
            "");
}

TEST(Vendor, UnknownLibrary) {
  const auto product = open_vendor({"openblast", ""});
  ASSERT_FALSE(product);
  EXPECT_EQ(product.error().code, ErrorCode::kUsage);
  EXPECT_NE(product.error().message.find("did you mean 'openblas'"), std::string::npos) << product.error().message;
  EXPECT_TRUE(known_vendors("openblast").empty());
}

TEST(Vendor, AbsentOrForeignFile) {
  for (const char* path : {"/no/such/file.so", "/proc/self/exe"}) {
    const auto product = open_vendor({"openblas", ""}, {1, path, false});
    ASSERT_FALSE(product);
    EXPECT_EQ(product.error().code, ErrorCode::kUnavailable) << product.error().message;
  }
  EXPECT_EQ(open_vendor({"openblas", ""}, {0, ""}).error().code, ErrorCode::kUsage);
}

// ---- what the trial catches, shown with products that are wrong on purpose

enum class Fault { kNone, kFlushesResults, kLeaksFlushToZero, kReadsDestination, kStrassen, kIllegal };

class Faulty final : public VendorProduct {
 public:
  explicit Faulty(Fault fault) : VendorProduct({"faulty", "1", "", 1, "/"}), fault_(fault) {}
  bool has_f32() const override { return true; }
  bool has_f64() const override { return true; }

 private:
  void product(const GemmArgs<float>& args) override { compute(args); }
  void product(const GemmArgs<double>& args) override { compute(args); }

  template <class T>
  void compute(const GemmArgs<T>& args) {
    if (fault_ == Fault::kIllegal) std::raise(SIGILL);
    for (int64_t i = 0; i < args.m; ++i) {
      for (int64_t j = 0; j < args.n; ++j) {
        const auto a = [&](int64_t p) {
          return args.transpose_a ? args.a[p * args.lda + i] : args.a[i * args.lda + p];
        };
        const auto b = [&](int64_t p) {
          return args.transpose_b ? args.b[j * args.ldb + p] : args.b[p * args.ldb + j];
        };
        T sum = 0;
        for (int64_t p = 0; p < args.k; ++p) sum += a(p) * b(p);
        T& c = args.c[i * args.ldc + j];
        if (fault_ == Fault::kFlushesResults && std::fabs(sum) < std::numeric_limits<T>::min()) sum = 0;
        // What Strassen's algorithm does to rows: a large one is added and taken away again.
        if (fault_ == Fault::kStrassen && i >= args.m / 2) {
          const auto large = [&](int64_t p) {
            const int64_t row = i - args.m / 2;
            return args.transpose_a ? args.a[p * args.lda + row] : args.a[row * args.lda + p];
          };
          T both = 0, taken = 0;
          for (int64_t p = 0; p < args.k; ++p) {
            both += (a(p) + large(p)) * b(p);
            taken += large(p) * b(p);
          }
          sum = both - taken;
        }
        c = fault_ == Fault::kReadsDestination ? sum + 0 * c : sum;
      }
    }
#if defined(__x86_64__)
    if (fault_ == Fault::kLeaksFlushToZero) _mm_setcsr(_mm_getcsr() | 0x8000);
#endif
  }
  Fault fault_;
};

TEST(Trial, CatchesFaults) {
  Faulty sound(Fault::kNone);
  const Status passed = vendor::try_products(sound);
  EXPECT_TRUE(passed) << passed.error().message;
  const std::pair<Fault, const char*> faults[] = {{Fault::kFlushesResults, "flushes to zero"},
                                                  {Fault::kLeaksFlushToZero, "left the thread with"},
                                                  {Fault::kReadsDestination, "error bound"},
                                                  {Fault::kStrassen, "error bound"}};
  for (const auto& [fault, message] : faults) {
#if !defined(__x86_64__)
    if (fault == Fault::kLeaksFlushToZero) continue;
#endif
    Faulty product(fault);
    const Status status = vendor::try_products(product);
    ASSERT_FALSE(status) << message;
    EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(status.error().message.find(message), std::string::npos) << status.error().message;
    EXPECT_TRUE(fp_environment_is_standard());
  }
}

TEST(Trial, ThatAProductEndsIsSaidByWhoWaitsForIt) {
  const auto crash = vendor::run_in_child(
      "c",
      []() -> Expected<Bytes> {
        Faulty product(Fault::kIllegal);
        ISOBIT_RETURN_IF_ERROR(vendor::try_products(product));
        return Bytes();
      },
      kLimit);
  ASSERT_FALSE(crash);
  EXPECT_EQ(crash.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(crash.error().message, "c: ended by SIGILL");
}

}  // namespace
}  // namespace isobit::kernels
