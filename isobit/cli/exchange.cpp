#include "isobit/cli/exchange.h"

#include <chrono>
#include <optional>
#include <thread>

#include "isobit/base/new_file.h"
#include "isobit/base/text.h"
#include "isobit/dispute/spot_record.h"

namespace isobit::cli {
namespace {

constexpr uint64_t kMaxFile = uint64_t{256} << 20, kMaxProblem = 1 << 14;
constexpr auto kLookEvery = std::chrono::milliseconds(20);

fs::path name_of(const fs::path& folder, uint64_t number, const char* kind) {
  return folder / text_of(number, ".", kind);
}

Status put(const fs::path& file, ByteView content) {
  return create_file_durably(file, dispute::seal_spot_file(content));
}

// None while it is not there, or not whole. No link is followed.
Expected<std::optional<Bytes>> look_for(const fs::path& file, uint64_t most = kMaxFile) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(file, error))) return std::nullopt;
  const auto bytes = read_file(file, most, Links::kRefuse);
  if (!bytes && bytes.error().code != ErrorCode::kUnreadable) return tl::unexpected<Error>(bytes.error());
  if (!bytes) return std::nullopt;
  auto content = dispute::open_spot_file(*bytes, file.string());
  if (!content) return std::nullopt;
  return *std::move(content);
}

void pause() { std::this_thread::sleep_for(kLookEvery); }

}  // namespace

Expected<Questions> Questions::begin(const fs::path& folder) {
  ISOBIT_RETURN_IF_ERROR(make_folder(folder));
  std::error_code error;
  const bool empty = fs::is_empty(folder, error);
  if (error) return unavailable(text_of(folder.string(), ": cannot be looked into: ", error.message()));
  if (empty) return Questions(folder);
  return usage_error(text_of("--through ", folder.string(),
                             ": is not empty; name a new folder: what was drawn once is ",
                             "known, and nobody should be asked it again"));
}

Expected<Bytes> Questions::ask(const Bytes& question, Console& console) {
  const uint64_t number = number_++;
  ISOBIT_RETURN_IF_ERROR(put(name_of(folder_, number, "question"), question));
  for (bool told = false;; pause()) {
    ISOBIT_TRY(auto answer, look_for(name_of(folder_, number, "answer")));
    if (answer) return *std::move(answer);
    ISOBIT_TRY(const auto problem, look_for(name_of(folder_, number, "problem"), kMaxProblem));
    if (problem) {
      return unavailable(text_of("the trainer cannot answer question ", number, ": ",
                                 printable(std::string(problem->begin(), problem->end()))));
    }
    if (!std::exchange(told, true)) {
      console.progress(text_of("waiting for ", name_of(folder_, number, "answer").string()));
    }
  }
}

Status Questions::end() { return put(folder_ / "end", {}); }

Expected<uint64_t> answer_all(const fs::path& folder, const std::function<Expected<Bytes>(ByteView question)>& answer,
                              const std::function<void(uint64_t number, bool waits)>& progress) {
  for (uint64_t number = 0;; ++number) {
    const fs::path question_file = name_of(folder, number, "question"), answer_file = name_of(folder, number, "answer");
    std::optional<Bytes> question;
    progress(number, true);
    while (!question) {
      ISOBIT_TRY(question, look_for(question_file));
      if (question) break;
      ISOBIT_TRY(const auto ended, look_for(folder / "end"));
      if (ended) return number;
      pause();
    }
    progress(number, false);
    const auto answered = answer(*question);
    if (!answered) {
      (void)put(name_of(folder, number, "problem"), as_bytes(answered.error().message.substr(0, kMaxProblem / 2)));
      return tl::unexpected<Error>(answered.error());
    }
    ISOBIT_TRY(const auto before, look_for(answer_file));
    if (before && *before != *answered) {
      return unavailable(text_of(answer_file.string(),
                                 ": is another answer than this machine gives; nobody should sign ",
                                 "two: let the auditor begin in a new folder"));
    }
    if (!before) ISOBIT_RETURN_IF_ERROR(put(answer_file, *answered));
  }
}

}  // namespace isobit::cli
