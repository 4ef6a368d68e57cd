#include "isobit/commit/signature.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

#include <algorithm>
#include <memory>

#include "isobit/base/machine_cannot.h"
#include "isobit/base/random.h"
#include "isobit/base/text.h"

namespace isobit::commit {
namespace {

struct Free {
  void operator()(OSSL_LIB_CTX* p) const { OSSL_LIB_CTX_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Context = std::unique_ptr<EVP_MD_CTX, Free>;

[[noreturn]] void openssl_cannot(const char* what) {
  const char* said = ERR_reason_error_string(ERR_peek_last_error());
  const std::string message = text_of("OpenSSL cannot ", what, ": ", said != nullptr ? said : "it does not say why",
                                      "; this machine may have too little memory, or a libcrypto that is not whole");
  ERR_clear_error();
  throw MachineCannot(message);
}

// Ours for as long as the process lives, and what every use of EVP begins with. To make a key OpenSSL looks for
// engines, whatever context is given, and for that reads the machine's configuration, once in a process: unless it was
// told before that there is none to read.
OSSL_LIB_CTX* library() {
  static OSSL_LIB_CTX* const context = [] {
    if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr) != 1) openssl_cannot("start");
    ERR_clear_error();
    std::unique_ptr<OSSL_LIB_CTX, Free> made(OSSL_LIB_CTX_new());
    if (made == nullptr || OSSL_PROVIDER_load(made.get(), "default") == nullptr) openssl_cannot("load its algorithms");
    return made.release();
  }();
  return context;
}

Key private_key(const SecretKey::Seed& seed) {
  Key key(EVP_PKEY_new_raw_private_key_ex(library(), "ED25519", nullptr, seed.data(), seed.size()));
  if (key == nullptr) openssl_cannot("take a secret key");
  return key;
}

// Wipes the seed however its holder is left.
struct Wiped {
  SecretKey::Seed& seed;
  explicit Wiped(SecretKey::Seed& s) : seed(s) {}
  ~Wiped() { OPENSSL_cleanse(seed.data(), seed.size()); }
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;
};

// OpenSSL does not take a null pointer for an empty message.
const uint8_t* data_of(ByteView message) {
  static constexpr uint8_t kNothing = 0;
  return message.empty() ? &kNothing : message.data();
}

// Whether OpenSSL says yes. It can only do so when it has computed everything; a no may be a failure of its own, of
// which it says nothing (OpenSSL 3.0 where memory for the hash runs out).
bool says_yes(const PublicKey& key, ByteView message, const Signature& signature) {
  const Key raw(EVP_PKEY_new_raw_public_key_ex(library(), "ED25519", nullptr, key.bytes.data(), key.bytes.size()));
  const Context context(EVP_MD_CTX_new());
  if (raw == nullptr || context == nullptr ||
      EVP_DigestVerifyInit_ex(context.get(), nullptr, nullptr, library(), nullptr, raw.get(), nullptr) != 1) {
    openssl_cannot("check a signature");
  }
  const int said =
      EVP_DigestVerify(context.get(), signature.bytes.data(), signature.bytes.size(), data_of(message), message.size());
  if (said < 0) openssl_cannot("check a signature");
  return said == 1;
}

// RFC 8032, section 7.1, TEST 1: its signature of the empty message is valid.
constexpr PublicKey kKnownKey = {
    {{0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a,
      0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a}}};
constexpr Signature kKnownSignature = {
    {{0xe5, 0x56, 0x43, 0x00, 0xc3, 0x60, 0xac, 0x72, 0x90, 0x86, 0xe2, 0xcc, 0x80, 0x6e, 0x82, 0x8a,
      0x84, 0x87, 0x7f, 0x1e, 0xb8, 0xe5, 0xd9, 0x74, 0xd8, 0x73, 0xe0, 0x65, 0x22, 0x49, 0x01, 0x55,
      0x5f, 0xb8, 0x82, 0x15, 0x90, 0xa3, 0x3b, 0xac, 0xc6, 0x1e, 0x39, 0x70, 0x1c, 0xf9, 0xb4, 0x6b,
      0xd2, 0x5b, 0xf5, 0xf0, 0x59, 0x5b, 0xbe, 0x24, 0x65, 0x51, 0x41, 0x43, 0x8e, 0x7a, 0x10, 0x0b}}};

}  // namespace

Expected<SecretKey> SecretKey::generate() {
  Seed seed{};
  const Wiped wiped(seed);
  ISOBIT_RETURN_IF_ERROR(fill_random(seed));
  return from_seed(seed);
}

SecretKey SecretKey::from_seed(const Seed& seed) {
  SecretKey out;
  out.seed_ = seed;
  size_t size = out.public_.bytes.size();
  ERR_clear_error();
  const Key key = private_key(seed);
  if (EVP_PKEY_get_raw_public_key(key.get(), out.public_.bytes.data(), &size) != 1) {
    openssl_cannot("make a public key");
  }
  ISOBIT_CHECK(size == out.public_.bytes.size());
  return out;
}

SecretKey::~SecretKey() { OPENSSL_cleanse(seed_.data(), seed_.size()); }

Signature SecretKey::sign(ByteView message) const {
  ERR_clear_error();
  const Key key = private_key(seed_);
  const Context context(EVP_MD_CTX_new());
  Signature out;
  size_t size = out.bytes.size();
  if (context == nullptr ||
      EVP_DigestSignInit_ex(context.get(), nullptr, nullptr, library(), nullptr, key.get(), nullptr) != 1 ||
      EVP_DigestSign(context.get(), out.bytes.data(), &size, data_of(message), message.size()) != 1) {
    openssl_cannot("sign");
  }
  ISOBIT_CHECK(size == out.bytes.size());
  return out;
}

// A no is believed when OpenSSL says yes to what is known to be good, right then, and no to this one once more: "not
// valid" may end in a signed rejection of somebody's run.
bool verify(const PublicKey& key, ByteView message, const Signature& signature) {
  ERR_clear_error();
  if (says_yes(key, message, signature)) return true;
  if (!says_yes(kKnownKey, {}, kKnownSignature)) openssl_cannot("check a signature that is known to be good");
  const bool valid = says_yes(key, message, signature);
  ERR_clear_error();
  return valid;
}

std::string hex_of(const PublicKey& key) { return to_hex(key.bytes); }

Expected<PublicKey> read_key(ByteReader& reader, const char* field) {
  PublicKey key;
  ISOBIT_TRY(const ByteView bytes, reader.fixed(field, key.bytes.size()));
  std::copy(bytes.begin(), bytes.end(), key.bytes.begin());
  return key;
}

Expected<Signature> read_signature(ByteReader& reader, const char* field) {
  Signature signature;
  ISOBIT_TRY(const ByteView bytes, reader.fixed(field, signature.bytes.size()));
  std::copy(bytes.begin(), bytes.end(), signature.bytes.begin());
  return signature;
}

Expected<RunId> read_run_id(ByteReader& reader, const char* field) {
  RunId id;
  ISOBIT_TRY(const ByteView bytes, reader.fixed(field, id.size()));
  std::copy(bytes.begin(), bytes.end(), id.begin());
  return id;
}

Bytes signed_payload(std::string_view tag, const Digest& job_root, const RunId& run_id, const PublicKey& key,
                     uint64_t size, const Digest& root) {
  ByteWriter out;
  out.text("isobit.signed");
  out.u32(1);
  out.text(tag);
  out.fixed(job_root);
  out.fixed(run_id);
  out.fixed(key.bytes);
  out.u64(size);
  out.fixed(root);
  return out.take();
}

}  // namespace isobit::commit
