// The reference BLAS: plain loops in Fortran, one thread, as compiled by the distribution.
#include "isobit/kernels/vendor/adapter.h"
#include "isobit/kernels/vendor/cblas.h"

namespace isobit::kernels::vendor {
namespace {

std::string locate(const VendorId&) {
  return first_existing(std::vector<std::string>{"/usr/lib/x86_64-linux-gnu/blas/libblas.so.3",
                                                 "/usr/lib/aarch64-linux-gnu/blas/libblas.so.3"});
}

Expected<std::unique_ptr<VendorProduct>> load(const VendorId& id, const VendorOptions& options) {
  ISOBIT_RETURN_IF_ERROR(require_plain(id, options));
  ISOBIT_TRY(const Library library, Library::open(options.path));
  // It has no function that tells its version; the name of the file behind the links ends with it.
  return make_cblas_product(
      library, {id.library, library.path().substr(library.path().rfind('/') + 1), "", 1, library.path()}, {});
}

}  // namespace

// Three loops whatever the size, and ten seconds for a product of 2,048: the small trial tells as much.
std::vector<Adapter> netlib_adapters() { return {{"netlib", {}, locate, load, 512}}; }

}  // namespace isobit::kernels::vendor
