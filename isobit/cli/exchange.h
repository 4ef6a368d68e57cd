// A spot check between two machines: questions and answers as files in a folder that both see, or that somebody copies
// to and fro. "0.question", "0.answer", "1.question" and so on; "end" when the auditor is done; "N.problem" where the
// trainer cannot answer. What is only half there, or damaged, is not there yet; what is no file, or too long for one of
// these, ends the exchange with an error.
#pragma once

#include <functional>

#include "isobit/base/bytes.h"
#include "isobit/base/file.h"
#include "isobit/cli/console.h"

namespace isobit::cli {

// The auditor's end.
class Questions {
 public:
  // kUsage: there is something in the folder already, which nobody should answer again. Made where it is missing.
  static Expected<Questions> begin(const fs::path& folder);
  // Writes the question and waits for the answer. kUnavailable: the trainer says that it cannot.
  Expected<Bytes> ask(const Bytes& question, Console& console);
  Status end();

 private:
  explicit Questions(fs::path folder) : folder_(std::move(folder)) {}
  fs::path folder_;
  uint64_t number_ = 0;
};

// The trainer's: answers what comes until the auditor ends; the number of answers. What was answered before, by a
// trainer that was stopped, is computed again and must be the same: kUnavailable otherwise, since nobody honest signs
// two answers to one question. progress: the number of the question that is waited for, or at work.
Expected<uint64_t> answer_all(const fs::path& folder, const std::function<Expected<Bytes>(ByteView question)>& answer,
                              const std::function<void(uint64_t number, bool waits)>& progress);

}  // namespace isobit::cli
