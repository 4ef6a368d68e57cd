// One function per subcommand, each in its own file.
#pragma once

#include "isobit/cli/command.h"

namespace isobit::cli {

void add_train(Commands& commands);
void add_engage(Commands& commands);
void add_audit(Commands& commands);
void add_verify(Commands& commands);
void add_open(Commands& commands);
void add_info(Commands& commands);
void add_platforms(Commands& commands);
void add_thresholds(Commands& commands);
void add_keygen(Commands& commands);
void add_job_check(Commands& commands);
void add_eval(Commands& commands);
void add_export(Commands& commands);
void add_run(Commands& commands);
void add_pack(Commands& commands);  // and unpack
void add_cheat(Commands& commands);
void add_answer(Commands& commands);
void add_dispute(Commands& commands);
void add_serve(Commands& commands);
void add_costs(Commands& commands);
void add_compare(Commands& commands);
void add_explain(Commands& commands);
void add_lab(Commands& commands);  // export and merge
void add_reveal(Commands& commands);
void add_measure(Commands& commands);
void add_generate(Commands& commands);

// Shared by several: 1.25 -> "1.250", 0.9722 -> "97.22 %".
std::string percent(int64_t part, int64_t whole);
// "a,b" -> "a", "b"; nothing of "".
std::vector<std::string> names_in(const std::string& list);

}  // namespace isobit::cli
