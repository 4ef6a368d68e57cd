#include <openssl/crypto.h>

#include <algorithm>

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

// A key replaces no file, and a secret one is never open to others, not even for an instant.
Status write_new_file(const fs::path& path, std::string_view text, mode_t mode) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(path, ignored))) return exists_error(path);
  return write_file_durably(path, as_bytes(text), {.replace = false, .mode = mode});
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
