// BLIS: BLIS_ARCH_TYPE, the number of a configuration, read when the library first asks itself which one it runs.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/kernels/vendor/adapter.h"
#include "isobit/kernels/vendor/cblas.h"

namespace isobit::kernels::vendor {
namespace {

using ArchString = char*(int);

struct Build {
  std::string library, folder;  // as we call it, and where Debian has it
};
const Build kBuilds[] = {{"blis", "blis-pthread"}, {"blis-openmp", "blis-openmp"}};

std::string locate(const VendorId& id) {
  const std::string& variant = std::ranges::find(kBuilds, id.library, &Build::library)->folder;
  return first_existing(std::vector<std::string>{"/usr/lib/x86_64-linux-gnu/" + variant + "/libblis.so.4",
                                                 "/usr/lib/aarch64-linux-gnu/" + variant + "/libblis.so.4"});
}

// The numbers changed between releases; the library's own table of names ends with "generic".
int number_of(ArchString* name_of, const std::string& core) {
  constexpr int kMoreThanAnyRelease = 256;
  for (int i = 0; i < kMoreThanAnyRelease; ++i) {
    const std::string name = name_of(i);
    if (name == core) return i;
    if (name == "generic") break;
  }
  return -1;
}

Expected<std::unique_ptr<VendorProduct>> load(const VendorId& id, const VendorOptions& options) {
  const bool was_loaded = Library::is_loaded(options.path);
  ISOBIT_TRY(const Library library, Library::open(options.path));
  ArchString* name_of = nullptr;
  void (*initialise)() = nullptr;
  int (*current)() = nullptr;
  char* (*version)() = nullptr;
  void (*set_threads)(int64_t) = nullptr;
  int64_t (*get_threads)() = nullptr;
  ISOBIT_RETURN_IF_ERROR(library.find("bli_arch_string", name_of));
  ISOBIT_RETURN_IF_ERROR(library.find("bli_init", initialise));
  ISOBIT_RETURN_IF_ERROR(library.find("bli_arch_query_id", current));
  ISOBIT_RETURN_IF_ERROR(library.find("bli_info_get_version_str", version));
  ISOBIT_RETURN_IF_ERROR(library.find("bli_thread_set_num_threads", set_threads));
  ISOBIT_RETURN_IF_ERROR(library.find("bli_thread_get_num_threads", get_threads));

  std::optional<std::string> number;
  if (!id.core.empty()) {
    const int found = number_of(name_of, id.core);
    if (found < 0) return unavailable(text_of(id.text(), ": '", library.path(), "' knows no such configuration"));
    number = text_of(found);
  }
  const std::string core = [&] {
    const ScopedEnvironment choice("BLIS_ARCH_TYPE", number);
    initialise();  // a choice is checked against the configurations, which do not exist before
    return std::string(name_of(current()));
  }();
  if (!id.core.empty() && core != id.core) return wrong_core(id, core, was_loaded);
  set_threads(options.threads);
  if (get_threads() != options.threads) return wrong_threads(id, options.threads, static_cast<int>(get_threads()));
  return make_cblas_product(library, {id.library, text_of("BLIS ", version()), core, options.threads, library.path()},
                            [set_threads, n = options.threads] { set_threads(n); });
}

}  // namespace

std::vector<Adapter> blis_adapters() {
  const std::vector<std::string> cores = {"generic",     "penryn",    "sandybridge", "bulldozer", "piledriver",
                                          "steamroller", "excavator", "haswell",     "zen",       "zen2",
                                          "zen3",        "knl",       "skx"};
  std::vector<Adapter> adapters;
  for (const Build& build : kBuilds) adapters.push_back({build.library, cores, locate, load});
  return adapters;
}

}  // namespace isobit::kernels::vendor
