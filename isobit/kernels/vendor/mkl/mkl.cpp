// Intel MKL through libmkl_rt, which loads the rest of itself from its own folder. Its "conditional numerical
// reproducibility" modes name the kernels; they can be set once, before the first computation.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/kernels/vendor/adapter.h"
#include "isobit/kernels/vendor/cblas.h"

namespace isobit::kernels::vendor {
namespace {

constexpr int kStrict = 0x10000;  // MKL_CBWR_STRICT: also independent of the thread count
constexpr int kAllFields = -1;    // MKL_CBWR_ALL

struct Mode {
  const char* name;
  int value;  // MKL_CBWR_*
};
constexpr Mode kModes[] = {{"off", 1},
                           {"auto", 2},
                           {"compatible", 3},
                           {"sse2", 4},
                           {"sse4_2", 8},
                           {"avx", 9},
                           {"avx2", 10},
                           {"avx512", 12},
                           {"avx2_strict", 10 | kStrict},
                           {"avx512_strict", 12 | kStrict}};

std::string name_of(int value) {
  const auto* mode =
      std::find_if(std::begin(kModes), std::end(kModes), [&](const Mode& m) { return m.value == value; });
  return mode == std::end(kModes) ? text_of("mode ", value) : mode->name;
}

std::string locate(const VendorId&) {
  std::vector<std::string> candidates;
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu/", "/usr/local/lib/", "/opt/intel/oneapi/mkl/latest/lib/",
                             "/opt/intel/oneapi/mkl/latest/lib/intel64/", "/opt/intel/mkl/lib/intel64/"}) {
    for (const char* file : {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"})
      candidates.push_back(text_of(folder, file));
  }
  return first_existing(candidates);
}

Expected<std::unique_ptr<VendorProduct>> load(const VendorId& id, const VendorOptions& options) {
  const bool was_loaded = Library::is_loaded(options.path);
  // What the caller's environment happens to hold is not a choice of this setting.
  const ScopedEnvironment no_mode("MKL_CBWR", std::nullopt), no_cap("MKL_ENABLE_INSTRUCTIONS", std::nullopt);
  ISOBIT_TRY(const Library library, Library::open(options.path));
  int (*set_interface)(int) = nullptr;
  int (*set_threading)(int) = nullptr;
  int (*set_mode)(int) = nullptr;
  int (*get_mode)(int) = nullptr;
  void (*version)(char*, int) = nullptr;
  void (*set_threads)(int) = nullptr;
  int (*get_threads)() = nullptr;
  ISOBIT_RETURN_IF_ERROR(library.find("MKL_Set_Interface_Layer", set_interface));
  ISOBIT_RETURN_IF_ERROR(library.find("MKL_Set_Threading_Layer", set_threading));
  ISOBIT_RETURN_IF_ERROR(library.find("MKL_CBWR_Set", set_mode));
  ISOBIT_RETURN_IF_ERROR(library.find("MKL_CBWR_Get", get_mode));
  ISOBIT_RETURN_IF_ERROR(library.find("MKL_Get_Version_String", version));
  ISOBIT_RETURN_IF_ERROR(library.find("MKL_Set_Num_Threads", set_threads));
  ISOBIT_RETURN_IF_ERROR(library.find("MKL_Get_Max_Threads", get_threads));

  constexpr int kLp64 = 0, kGnuOpenMp = 3;
  if (!was_loaded) {
    set_interface(kLp64);
    set_threading(kGnuOpenMp);  // the one OpenMP runtime that the other libraries use too
  }
  if (!id.core.empty()) {
    const auto* mode =
        std::find_if(std::begin(kModes), std::end(kModes), [&](const Mode& m) { return m.name == id.core; });
    if (mode == std::end(kModes)) return unavailable(text_of(id.text(), ": no such reproducibility mode of MKL"));
    set_mode(mode->value);  // refused after the first computation; what holds is read back
    if (get_mode(kAllFields) != mode->value) return wrong_core(id, name_of(get_mode(kAllFields)), was_loaded);
  }
  set_threads(options.threads);
  if (get_threads() != options.threads) return wrong_threads(id, options.threads, get_threads());
  char text[256] = {};
  version(text, sizeof text - 1);
  std::string trimmed = text;
  trimmed.erase(trimmed.find_last_not_of(' ') + 1);
  return make_cblas_product(library,
                            {id.library, trimmed, name_of(get_mode(kAllFields)), options.threads, library.path()},
                            [set_threads, n = options.threads] { set_threads(n); });
}

}  // namespace

std::vector<Adapter> mkl_adapters() {
  std::vector<std::string> cores;
  for (const Mode& mode : kModes) cores.emplace_back(mode.name);
  return {{"mkl", cores, locate, load}};
}

}  // namespace isobit::kernels::vendor
