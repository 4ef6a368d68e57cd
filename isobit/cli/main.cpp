#include <malloc.h>

#include <cstdio>
#include <filesystem>
#include <new>

#include "isobit/base/fp_env.h"
#include "isobit/cli/commands.h"

int main(int argc, char** argv) {
  isobit::pin_fp_environment();
  if (!isobit::fp_environment_is_standard()) {
    std::fputs("isobit: this machine does not round as IEEE 754 asks; no result of it could be trusted\n", stderr);
    return 4;
  }
  // Every step allocates the same sizes again: keep freed memory instead of giving it back and faulting it in anew.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);

  namespace cli = isobit::cli;
  cli::Commands commands;
  cli::add_train(commands);
  cli::add_engage(commands);
  cli::add_audit(commands);
  cli::add_verify(commands);
  cli::add_info(commands);
  cli::add_eval(commands);
  cli::add_export(commands);
  cli::add_job_check(commands);
  cli::add_platforms(commands);
  cli::add_thresholds(commands);
  cli::add_keygen(commands);
  cli::add_cheat(commands);
  cli::add_costs(commands);
  cli::add_generate(commands);
  try {
    return commands.run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("isobit: this machine has not enough memory; 'isobit job check' says how much a job needs\n", stderr);
    return 4;
  } catch (const std::filesystem::filesystem_error& error) {
    // A name that no file can have, a folder that may not be looked into.
    std::fprintf(stderr, "isobit: %s: %s\n", cli::printable(error.path1().string()).c_str(),
                 error.code().message().c_str());
    return 3;
  }
}
