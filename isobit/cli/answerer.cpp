#include "isobit/cli/answerer.h"

namespace isobit::cli {

Expected<Answerer> Answerer::start(const std::string& through,
                                   const std::function<Expected<OtherSide::Answer>()>& open) {
  Answerer answerer;
  if (through.empty()) {
    ISOBIT_TRY(OtherSide here, OtherSide::start(open));
    answerer.here_.emplace(std::move(here));
  } else {
    ISOBIT_TRY(answerer.there_, Questions::begin(through));
  }
  return answerer;
}

Expected<Bytes> Answerer::ask(const Bytes& question, Console& console) {
  return here_ ? here_->ask(question) : there_->ask(question, console);
}

Expected<std::optional<uint64_t>> Answerer::end() {
  if (here_) return here_->end();
  ISOBIT_RETURN_IF_ERROR(there_->end());
  return std::nullopt;
}

}  // namespace isobit::cli
