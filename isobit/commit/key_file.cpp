#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "isobit/base/text.h"
#include "isobit/commit/signature.h"

namespace isobit::commit {
namespace {

constexpr std::string_view kSecretWord = "isobit-ed25519-secret-1 ", kPublicWord = "isobit-ed25519-public-1 ";
constexpr uint64_t kMaxKeyFile = 4096;

// What a key file might hold by mistake is never quoted in a message: it may be a secret.
Expected<std::array<uint8_t, 32>> decode_line(ByteView data, const std::string& name, std::string_view word,
                                              std::string_view other_word, const char* kind) {
  const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  if (text.starts_with(other_word)) {
    return unreadable(text_of(name, ": holds the other half of a key pair, expected a ", kind, " key"));
  }
  if (!text.starts_with(word)) {
    return unreadable(text_of(name, ": is no ", kind, " key, expected one line that starts with '", word, "'"));
  }
  const std::string_view rest = text.substr(word.size());
  if (rest.size() != 65 || rest.back() != '\n') {
    return unreadable(text_of(name, ": found ", rest.size(), " bytes after '", word,
                              "', expected 64 hex digits and the end of the line"));
  }
  const std::string_view digits = rest.substr(0, 64);
  const bool canonical = std::all_of(digits.begin(), digits.end(),
                                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!canonical) return unreadable(text_of(name, ": the key is not 64 lower-case hex digits"));
  ISOBIT_TRY(Bytes bytes, from_hex(digits));
  std::array<uint8_t, 32> out;
  std::copy(bytes.begin(), bytes.end(), out.begin());
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return out;
}

tl::unexpected<Error> exists_error(const fs::path& path) {
  return usage_error(
      text_of(path.string(), ": exists, and a key is never overwritten; choose another name or remove it"));
}

Status write_and_sync(int fd, const fs::path& path, std::string_view text) {
  ssize_t n;
  do {
    n = ::write(fd, text.data(), text.size());
  } while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(text.size())) {
    return unavailable(text_of(path.string(), ": cannot write the key: ", std::strerror(n < 0 ? errno : ENOSPC)));
  }
  if (::fsync(fd) != 0) return unavailable(text_of(path.string(), ": cannot make durable: ", std::strerror(errno)));
  return {};
}

// Unlike write_file_durably this must not replace a file and must never show a secret to others, not even for an
// instant: the temporary is created with the final mode, and link(2) fails where rename(2) would overwrite.
Status write_new_file(const fs::path& path, std::string_view text, mode_t mode) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(path, ignored))) return exists_error(path);
  fs::path temporary = path;
  temporary += text_of(".tmp-", ::getpid());
  ::unlink(temporary.c_str());  // left by a killed process of the same number
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return unavailable(text_of(temporary.string(), ": cannot create: ", std::strerror(errno)));
  Status done = write_and_sync(fd, path, text);
  ::close(fd);
  if (done && ::link(temporary.c_str(), path.c_str()) != 0) {
    done = errno == EEXIST ? Status(exists_error(path))
                           : unavailable(text_of(path.string(), ": cannot create: ", std::strerror(errno)));
  }
  ::unlink(temporary.c_str());
  if (!done) return done;
  return sync_folder(path.parent_path());
}

}  // namespace

std::string encode_secret_key(const SecretKey& key) { return text_of(kSecretWord, to_hex(key.seed()), '\n'); }

std::string encode_public_key(const PublicKey& key) { return text_of(kPublicWord, to_hex(key.bytes), '\n'); }

Expected<SecretKey> decode_secret_key(ByteView data, const std::string& name) {
  ISOBIT_TRY(auto seed, decode_line(data, name, kSecretWord, kPublicWord, "secret"));
  SecretKey key = SecretKey::from_seed(seed);
  OPENSSL_cleanse(seed.data(), seed.size());
  return key;
}

Expected<PublicKey> decode_public_key(ByteView data, const std::string& name) {
  ISOBIT_TRY(const auto bytes, decode_line(data, name, kPublicWord, kSecretWord, "public"));
  return PublicKey{bytes};
}

Status write_secret_key(const fs::path& path, const SecretKey& key) {
  std::string text = encode_secret_key(key);
  Status done = write_new_file(path, text, 0600);
  OPENSSL_cleanse(text.data(), text.size());
  return done;
}

Status write_public_key(const fs::path& path, const PublicKey& key) {
  return write_new_file(path, encode_public_key(key), 0644);
}

Expected<SecretKey> read_secret_key(const fs::path& path) {
  ISOBIT_TRY(Bytes data, read_file(path, kMaxKeyFile));
  auto key = decode_secret_key(data, path.string());
  OPENSSL_cleanse(data.data(), data.size());
  return key;
}

Expected<PublicKey> read_public_key(const fs::path& path) {
  ISOBIT_TRY(const Bytes data, read_file(path, kMaxKeyFile));
  return decode_public_key(data, path.string());
}

}  // namespace isobit::commit
