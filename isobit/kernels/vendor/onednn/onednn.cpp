// oneDNN's sgemm. The cap on the instruction set can be set once per process, before anything asks for it.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/kernels/vendor/adapter.h"
#include "isobit/kernels/vendor/library.h"

namespace isobit::kernels::vendor {
namespace {

// dnnl_cpu_isa_t of oneDNN 2.x. AVX-512 for Knights machines, which no kernel of today's CPUs honours, is left out.
struct Cap {
  const char* name;
  int value;
};
constexpr Cap kCaps[] = {{"sse41", 0x1},
                         {"avx", 0x3},
                         {"avx2", 0x7},
                         {"avx2_vnni", 0x407},
                         {"avx512_core", 0x27},
                         {"avx512_core_vnni", 0x67},
                         {"avx512_core_bf16", 0xe7},
                         {"avx512_core_amx", 0x3e7}};

struct Version {  // dnnl_version_t
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

using Sgemm = int(char, char, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float,
                  float*, int64_t);

class OneDnnProduct final : public VendorProduct {
 public:
  OneDnnProduct(VendorRecord record, Sgemm* sgemm, void (*set_threads)(int))
      : VendorProduct(std::move(record)), sgemm_(sgemm), set_threads_(set_threads) {}
  bool has_f32() const override { return true; }

 private:
  void product(const GemmArgs<float>& args) override {
    set_threads_(record_.threads);  // OpenMP keeps the number per calling thread
    const int status = sgemm_(args.transpose_a ? 'T' : 'N', args.transpose_b ? 'T' : 'N', args.m, args.n, args.k, 1.0f,
                              args.a, args.lda, args.b, args.ldb, 0.0f, args.c, args.ldc);
    ISOBIT_CHECK(status == 0);  // only arguments can be refused, and those have been checked
  }
  int64_t largest_size() const override { return INT64_MAX; }

  Sgemm* sgemm_;
  void (*set_threads_)(int);
};

std::string name_of(int value) {
  const auto* cap = std::find_if(std::begin(kCaps), std::end(kCaps), [&](const Cap& c) { return c.value == value; });
  return cap == std::end(kCaps) ? text_of("isa ", value) : cap->name;
}

std::string locate(const VendorId&) {
  return first_existing(
      std::vector<std::string>{"/usr/lib/x86_64-linux-gnu/libdnnl.so.2", "/usr/lib/aarch64-linux-gnu/libdnnl.so.2"});
}

Expected<std::unique_ptr<VendorProduct>> load(const VendorId& id, const VendorOptions& options) {
  const bool was_loaded = Library::is_loaded(options.path);
  ISOBIT_TRY(const Library library, Library::open(options.path));
  const Version* (*version)() = nullptr;
  int (*set_cap)(int) = nullptr;
  int (*effective)() = nullptr;
  Sgemm* sgemm = nullptr;
  void (*set_threads)(int) = nullptr;
  int (*get_threads)() = nullptr;
  ISOBIT_RETURN_IF_ERROR(library.find("dnnl_version", version));
  ISOBIT_RETURN_IF_ERROR(library.find("dnnl_set_max_cpu_isa", set_cap));
  ISOBIT_RETURN_IF_ERROR(library.find("dnnl_get_effective_cpu_isa", effective));
  ISOBIT_RETURN_IF_ERROR(library.find("dnnl_sgemm", sgemm));
  if (version()->major != 2) {
    return unavailable(text_of(id.text(), ": '", library.path(), "' is version ", version()->major,
                               "; this adapter knows the interface of version 2"));
  }
  if (!library.find("omp_set_num_threads", set_threads) || !library.find("omp_get_max_threads", get_threads)) {
    return unavailable(
        text_of(id.text(), ": '", library.path(), "' was not built with OpenMP; its threads cannot be set"));
  }
  // What the caller's environment happens to hold is not a choice of this setting.
  const ScopedEnvironment no_cap("DNNL_MAX_CPU_ISA", std::nullopt);
  if (!id.core.empty()) {
    const auto* cap = std::find_if(std::begin(kCaps), std::end(kCaps), [&](const Cap& c) { return c.name == id.core; });
    if (cap == std::end(kCaps)) return unavailable(text_of(id.text(), ": no such cap in oneDNN"));
    set_cap(cap->value);  // refused once it has been used; what holds is read back
    if (effective() != cap->value) return wrong_core(id, name_of(effective()), was_loaded);
  }
  set_threads(options.threads);
  if (get_threads() != options.threads) return wrong_threads(id, options.threads, get_threads());
  const Version& v = *version();
  VendorRecord record = {id.library, text_of("oneDNN ", v.major, ".", v.minor, ".", v.patch), name_of(effective()),
                         options.threads, library.path()};
  return std::make_unique<OneDnnProduct>(std::move(record), sgemm, set_threads);
}

}  // namespace

std::vector<Adapter> onednn_adapters() {
  std::vector<std::string> cores;
  for (const Cap& cap : kCaps) cores.emplace_back(cap.name);
  return {{"onednn", cores, locate, load}};
}

}  // namespace isobit::kernels::vendor
