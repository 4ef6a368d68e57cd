#include "isobit/kernels/vendor/vendor.h"

#include <algorithm>
#include <functional>

#include "isobit/base/fp_env.h"
#include "isobit/base/text.h"
#include "isobit/kernels/vendor/adapter.h"
#include "isobit/kernels/vendor/child.h"
#include "isobit/kernels/vendor/trial.h"

namespace isobit::kernels {
namespace vendor {
namespace {

constexpr int kSecondsToTry = 120;
constexpr int kMostThreads = 1024;

const std::vector<Adapter>& adapters() {
  static const std::vector<Adapter> all = [] {
    std::vector<Adapter> list;
#define ISOBIT_VENDOR(folder) \
  for (Adapter & adapter : folder##_adapters()) list.push_back(std::move(adapter));
#include <isobit_vendors.inc>
#undef ISOBIT_VENDOR
    return list;
  }();
  return all;
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Adapter& adapter : adapters()) names.push_back(adapter.library);
  return names;
}

const Adapter* find_adapter(const std::string& library) {
  for (const Adapter& adapter : adapters()) {
    if (adapter.library == library) return &adapter;
  }
  return nullptr;
}

// Those with a core type that have a file in one of the usual places.
std::vector<std::string> settings_here(const Adapter& adapter) {
  std::vector<std::string> here;
  for (const std::string& core : adapter.cores) {
    const VendorId id{adapter.library, core};
    if (!adapter.locate(id).empty()) here.push_back(id.text());
  }
  return here;
}

// A setting that can be tried: known, its file found, its thread count sensible.
struct Request {
  const Adapter* adapter;
  VendorId id;
  VendorOptions options;
};

Expected<Request> request_of(const VendorId& id, VendorOptions options) {
  const Adapter* adapter = find_adapter(id.library);
  if (!adapter) {
    const std::string near = nearest_word(id.library, names());
    return usage_error(text_of("library '", id.library, "' is not known",
                               near.empty() ? "." : "; did you mean '" + near + "'?", " Known are ", join_or(names())));
  }
  if (options.threads < 1 || options.threads > kMostThreads) {
    return usage_error(text_of(id.text(), ": ", options.threads, " threads, expected 1 to ", kMostThreads));
  }
  if (options.path.empty()) options.path = adapter->locate(id);
  if (options.path.empty()) {
    // Eigen's core types are a file each, and none is what a name without one means.
    const std::vector<std::string> here = settings_here(*adapter);
    return unavailable(text_of(id.text(), here.empty()
                                              ? ": not in any of the usual places; install it, or give its path"
                                              : ": expected a core type that is here: " + join_or(here)));
  }
  return Request{adapter, id, std::move(options)};
}

Expected<Bytes> in_child(const Request& request, const std::function<Expected<Bytes>(VendorProduct&)>& work) {
  return run_in_child(
      request.id.text() + ", tried in a child process",
      [&]() -> Expected<Bytes> {
        pin_fp_environment();
        ISOBIT_TRY(const auto product, request.adapter->load(request.id, request.options));
        ISOBIT_RETURN_IF_ERROR(try_products(*product));
        return work(*product);
      },
      kSecondsToTry);
}

}  // namespace

tl::unexpected<Error> wrong_core(const VendorId& id, const std::string& found, bool was_loaded) {
  if (was_loaded) {
    return unavailable(text_of(id.text(), ": this process already holds ", id.library, " with core type ", found,
                               "; a core type is chosen once per process, so use another process for this one"));
  }
  return unavailable(text_of(id.text(), ": asked for core type ", id.core, ", the library took ", found,
                             ": it does not know that core type or does not have it on this machine"));
}

tl::unexpected<Error> wrong_threads(const VendorId& id, int asked, int found) {
  return unavailable(text_of(id.text(), ": asked for ", asked, " threads, the library took ", found));
}

Status require_plain(const VendorId& id, const VendorOptions& options) {
  if (!id.core.empty()) return unavailable(text_of(id.text(), ": ", id.library, " has no core types"));
  if (options.threads != 1) return wrong_threads(id, options.threads, 1);
  return {};
}

}  // namespace vendor

std::string VendorId::text() const { return core.empty() ? library : library + "@" + core; }

std::string VendorRecord::text() const { return text_of(VendorId{library, core}.text(), "/", threads, "t"); }

Expected<std::unique_ptr<VendorProduct>> open_vendor(const VendorId& id, const VendorOptions& options) {
  ISOBIT_TRY(const vendor::Request request, vendor::request_of(id, options));
  const auto try_large = [&](VendorProduct& product) -> Expected<Bytes> {
    if (options.large_trial && product.has_f64()) {
      ISOBIT_RETURN_IF_ERROR(vendor::try_large_products(product, request.adapter->largest_trial));
    }
    return Bytes();
  };
  ISOBIT_TRY(const Bytes nothing, vendor::in_child(request, try_large));
  return request.adapter->load(request.id, request.options);
}

Expected<VendorProbe> probe_vendor(const VendorId& id, const VendorOptions& options) {
  ISOBIT_TRY(const vendor::Request request, vendor::request_of(id, options));
  ISOBIT_TRY(const Bytes bytes, vendor::in_child(request, [](VendorProduct& product) -> Expected<Bytes> {
               ISOBIT_TRY(const VendorProbe probe, vendor::fingerprint(product));
               return vendor::encode(probe);
             }));
  return vendor::decode(bytes);
}

std::vector<std::string> vendor_libraries() { return vendor::names(); }

std::vector<VendorId> known_vendors(const std::string& library) {
  const vendor::Adapter* adapter = vendor::find_adapter(library);
  if (!adapter) return {};
  if (adapter->cores.empty()) return {{library, ""}};
  std::vector<VendorId> settings;
  settings.reserve(adapter->cores.size());
  for (const std::string& core : adapter->cores) settings.push_back({library, core});
  return settings;
}

bool vendor_installed(const std::string& library) {
  const std::vector<VendorId> settings = known_vendors(library);
  const vendor::Adapter* adapter = vendor::find_adapter(library);
  return std::any_of(settings.begin(), settings.end(),
                     [&](const VendorId& id) { return !adapter->locate(id).empty(); });
}

std::vector<VendorId> known_vendors() {
  std::vector<VendorId> settings;
  for (const vendor::Adapter& adapter : vendor::adapters()) {
    for (VendorId& id : known_vendors(adapter.library)) {
      if (!adapter.locate(id).empty()) settings.push_back(std::move(id));
    }
  }
  return settings;
}

}  // namespace isobit::kernels
