// Matrix products of other people's libraries, opened by path in the process that needs them, never linked.
//
// They promise nothing about bits: which kernel runs, in which order it adds and whether it fuses is theirs. What an
// adapter promises is that it is what its record says. A core type is chosen when a library is loaded and holds for the
// process; it is believed only after a child process, loading the library the same way, reported that core type and
// computed products within the error bound of a classical IEEE sum, rounded to nearest, subnormal numbers kept (trial.h
// says what is tried). A library that substitutes another core type, crashes, hangs, flushes to zero or is seen to use
// a fast algorithm or an emulation is an error, never a silent stand-in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/base/status.h"

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

// c = op(a) op(b), row-major: op(a) is m x k and op(b) k x n. Element (i, p) of op(a) is a[i * lda + p], transposed
// a[p * lda + i]; b likewise with (p, j) and c with (i, j).
template <class T>
struct GemmArgs {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t lda = 0;
  const T* b = nullptr;
  int64_t ldb = 0;
  T* c = nullptr;
  int64_t ldc = 0;
};

// A library made ready. What the library keeps for the whole process (threads above all) is set anew in every call, so
// several products of one library may exist, but only one may compute at a time.
class MatrixProduct {
 public:
  virtual ~MatrixProduct() = default;
  MatrixProduct(const MatrixProduct&) = delete;
  MatrixProduct& operator=(const MatrixProduct&) = delete;

  const VendorRecord& record() const { return record_; }
  virtual bool has_f64() const { return true; }

  // alpha = 1, beta = 0: what c held is not read, be it NaN. k = 0 gives +0 without calling the library; m = 0 or n = 0
  // touches nothing. Error bound of a finite result without underflow: gamma_k times the sum of magnitudes.
  // REQUIRES leading dimensions at least the row length, and c apart from a and b.
  // Errors (kUnavailable): a size that the library's integers cannot hold; float64 where has_f64() is false; a call
  // that left the thread with another rounding mode or with flush to zero (put right again before the return, but c
  // must not be used), or came from a thread that had one (left as it is; the library is not called).
  Status gemm_f32(const GemmArgs<float>& args) { return gemm(args); }
  Status gemm_f64(const GemmArgs<double>& args) { return gemm(args); }
  // Whether the library's integers hold the sizes. What such a product is refused for says that something is wrong with
  // the library or the process; any other, that somebody else must compute it.
  template <class T>
  bool takes(const GemmArgs<T>& args) const {
    return largest_of(args) <= largest_size();
  }

 protected:
  explicit MatrixProduct(VendorRecord record) : record_(std::move(record)) {}
  VendorRecord record_;

 private:
  // REQUIRES 1 <= every size and leading dimension <= largest_size().
  virtual void product(const GemmArgs<float>& args) = 0;
  virtual void product(const GemmArgs<double>& args) = 0;
  virtual int64_t largest_size() const { return INT32_MAX; }

  template <class T>
  static int64_t largest_of(const GemmArgs<T>& args) {
    return std::max({args.m, args.n, args.k, args.lda, args.ldb, args.ldc});
  }
  template <class T>
  Status gemm(const GemmArgs<T>& args);
};

// Tries the setting in a child process, then opens it in this one.
// Errors: kUsage for a library of unknown name; kUnavailable for one that is not installed, a core type that it or this
// machine does not have, a thread count it does not take, or a process that already holds it with another core type.
Expected<std::unique_ptr<MatrixProduct>> open_vendor(const VendorId& id, const VendorOptions& options = {});

// The fingerprint of a setting: SHA-256 over the products of two fixed 257 x 257 matrices of wide exponent range.
// Settings whose digests agree most likely run the same kernels; settings whose digests differ certainly do not.
struct VendorProbe {
  VendorRecord record;
  std::string f32_digest;  // 64 hex digits
  std::string f64_digest;  // empty when the library has no float64
  // The largest error in units of the bound gamma_257 times the sum of magnitudes; at most 1 or probing is an error.
  double f32_error = 0, f64_error = 0;
};

// Opens the setting in a child process and computes its fingerprint there; this process stays as it was. Large products
// are not tried. A setting can
// be probed only where it could be opened: in a process that does not hold the library with another core type.
Expected<VendorProbe> probe_vendor(const VendorId& id, const VendorOptions& options = {});

// Every setting of the libraries installed here in the usual places, in a fixed order. Whether this machine can run one
// is for probe_vendor to find out.
std::vector<VendorId> known_vendors();
// The settings of one library, installed or not; empty for an unknown name.
std::vector<VendorId> known_vendors(const std::string& library);
// Whether the library is in one of the usual places.
bool vendor_installed(const std::string& library);

}  // namespace isobit::kernels
