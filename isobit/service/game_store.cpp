#include "isobit/service/game_store.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

#include "isobit/base/new_file.h"
#include "isobit/base/text.h"
#include "isobit/bundle/disk.h"
#include "isobit/dispute/record.h"

namespace isobit::service {
namespace {

constexpr mode_t kPrivate = 0700;
constexpr const char* kClosing = "closing";

}  // namespace

struct GameFile::Impl {
  bundle::AppendFile file;
};

GameFile::GameFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GameFile::~GameFile() = default;

Status GameFile::save(ByteView more) {
  ISOBIT_RETURN_IF_ERROR(impl_->file.append(more));
  return impl_->file.sync();
}

std::string game_name(const commit::RunId& run, const commit::PublicKey& challenger) {
  return to_hex(run) + "-" + hex_of(challenger);
}

Expected<GameStore> GameStore::open(const fs::path& folder, const commit::RunId& run, std::string ending,
                                    const std::string& lock) {
  ISOBIT_RETURN_IF_ERROR(make_folder_durably(folder, kPrivate));
  GameStore store;
  store.folder_ = folder;
  store.run_ = run;
  store.ending_ = std::move(ending);
  const fs::path path = folder / lock;
  store.lock_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!store.lock_) {
    return unavailable(
        text_of(path.string(), ": cannot create: ", std::strerror(errno), "; the folder must be writable"));
  }
  if (::flock(store.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return unavailable(text_of(path.string(), ": cannot lock: ", std::strerror(errno)));
    return usage_error(text_of(folder.string(),
                               ": another process keeps its games there; stop it, or name another folder with "
                               "--state"));
  }
  return store;
}

fs::path GameStore::file_of(const commit::PublicKey& challenger, const std::string& ending) const {
  return folder_ / (game_name(run_, challenger) + "." + ending);
}

Expected<std::optional<Bytes>> GameStore::read(const commit::PublicKey& challenger) const {
  if (!has_begun(challenger)) return std::nullopt;
  ISOBIT_TRY(Bytes kept, read_file(file_of(challenger, ending_), dispute::kMaxRecordBytes, Links::kRefuse));
  return std::optional(std::move(kept));
}

Expected<std::unique_ptr<GameFile>> GameStore::append_to(const commit::PublicKey& challenger, uint64_t whole) const {
  const fs::path path = file_of(challenger, ending_);
  if (!has_begun(challenger)) ISOBIT_RETURN_IF_ERROR(create_file_durably(path, {}, 0600));
  ISOBIT_TRY(bundle::AppendFile file, bundle::AppendFile::open(path, whole));
  return std::unique_ptr<GameFile>(new GameFile(std::make_unique<GameFile::Impl>(GameFile::Impl{std::move(file)})));
}

bool GameStore::has_begun(const commit::PublicKey& challenger) const {
  std::error_code error;
  return fs::symlink_status(file_of(challenger, ending_), error).type() != fs::file_type::not_found;
}

bool GameStore::is_closed(const commit::PublicKey& challenger) const {
  std::error_code error;
  return fs::exists(file_of(challenger, kClosing), error);
}

Status GameStore::close(const dispute::Closing& closing) const {
  return write_file_durably(file_of(closing.challenger, kClosing), encode(closing), {.mode = 0600});
}

size_t GameStore::count_open() const {
  std::error_code error;
  size_t began = 0;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const fs::path& path = entry.path();
    if (path.extension() != "." + ending_ || !path.stem().string().starts_with(to_hex(run_))) continue;
    fs::path closing = path;
    closing.replace_extension(kClosing);
    if (!fs::exists(closing, error)) ++began;
  }
  return began;
}

}  // namespace isobit::service
