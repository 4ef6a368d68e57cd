#include "isobit/lab/worker/environment.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "isobit/base/printable.h"
#include "isobit/base/text.h"
#include "isobit/commit/hash.h"

extern char** environ;

namespace isobit::lab::worker {
namespace {

constexpr size_t kMostText = 1000;

// Libraries of products and threads, engines, and what the loader and the C library take. Prefixes that other programs
// have too, as Terraform has TF_, are written out: their values are nobody's business.
constexpr std::string_view kPrefixes[] = {"OPENBLAS_",
                                          "GOTO_",
                                          "MKL_",
                                          "ONEDNN_",
                                          "DNNL_",
                                          "BLIS_",
                                          "OMP_",
                                          "GOMP_",
                                          "KMP_",
                                          "NPY_",
                                          "TBB_",
                                          "XLA_",
                                          "JAX_",
                                          "ATEN_",
                                          "ORT_",
                                          "OV_CPU_",
                                          "OPENCV_",
                                          "TF_ENABLE_",
                                          "TF_DISABLE_",
                                          "TF_XLA_",
                                          "TF_NUM_",
                                          "TF_DETERMINISTIC_",
                                          "TF_CPU_",
                                          "QEMU_CPU=",
                                          "GLIBC_TUNABLES=",
                                          "LD_PRELOAD="};

bool decides(std::string_view entry) {
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return entry.starts_with(prefix); });
}

}  // namespace

std::string computing_environment(const char* const* environment) {
  std::vector<std::string> found;
  for (; *environment != nullptr; ++environment) {
    if (decides(*environment)) found.push_back(printable(*environment));
  }
  std::ranges::sort(found);
  std::string text;
  for (const std::string& entry : found) text += text_of(text.empty() ? "" : "; ", entry);
  if (text.size() <= kMostText) return text;
  return text_of(found.size(), " variables, SHA-256 ", commit::hex_of(commit::sha256(as_bytes(text))));
}

std::string computing_environment() { return computing_environment(environ); }

}  // namespace isobit::lab::worker
