// Matrix products of other people's libraries, opened by path in the process that needs them, never linked.
//
// They promise nothing about bits: which kernel runs, in which order it adds and whether it fuses is theirs. What an
// adapter promises is that it is what its record says. A core type is chosen when a library is loaded and holds for the
// process; it is believed only after a child process, loading the library the same way, reported that core type and
// computed products within the error bound of a classical IEEE sum, rounded to nearest, subnormal numbers kept (trial.h
// says what is tried). A library that substitutes another core type, crashes, hangs, flushes to zero or is seen to use
// a fast algorithm or an emulation is an error, never a silent stand-in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/kernels/product/matrix_product.h"

namespace isobit::kernels {

// What to open. Libraries and their core types, lower case:
//   openblas, openblas-openmp  a core type of OpenBLAS: haswell, skylakex, nehalem ...
//   eigen                      sse2, avx2, avx512: our own builds of Eigen's products, one shared library each
//   onednn                     a cap on the instruction set: sse41, avx, avx2, avx512_core ...; float32 only
//   blis, blis-openmp          a configuration of BLIS: haswell, skx, zen, penryn ...
//   mkl                        a reproducibility mode of Intel MKL: compatible, sse2, avx2, avx512, also with _strict
//   netlib                     the reference BLAS; it has no core types
// An empty core type leaves the choice to the library; the record then says what it chose. eigen has no such choice.
struct VendorId {
  std::string library;
  std::string core;

  std::string text() const;  // "openblas@haswell", "netlib"
  bool operator==(const VendorId&) const = default;
};

struct VendorOptions {
  int threads = 1;
  std::string path;  // of the library, or for eigen of the folder with its builds; empty: the usual places
  // Whether its float64 products are tried on large operands, too (trial.h): what correct-1 and the float64 arithmetics
  // stand on. It takes 17 billion multiplications, half a second to some seconds.
  bool large_trial = true;
};

// What was opened.
struct VendorRecord {
  std::string library;  // VendorId::library
  std::string version;  // the library's own words
  std::string core;     // in use, as the library reports it
  int threads = 1;
  std::string path;  // symbolic links resolved

  std::string text() const;  // "openblas@Haswell/1t"
};

// A library made ready. What the library keeps for the whole process (threads above all) is set anew in every call, so
// several products of one library may exist, but only one may compute at a time.
class VendorProduct : public MatrixProduct {
 public:
  std::string name() const final { return record_.text(); }
  const VendorRecord& record() const { return record_; }

 protected:
  explicit VendorProduct(VendorRecord record) : record_(std::move(record)) {}
  VendorRecord record_;

 private:
  int64_t largest_size() const override { return INT32_MAX; }
};

// Tries the setting in a child process, then opens it in this one.
// Errors: kUsage for a library of unknown name; kUnavailable for one that is not installed, a core type that it or this
// machine does not have, a thread count it does not take, or a process that already holds it with another core type.
Expected<std::unique_ptr<VendorProduct>> open_vendor(const VendorId& id, const VendorOptions& options = {});

// The fingerprint of a setting: SHA-256 over the products of two fixed 257 x 257 matrices of wide exponent range.
// Settings whose digests agree most likely run the same kernels; settings whose digests differ certainly do not.
struct VendorProbe {
  VendorRecord record;
  // 64 hex digits; empty for a type that the library does not have.
  std::string f32_digest;
  std::string f64_digest;
  // The largest error in units of the bound gamma_257 times the sum of magnitudes; at most 1 or probing is an error. 0
  // for a type that it does not have.
  double f32_error = 0, f64_error = 0;
};

// Opens the setting in a child process and computes its fingerprint there; this process stays as it was. Large products
// are not tried. A setting can be probed only where it could be opened: in a process that does not hold the library
// with another core type.
Expected<VendorProbe> probe_vendor(const VendorId& id, const VendorOptions& options = {});

// Libraries this build has adapters for, installed or not, in a fixed order.
std::vector<std::string> vendor_libraries();
// Every setting of the libraries installed here in the usual places, in a fixed order. Whether this machine can run one
// is for probe_vendor to find out.
std::vector<VendorId> known_vendors();
// The settings of one library, installed or not; empty for an unknown name.
std::vector<VendorId> known_vendors(const std::string& library);
// Whether the library is in one of the usual places.
bool vendor_installed(const std::string& library);

}  // namespace isobit::kernels
