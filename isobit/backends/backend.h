// Backends run whole graphs. The executor is one (native); a library that compiles a graph as it likes, or a device, is
// another. Whoever trains or evaluates sees a Program and the host's memory only, so that commitments, checkpoints and
// formats need not know where a graph ran.
#pragma once

#include <memory>
#include <span>

#include "isobit/base/status.h"
#include "isobit/graph/graph.h"
#include "isobit/platform/platform.h"
#include "isobit/runtime/executor.h"

namespace isobit::backends {

// A graph made ready to run. One run at a time.
class Program {
 public:
  using Feed = runtime::Executor::Feed;

  virtual ~Program() = default;
  // Feeds and outputs lie on the host; a program of a device copies them there and back. What happens to feeds and to
  // what stands in the outputs: as runtime::Executor::run_into. The observer sees tensors of the host, in the order of
  // the nodes, or the run is an error (kUsage) for a program that cannot show them; the same holds for a stage.
  // Determinism class: that of the arithmetic that the program was compiled for.
  virtual Status run(std::span<Feed> feeds, std::span<Tensor> outputs, runtime::RunOptions options = {}) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // `graph` is not owned and must outlive the program, as must the engine of `context`. kUsage for an arithmetic that
  // this backend does not have; what it finds wrong with the graph. `limits`: of each of the program's runs.
  virtual Expected<std::unique_ptr<Program>> compile(const graph::Graph& graph, const platform::Context& context,
                                                     const runtime::Limits& limits) = 0;
  Expected<std::unique_ptr<Program>> compile(const graph::Graph& graph, const platform::Context& context) {
    return compile(graph, context, runtime::Limits{});
  }
};

// Our own executor on the host: every arithmetic, observers and stages.
Backend& native();
// The same with other kernels: a table that somebody made of runtime::kernel_table(). It must outlive the program.
Expected<std::unique_ptr<Program>> compile_with(const runtime::KernelTable& table, const graph::Graph& graph,
                                                const platform::Context& context, const runtime::Limits& limits);

}  // namespace isobit::backends
