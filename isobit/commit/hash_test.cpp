#include "isobit/commit/hash.h"

#include <gtest/gtest.h>

namespace isobit::commit {
namespace {

// FIPS 180-4 examples.
TEST(Sha256, AgreesWithThePublishedExamples) {
  EXPECT_EQ(hex_of(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of(sha256(as_bytes("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of(sha256(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex_of(sha256(as_bytes(std::string(1000000, 'a')))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheSameAsTheWholeAtEverySplit) {
  std::string text;
  for (int i = 0; i < 200; ++i) text.push_back(static_cast<char>(i * 7));
  const Digest whole = sha256(as_bytes(text));
  for (size_t split = 0; split <= text.size(); ++split) {
    Sha256 hash;
    hash.update(as_bytes(text).first(split));
    const Sha256 prefix = hash;
    hash.update(as_bytes(text).subspan(split));
    EXPECT_EQ(hash.digest(), whole);
    EXPECT_EQ(hash.digest(), whole) << "digest() changed the state";
    EXPECT_EQ(prefix.digest(), sha256(as_bytes(text).first(split))) << "a copy is not independent";
  }
}

TEST(TaggedHash, IsTheHashOfTheWrittenBytes) {
  ByteWriter bytes;
  bytes.text("isobit.example");
  bytes.u32(3);
  bytes.text("payload");
  EXPECT_EQ(tagged_hash("isobit.example", 3, as_bytes("payload")), sha256(bytes.view()));
}

TEST(TaggedHash, SeparatesTagVersionAndPayload) {
  const Digest base = tagged_hash("isobit.a", 1, as_bytes("bc"));
  EXPECT_NE(base, tagged_hash("isobit.ab", 1, as_bytes("c")));
  EXPECT_NE(base, tagged_hash("isobit.a", 2, as_bytes("bc")));
  EXPECT_NE(base, tagged_hash("isobit.a", 1, as_bytes("bcd")));
  EXPECT_NE(tagged_hash("isobit.a", 1, {}), base);
}

TEST(TaggedHashDeathTest, RefusesTagsThatCouldLookLikeALeafOrNode) {
  EXPECT_DEATH(tagged_hash("a", 1, {}), "tag.size");
  EXPECT_DEATH(tagged_hash("", 1, {}), "tag.size");
}

TEST(DigestFromHex, ReadsWhatHexOfWritesAndNothingElse) {
  const Digest digest = sha256({});
  EXPECT_EQ(digest_from_hex(hex_of(digest), "root").value(), digest);
  EXPECT_FALSE(digest_from_hex(hex_of(digest).substr(1), "root"));
  EXPECT_FALSE(digest_from_hex(hex_of(digest) + "00", "root"));
  const auto bad = digest_from_hex(std::string(64, 'g'), "root of the job");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("root of the job"), std::string::npos);
}

}  // namespace
}  // namespace isobit::commit
