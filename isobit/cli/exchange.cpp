#include "isobit/cli/exchange.h"

#include <chrono>
#include <optional>
#include <thread>

#include "isobit/base/file_identity.h"
#include "isobit/base/new_file.h"
#include "isobit/base/text.h"
#include "isobit/dispute/spot_record.h"

namespace isobit::cli {
namespace {

using Clock = std::chrono::steady_clock;

// A question names kMaxSpotDraws elements at most, an answer has a list at most.
constexpr uint64_t kMaxQuestion = 2 << 20, kMaxAnswer = uint64_t{256} << 20, kMaxProblem = 1 << 14;
constexpr auto kLookEvery = std::chrono::milliseconds(20), kReadEvery = std::chrono::milliseconds(2000);

fs::path name_of(const fs::path& folder, uint64_t number, const char* kind) {
  return folder / text_of(number, ".", kind);
}

Status put(const fs::path& file, ByteView content) {
  return create_file_durably(file, dispute::seal_spot_file(content));
}

// A file that somebody puts there.
class Awaited {
 public:
  Awaited(fs::path file, uint64_t most) : file_(std::move(file)), most_(most) {}
  // None while it is not there, or not whole. One that is not whole is read again where it has changed, and from time
  // to time, since not every change shows. kUnreadable for what no copying makes whole: a link, a pipe or a folder, or
  // a file beyond the limit.
  Expected<std::optional<Bytes>> look() {
    ISOBIT_TRY(const auto now, FileIdentity::of(file_, Links::kRefuse));
    if (!now || (now == seen_ && Clock::now() < read_again_)) return std::nullopt;
    if (!now->is_plain()) return unreadable(text_of(file_.string(), ": is no plain file; remove it"));
    if (static_cast<uint64_t>(now->size) > most_) {
      return unreadable(text_of(file_.string(), ": has ", now->size, " bytes, at most ", most_, "; remove it"));
    }
    seen_ = now;
    read_again_ = Clock::now() + kReadEvery;
    const auto bytes = read_file(file_, most_, Links::kRefuse);
    if (!bytes && bytes.error().code != ErrorCode::kUnreadable) return tl::unexpected<Error>(bytes.error());
    auto content = bytes ? dispute::open_spot_file(*bytes, file_.string()) : tl::unexpected<Error>(bytes.error());
    if (!content) return std::nullopt;
    return *std::move(content);
  }

 private:
  const fs::path file_;
  const uint64_t most_;
  std::optional<FileIdentity> seen_;
  Clock::time_point read_again_{};
};

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
  Awaited awaited(name_of(folder_, number, "answer"), kMaxAnswer),
      instead(name_of(folder_, number, "problem"), kMaxProblem);
  for (bool told = false;; pause()) {
    ISOBIT_TRY(auto answer, awaited.look());
    if (answer) return *std::move(answer);
    ISOBIT_TRY(const auto problem, instead.look());
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
    Awaited awaited(question_file, kMaxQuestion), end(folder / "end", kMaxProblem);
    progress(number, true);
    while (!question) {
      ISOBIT_TRY(question, awaited.look());
      if (question) break;
      ISOBIT_TRY(const auto ended, end.look());
      if (ended) return number;
      pause();
    }
    progress(number, false);
    const auto answered = answer(*question);
    if (!answered) {
      (void)put(name_of(folder, number, "problem"), as_bytes(answered.error().message.substr(0, kMaxProblem / 2)));
      return tl::unexpected<Error>(answered.error());
    }
    ISOBIT_TRY(const auto before, Awaited(answer_file, kMaxAnswer).look());
    if (before && *before != *answered) {
      return unavailable(text_of(answer_file.string(),
                                 ": is another answer than this machine gives; nobody should sign ",
                                 "two: let the auditor begin in a new folder"));
    }
    if (!before) ISOBIT_RETURN_IF_ERROR(put(answer_file, *answered));
  }
}

}  // namespace isobit::cli
