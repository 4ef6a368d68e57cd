#include "isobit/service/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "isobit/base/text.h"

namespace isobit::service {
namespace {

constexpr uint64_t kMaxPemBytes = 1 << 18;

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

Expected<std::string> read_text(const fs::path& path) {
  ISOBIT_TRY(const Bytes bytes, read_file(path, kMaxPemBytes));
  return std::string(bytes.begin(), bytes.end());
}

Owned<BIO> in_memory(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Nobody is asked for a passphrase: a service starts without anybody there.
int no_passphrase(char*, int, int, void*) { return -1; }

Expected<Owned<X509>> first_certificate(const std::string& text, const fs::path& path) {
  const Owned<BIO> bio = in_memory(text);
  Owned<X509> found(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  if (!found) return unreadable(text_of(path.string(), ": holds no certificate in PEM (-----BEGIN CERTIFICATE-----)"));
  return found;
}

}  // namespace

Expected<Tls> read_tls(const fs::path& certificate, const fs::path& key, const fs::path& authority) {
  Tls tls;
  ISOBIT_TRY(tls.certificate, read_text(certificate));
  ISOBIT_TRY(tls.key, read_text(key));
  ISOBIT_TRY(tls.authority, read_text(authority));
  ISOBIT_TRY(const Owned<X509> own, first_certificate(tls.certificate, certificate));
  ISOBIT_RETURN_IF_ERROR(first_certificate(tls.authority, authority));
  const Owned<BIO> bio = in_memory(tls.key);
  const Owned<EVP_PKEY> secret(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  const bool belongs = secret && X509_check_private_key(own.get(), secret.get()) == 1;
  ERR_clear_error();
  if (!secret) {
    return unreadable(text_of(key.string(), ": holds no private key in PEM that opens without a passphrase"));
  }
  if (!belongs) {
    return unreadable(text_of(key.string(), ": is not the key of the certificate in ", certificate.string()));
  }
  if (X509_cmp_current_time(X509_get0_notBefore(own.get())) > 0) {
    return unreadable(text_of(certificate.string(), ": is not valid yet; look at this machine's clock"));
  }
  if (X509_cmp_current_time(X509_get0_notAfter(own.get())) < 0) {
    return unreadable(text_of(certificate.string(), ": is no longer valid; have it renewed"));
  }
  return tls;
}

}  // namespace isobit::service
