#include "isobit/commit/signature.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "isobit/base/random.h"
#include "isobit/base/text.h"

namespace isobit::commit {
namespace {

struct Free {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Context = std::unique_ptr<EVP_MD_CTX, Free>;

Key private_key(const SecretKey::Seed& seed) {
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
  ISOBIT_CHECK(key != nullptr);
  return key;
}

// OpenSSL does not take a null pointer for an empty message.
const uint8_t* data_of(ByteView message) {
  static constexpr uint8_t kNothing = 0;
  return message.empty() ? &kNothing : message.data();
}

}  // namespace

Expected<SecretKey> SecretKey::generate() {
  Seed seed;
  ISOBIT_RETURN_IF_ERROR(fill_random(seed));
  SecretKey key = from_seed(seed);
  OPENSSL_cleanse(seed.data(), seed.size());
  return key;
}

SecretKey SecretKey::from_seed(const Seed& seed) {
  SecretKey out;
  out.seed_ = seed;
  size_t size = out.public_.bytes.size();
  const int done = EVP_PKEY_get_raw_public_key(private_key(seed).get(), out.public_.bytes.data(), &size);
  ISOBIT_CHECK(done == 1 && size == out.public_.bytes.size());
  return out;
}

SecretKey::~SecretKey() { OPENSSL_cleanse(seed_.data(), seed_.size()); }

Signature SecretKey::sign(ByteView message) const {
  const Key key = private_key(seed_);
  const Context context(EVP_MD_CTX_new());
  Signature out;
  size_t size = out.bytes.size();
  ISOBIT_CHECK(context != nullptr && EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1);
  const int done = EVP_DigestSign(context.get(), out.bytes.data(), &size, data_of(message), message.size());
  ISOBIT_CHECK(done == 1 && size == out.bytes.size());
  return out;
}

bool verify(const PublicKey& key, ByteView message, const Signature& signature) {
  const Key raw(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.bytes.data(), key.bytes.size()));
  const Context context(EVP_MD_CTX_new());
  ISOBIT_CHECK(raw != nullptr && context != nullptr);
  ISOBIT_CHECK(EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, raw.get()) == 1);
  return EVP_DigestVerify(context.get(), signature.bytes.data(), signature.bytes.size(), data_of(message),
                          message.size()) == 1;
}

std::string hex_of(const PublicKey& key) { return to_hex(key.bytes); }

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
