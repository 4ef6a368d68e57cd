// Starts a benchmark program in the environment in which its rivals are at their best.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>

#include "bench/vendors.h"
#include "isobit/kernels/dispatch/dispatch.h"

namespace isobit::bench {
void register_benchmarks();  // in <name>_bench.cpp
}

int main(int argc, char** argv) {
  // Both libraries read their environment when they are loaded, hence the second start. OpenBLAS 0.3.21 takes CPUs that
  // are newer than itself for a Prescott; waiting OpenMP workers must not take the processor from the others.
  if (!std::getenv("OMP_WAIT_POLICY")) {
    setenv("OMP_WAIT_POLICY", "passive", 1);
    const bool wide = isobit::kernels::isa_available(isobit::kernels::Isa::kAvx512);
    setenv("OPENBLAS_CORETYPE", wide ? "SkylakeX" : "Haswell", 0);
    execv("/proc/self/exe", argv);
  }
  benchmark::AddCustomContext("openblas", isobit::bench::openblas_config());
  benchmark::AddCustomContext("onednn", isobit::bench::onednn_version());
  benchmark::AddCustomContext("isa", isobit::kernels::name_of(isobit::kernels::best_isa()));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  isobit::bench::register_benchmarks();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
