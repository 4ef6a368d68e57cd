// Opens our own builds of Eigen's products; module.cpp is what they are built from.
#include <filesystem>

#include "isobit/base/text.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/vendor/adapter.h"
#include "isobit/kernels/vendor/eigen/module.h"
#include "isobit/kernels/vendor/library.h"

namespace isobit::kernels::vendor {
namespace {

class EigenProduct final : public VendorProduct {
 public:
  EigenProduct(VendorRecord record, eigen::Gemm<float>* f32, eigen::Gemm<double>* f64)
      : VendorProduct(std::move(record)), f32_(f32), f64_(f64) {}
  bool has_f32() const override { return true; }
  bool has_f64() const override { return true; }

 private:
  void product(const GemmArgs<float>& args) override { call(f32_, args); }
  void product(const GemmArgs<double>& args) override { call(f64_, args); }
  int64_t largest_size() const override { return INT64_MAX; }

  template <class T>
  void call(eigen::Gemm<T>* function, const GemmArgs<T>& args) const {
    function(record_.threads, args.transpose_a, args.transpose_b, args.m, args.n, args.k, args.a, args.lda, args.b,
             args.ldb, args.c, args.ldc);
  }

  eigen::Gemm<float>* f32_;
  eigen::Gemm<double>* f64_;
};

std::string file_in(const std::string& folder, const std::string& core) {
  return folder + "/isobit_eigen_" + core + ".so";
}

// Beside the program, in the library folder of an installation, or where the build left them.
std::string locate(const VendorId& id) {
  std::error_code ignored;
  const std::string beside = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
  return first_existing(std::vector<std::string>{file_in(beside, id.core), file_in(beside + "/../lib/isobit", id.core),
                                                 file_in(ISOBIT_EIGEN_FOLDER, id.core)});
}

Expected<std::unique_ptr<VendorProduct>> load(const VendorId& id, const VendorOptions& options) {
  if (id.core.empty()) return unavailable("eigen: say which build, for instance eigen@avx2");
  const Isa isa = parse_isa(id.core).value_or(Isa::kPortable);
  if (!isa_available(isa)) return unavailable(text_of(id.text(), ": this CPU has no ", id.core));
  const bool is_folder = std::filesystem::is_directory(options.path);
  ISOBIT_TRY(const Library library, Library::open(is_folder ? file_in(options.path, id.core) : options.path));
  eigen::Gemm<float>* f32 = nullptr;
  eigen::Gemm<double>* f64 = nullptr;
  eigen::Text *version = nullptr, *instructions = nullptr;
  eigen::Number* has_threads = nullptr;
  ISOBIT_RETURN_IF_ERROR(library.find(eigen::kGemmF32, f32));
  ISOBIT_RETURN_IF_ERROR(library.find(eigen::kGemmF64, f64));
  ISOBIT_RETURN_IF_ERROR(library.find(eigen::kVersion, version));
  ISOBIT_RETURN_IF_ERROR(library.find(eigen::kInstructions, instructions));
  ISOBIT_RETURN_IF_ERROR(library.find(eigen::kHasThreads, has_threads));
  if (options.threads != 1 && !has_threads()) {
    return unavailable(text_of(id.text(), ": built without OpenMP, so one thread only"));
  }
  VendorRecord record = {id.library, text_of(version(), " (", instructions(), ")"), id.core, options.threads,
                         library.path()};
  return std::make_unique<EigenProduct>(std::move(record), f32, f64);
}

}  // namespace

std::vector<Adapter> eigen_adapters() { return {{"eigen", {ISOBIT_EIGEN_CORES}, locate, load}}; }

}  // namespace isobit::kernels::vendor
