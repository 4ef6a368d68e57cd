#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include "isobit/base/fp_env.h"
#include "isobit/base/machine_cannot.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/engine_places.h"
#include "isobit/lab/measure/native_worker.h"

namespace {

// An exception that nothing caught: in what the standard library does on a thread of its own, say. No memory and its
// like are this machine's lack; the rest are our bugs, which abort as they should.
[[noreturn]] void on_terminate() {
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    std::fputs("isobit: this machine has not enough memory; 'isobit job check' says how much a job needs\n", stderr);
    ::_exit(4);
  } catch (const isobit::MachineCannot& error) {
    std::fprintf(stderr, "isobit: %s\n", isobit::printable(error.what()).c_str());
    ::_exit(4);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "isobit: internal error, please report it: %s\n", isobit::printable(error.what()).c_str());
  } catch (...) {
  }
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(on_terminate);
  // Writing to a closed pipe, or beyond the limit on the size of files, is an error of that write, which says what it
  // was and leaves what was written before in order.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  isobit::pin_fp_environment();
  if (!isobit::fp_environment_is_standard()) {
    std::fputs("isobit: this machine does not round as IEEE 754 asks; no result of it could be trusted\n", stderr);
    return 4;
  }
  namespace cli = isobit::cli;
  // Started by ourselves for another platform; for nobody's command line.
  if (argc == 4 && std::string_view(argv[1]) == isobit::lab::measure::kWorkerWord)
    return cli::be_worker(argv[2], argv[3]);
  cli::Commands commands;
  cli::add_train(commands);
  cli::add_engage(commands);
  cli::add_audit(commands);
  cli::add_verify(commands);
  cli::add_open(commands);
  cli::add_info(commands);
  cli::add_eval(commands);
  cli::add_export(commands);
  cli::add_pack(commands);
  cli::add_run(commands);
  cli::add_compare(commands);
  cli::add_explain(commands);
  cli::add_lab(commands);
  cli::add_job_check(commands);
  cli::add_platforms(commands);
  cli::add_thresholds(commands);
  cli::add_keygen(commands);
  cli::add_answer(commands);
  cli::add_dispute(commands);
  cli::add_serve(commands);
  cli::add_cheat(commands);
  cli::add_costs(commands);
  cli::add_reveal(commands);
  cli::add_measure(commands);
  cli::add_generate(commands);
  return commands.run(argc, argv);
}
