// OpenBLAS built with DYNAMIC_ARCH: OPENBLAS_CORETYPE, read once when the library is loaded, chooses its kernels.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "isobit/base/text.h"
#include "isobit/kernels/vendor/adapter.h"
#include "isobit/kernels/vendor/cblas.h"

namespace isobit::kernels::vendor {
namespace {

const std::vector<std::string> kX86Cores = {"prescott",    "core2",   "penryn",    "dunnington", "nehalem",
                                            "sandybridge", "haswell", "skylakex",  "cooperlake", "sapphirerapids",
                                            "atom",        "nano",    "athlon",    "opteron",    "opteron_sse3",
                                            "barcelona",   "bobcat",  "bulldozer", "piledriver", "steamroller",
                                            "excavator",   "zen"};
const std::vector<std::string> kArmCores = {"armv8",      "cortexa53",  "cortexa57",  "cortexa72",
                                            "neoversen1", "neoversen2", "neoversev1", "thunderx2t99"};
constexpr const char* kX86Folder = "/usr/lib/x86_64-linux-gnu/openblas-";
constexpr const char* kArmFolder = "/usr/lib/aarch64-linux-gnu/openblas-";

struct Build {
  std::string library, folder;  // as we call it, and the end of Debian's folder of it
  int parallel;                 // what openblas_get_parallel() says there
};
const Build kBuilds[] = {{"openblas", "pthread", 1}, {"openblas-openmp", "openmp", 2}};
const Build& build_of(const VendorId& id) { return *std::ranges::find(kBuilds, id.library, &Build::library); }

std::string locate(const VendorId& id) {
  const std::string file = build_of(id).folder + "/libopenblas.so.0";
  return first_existing(std::vector<std::string>{kX86Folder + file, kArmFolder + file});
}

Expected<std::unique_ptr<VendorProduct>> load(const VendorId& id, const VendorOptions& options) {
  const bool was_loaded = Library::is_loaded(options.path);
  Expected<Library> library = [&] {
    // Unset for an empty core type: what the caller's environment happens to hold is not a choice of this setting.
    const ScopedEnvironment core("OPENBLAS_CORETYPE",
                                 id.core.empty() ? std::nullopt : std::optional<std::string>(id.core));
    // Its idle threads spin for 2^26 cycles by default, on the processors that our own passes between two products
    // need; 2^4 is the least it takes.
    const char* chosen = std::getenv("OPENBLAS_THREAD_TIMEOUT");
    const ScopedEnvironment patience("OPENBLAS_THREAD_TIMEOUT", chosen != nullptr ? chosen : "4");
    return Library::open(options.path);
  }();
  if (!library) return tl::unexpected<Error>(library.error());
  char* (*corename)() = nullptr;
  char* (*config)() = nullptr;
  int (*parallel)() = nullptr;
  int (*get_threads)() = nullptr;
  void (*set_threads)(int) = nullptr;
  ISOBIT_RETURN_IF_ERROR(library->find("openblas_get_corename", corename));
  ISOBIT_RETURN_IF_ERROR(library->find("openblas_get_config", config));
  ISOBIT_RETURN_IF_ERROR(library->find("openblas_get_parallel", parallel));
  ISOBIT_RETURN_IF_ERROR(library->find("openblas_get_num_threads", get_threads));
  ISOBIT_RETURN_IF_ERROR(library->find("openblas_set_num_threads", set_threads));

  const std::string core = corename();
  if (!id.core.empty() && !same_name(core, id.core)) return wrong_core(id, core, was_loaded);
  const Build& build = build_of(id);
  if (parallel() != build.parallel && options.threads > 1) {
    return unavailable(text_of(id.text(), ": '", library->path(), "' is not the build with ", build.folder));
  }
  set_threads(options.threads);
  if (get_threads() != options.threads) return wrong_threads(id, options.threads, get_threads());
  return make_cblas_product(*library, {id.library, config(), core, options.threads, library->path()},
                            [set_threads, n = options.threads] { set_threads(n); });
}

}  // namespace

std::vector<Adapter> openblas_adapters() {
  std::vector<Adapter> adapters;
  for (const Build& build : kBuilds) {
    const bool arm = locate({build.library, ""}).starts_with(kArmFolder);
    adapters.push_back({build.library, arm ? kArmCores : kX86Cores, locate, load});
  }
  return adapters;
}

}  // namespace isobit::kernels::vendor
