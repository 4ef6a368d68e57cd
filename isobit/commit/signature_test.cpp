#include "isobit/commit/signature.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

namespace isobit::commit {
namespace {

template <class T>
T array_of(std::string_view hex) {
  const Bytes bytes = from_hex(hex).value();
  T out;
  EXPECT_EQ(bytes.size(), out.size());
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

struct Vector {
  const char *seed, *key, *message, *signature;
};

// RFC 8032, section 7.1: TEST 1, 2, 3 and TEST SHA(abc).
const Vector kVectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
     "d25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
     "387b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
     "4a7c15e9716ed28dc027beceea1ec40a"},
    {"833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
     "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
     "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
     "454d4423643ce80e2a9ac94fa54ca49f",
     "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e030"
     "3dca179c138ac17ad9bef1177331a704"},
};

TEST(Ed25519, AgreesWithRfc8032) {
  for (const Vector& v : kVectors) {
    const SecretKey key = SecretKey::from_seed(array_of<SecretKey::Seed>(v.seed));
    const Bytes message = from_hex(v.message).value();
    EXPECT_EQ(hex_of(key.public_key()), v.key);
    EXPECT_EQ(to_hex(key.sign(message).bytes), v.signature);
    EXPECT_TRUE(verify(key.public_key(), message, key.sign(message)));
  }
}

TEST(Ed25519, EveryFlippedBitOfTheSignatureAndOtherMessagesFail) {
  const SecretKey key = SecretKey::from_seed(array_of<SecretKey::Seed>(kVectors[0].seed));
  const SecretKey other = SecretKey::from_seed(array_of<SecretKey::Seed>(kVectors[1].seed));
  const Signature good = key.sign(as_bytes("head"));
  for (size_t bit = 0; bit < 512; ++bit) {
    Signature bad = good;
    bad.bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_FALSE(verify(key.public_key(), as_bytes("head"), bad)) << bit;
  }
  EXPECT_FALSE(verify(key.public_key(), as_bytes("Head"), good));
  EXPECT_FALSE(verify(key.public_key(), {}, good));
  EXPECT_FALSE(verify(other.public_key(), as_bytes("head"), good));
}

TEST(Ed25519, AKeyThatIsNoPointVerifiesNothing) {
  PublicKey key;
  key.bytes.fill(0xff);
  EXPECT_FALSE(verify(key, as_bytes("head"), Signature{}));
}

TEST(SecretKey, GeneratedKeysDiffer) {
  const auto a = SecretKey::generate(), b = SecretKey::generate();
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->seed(), b->seed());
  EXPECT_TRUE(verify(a->public_key(), as_bytes("x"), a->sign(as_bytes("x"))));
}

TEST(SignedPayload, IsTheWrittenBytesAndBindsEveryField) {
  Digest job{}, root{};
  job[0] = 1;
  root[0] = 2;
  RunId run{};
  run[0] = 3;
  PublicKey key;
  key.bytes[0] = 4;
  const Bytes payload = signed_payload("isobit.head", job, run, key, 7, root);
  ByteWriter expected;
  expected.text("isobit.signed");
  expected.u32(1);
  expected.text("isobit.head");
  expected.fixed(job);
  expected.fixed(run);
  expected.fixed(key.bytes);
  expected.u64(7);
  expected.fixed(root);
  EXPECT_EQ(payload, expected.view());
  EXPECT_NE(payload, signed_payload("isobit.list", job, run, key, 7, root));
  EXPECT_NE(payload, signed_payload("isobit.head", job, run, key, 8, root));
  EXPECT_NE(payload, signed_payload("isobit.head", root, run, key, 7, root));
  EXPECT_NE(payload, signed_payload("isobit.head", job, run, PublicKey{}, 7, root));
}

TEST(KeyFile, RoundTripsAndRefusesEveryOtherText) {
  const SecretKey key = SecretKey::from_seed(array_of<SecretKey::Seed>(kVectors[2].seed));
  const std::string secret = encode_secret_key(key), open = encode_public_key(key.public_key());
  EXPECT_EQ(secret, std::string("isobit-ed25519-secret-1 ") + kVectors[2].seed + "\n");
  EXPECT_EQ(decode_secret_key(as_bytes(secret), "f")->seed(), key.seed());
  EXPECT_EQ(decode_public_key(as_bytes(open), "f").value(), key.public_key());
  for (size_t n = 0; n < secret.size(); ++n) EXPECT_FALSE(decode_secret_key(as_bytes(secret).first(n), "f")) << n;
  for (size_t n = 0; n < open.size(); ++n) EXPECT_FALSE(decode_public_key(as_bytes(open).first(n), "f")) << n;
  EXPECT_FALSE(decode_secret_key(as_bytes(secret + "\n"), "f"));
  std::string upper = secret;
  upper[24] = 'C';
  EXPECT_FALSE(decode_secret_key(as_bytes(upper), "f"));
  const auto swapped = decode_public_key(as_bytes(secret), "trainer.pub");
  ASSERT_FALSE(swapped);
  EXPECT_NE(swapped.error().message.find("trainer.pub"), std::string::npos);
  EXPECT_EQ(swapped.error().message.find(kVectors[2].seed), std::string::npos) << "a message shows the secret";
}

TEST(KeyFile, IsPrivateAndNeverOverwritten) {
  const fs::path folder = fs::path(testing::TempDir()) / "isobit_key_file_test";
  fs::remove_all(folder);
  ASSERT_TRUE(make_folder(folder));
  const SecretKey key = SecretKey::generate().value(), other = SecretKey::generate().value();
  ASSERT_TRUE(write_secret_key(folder / "k.secret", key));
  ASSERT_TRUE(write_public_key(folder / "k.public", key.public_key()));
  struct stat info {};
  ASSERT_EQ(::stat((folder / "k.secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  const Status again = write_secret_key(folder / "k.secret", other);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kUsage);
  EXPECT_EQ(read_secret_key(folder / "k.secret")->seed(), key.seed());
  EXPECT_EQ(read_public_key(folder / "k.public").value(), key.public_key());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2) << "a temporary was left";
  EXPECT_EQ(write_secret_key(folder / "absent" / "k", key).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(read_secret_key(folder / "absent").error().code, ErrorCode::kUnreadable);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace isobit::commit
