// Where and how fast a graph runs: a value with a canonical text. It is no part of a job and, under an arithmetic that
// fixes the bits, cannot reach them.
//
//   ordered            the fastest instruction set of this machine, all its cores
//   ordered@avx2       that instruction set
//   ordered@portable/1t  ... and one thread
//   openblas@haswell/2t  the matrix products of a vendor's library with that core type; everything else as ordered
//   onednn@avx2/1t       a library that has them in float32 only
//   integer              matrix products of correct-1 alone, by residues in int8 (kernels/correct/integer), on a
//                        matrix unit where the CPU has one; `ordered` takes that unit, too, for large products
//   integer@plain/1t     ... in loops of our own, which any CPU can run
//   integer@amx/2t       ... on AMX
//   openblas/1t+winograd4  forward convolutions by another algorithm than the platform's own; arithmetic float32 only
//   openblas/1t+autotune   ... by the one that is fastest when a shape is seen for the first time
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/base/thread_pool.h"
#include "isobit/kernels/context.h"
#include "isobit/platform/arithmetic.h"

namespace isobit::kernels {
template <class T>
class InnerProducts;
class MatrixProduct;
namespace correct {
class CorrectInnerProducts;
}  // namespace correct
}  // namespace isobit::kernels

namespace isobit::platform {

inline constexpr std::string_view kOrdered = "ordered";  // our own kernels alone
inline constexpr std::string_view kInteger = "integer";  // our own kernels, products of correct-1 by residues

struct Platform {
  std::string library{kOrdered};               // or kInteger, or the name of a product library
  kernels::Isa isa = kernels::Isa::kPortable;  // of our own kernels
  std::string core;                            // of the vendor's; "": its own choice; of kInteger: "plain", "amx"
  int threads = 1;
  std::string algorithm = {};  // of forward convolutions (convolution_algorithms); "": the platform's own

  bool is_ordered() const { return library == kOrdered; }
  bool is_integer() const { return library == kInteger; }
  std::string text() const;  // canonical, e.g. "ordered@avx512/2t", "openblas@haswell/1t+fft"
};

// Errors: kUsage for a text that names no platform (with the nearest one), kUnavailable for one that this machine does
// not have.
Expected<Platform> parse_platform(std::string_view text);

// Every platform of this machine that computes with our own kernels in every arithmetic, on all its cores; slowest
// first.
std::vector<Platform> available_platforms();
// The kinds of integer products that this machine has: "plain", and "amx".
std::vector<std::string> integer_products();

// Cores this process may use.
int available_threads();

// Seconds since whenever, for who times one thing against another.
using Clock = std::function<double()>;

// Inner products so far, and how many of them were too close to a tie to be rounded without a second look.
struct Repairs {
  int64_t elements = 0;
  int64_t repaired = 0;
};

// How an arithmetic computes on an engine: a value that never changes and may be copied. Its engine must outlive it.
class Context {
 public:
  const Arithmetic& arithmetic() const { return *arithmetic_; }
  // What a graph runs with; the rounding of logged arithmetic is a stage of the executor.
  const kernels::KernelContext& kernels() const { return kernels_; }
  // Of correct-1, by every context of the engine; else none.
  Repairs repairs() const;

 private:
  friend class Engine;
  Context(const Arithmetic& arithmetic, const kernels::KernelContext& kernels)
      : arithmetic_(&arithmetic), kernels_(kernels) {}

  const Arithmetic* arithmetic_;
  kernels::KernelContext kernels_;
  std::shared_ptr<const kernels::correct::CorrectInnerProducts> correct_;
};

// Opens a float64 product that takes its instruction set and its threads from an engine.
using OpenProduct = std::function<Expected<std::unique_ptr<kernels::MatrixProduct>>(const kernels::KernelContext&)>;

// A platform made ready: its threads, and the inner products of the arithmetics that have been asked for. Graphs of
// several arithmetics may take turns on it; one runs at a time.
class Engine {
 public:
  explicit Engine(const Platform& platform);
  // The same under a clock of the caller's, which decides what an autotuned platform computes with.
  Engine(const Platform& platform, Clock clock);
  // The same, but correct-1 stands on another product than the platform's: one that no text names.
  Engine(const Platform& platform, OpenProduct product);
  ~Engine();
  const Platform& platform() const { return platform_; }
  ThreadPool& pool() { return pool_; }

  // kUsage: the platform cannot (a vendor's library has no written order, integer products are for correct-1, a
  // convolution algorithm promises no bits and is for float32); kUnavailable: the library or its core type is not
  // there. A library once opened stays open.
  Expected<Context> context_for(const Arithmetic& arithmetic);

 private:
  const Platform platform_;
  const bool own_product_;  // of correct-1, and not the caller's
  const OpenProduct open_product_;
  const Clock clock_;
  ThreadPool pool_;
  Status check_algorithm(const Arithmetic& arithmetic) const;
  Status open_correct();
  Status open_float32();
  Status open_float64();

  // Opened when first asked for.
  std::shared_ptr<kernels::correct::CorrectInnerProducts> correct_;
  // Of a vendor's library or, in float32, of a convolution algorithm.
  std::unique_ptr<kernels::InnerProducts<float>> float32_;
  std::unique_ptr<kernels::InnerProducts<double>> float64_;
};

}  // namespace isobit::platform
