#include "isobit/formats/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>

#include "isobit/formats/malformed_for_test.h"

namespace isobit::formats {
namespace {

Bytes compressed(ByteView data) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes out(deflateBound(&z, data.size()));
  z.next_in = const_cast<Bytef*>(data.data());
  z.avail_in = static_cast<uInt>(data.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

Bytes example() {
  Bytes out(300000);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(i * i >> 9);
  return out;
}

auto decode(ByteView data) { return gunzip(data, "some.file", 1 << 20); }

TEST(Gunzip, RoundTripsAlsoSeveralMembersAndNothing) {
  EXPECT_TRUE(gzip_available());
  const Bytes data = example(), one = compressed(data);
  EXPECT_EQ(decode(one).value(), data);
  EXPECT_TRUE(decode(compressed({}))->empty());
  Bytes two = one;
  two.insert(two.end(), one.begin(), one.end());
  EXPECT_EQ(decode(two)->size(), 2 * data.size());
}

TEST(Gunzip, GivesTheFrontAlone) {
  const Bytes data = example(), one = compressed(data);
  for (const uint64_t size : {0, 1, 40, 70000, 299999, 300000, 300001}) {
    const Bytes front = gunzip_front(one, "some.file", size).value();
    EXPECT_EQ(front, Bytes(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(std::min<uint64_t>(size, 300000))));
  }
  // Damage behind the front is not seen, damage in it is.
  Bytes cut(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(one.size() / 2));
  EXPECT_TRUE(gunzip_front(cut, "some.file", 40));
  expect_error(gunzip_front(cut, "some.file", 300000), "cut short");
}

TEST(Gunzip, StopsAtTheLimitExactly) {
  const Bytes data = example(), one = compressed(data);
  EXPECT_TRUE(gunzip(one, "some.file", data.size()));
  expect_error(gunzip(one, "some.file", data.size() - 1), "more than 299999 bytes");
  Bytes two = one;
  two.insert(two.end(), one.begin(), one.end());
  expect_error(gunzip(two, "some.file", 2 * data.size() - 1), "more than");
}

TEST(Gunzip, ABombStopsEarly) {
  const Bytes bomb = compressed(Bytes(64 << 20));
  expect_error(gunzip(bomb, "some.file", 1 << 16), "more than 65536");
}

TEST(Gunzip, RefusesEveryTruncationAndSurvivesEveryFlippedBit) {
  const Bytes bytes = compressed(as_bytes("a small file, a small file, a small file"));
  expect_every_truncation_fails(bytes, decode);
  survive_every_flipped_bit(bytes, decode);
}

TEST(Gunzip, RefusesDamageAndWhatFollows) {
  const Bytes good = compressed(as_bytes("some text"));
  Bytes bad = good;
  bad[bad.size() - 5] ^= 1;  // CRC
  expect_error(decode(bad), "incorrect data check");
  bad = good;
  bad[bad.size() - 1] ^= 1;  // length
  expect_error(decode(bad), "incorrect length check");
  bad = good;
  bad.push_back(0);
  expect_error(decode(bad), "1 bytes that are no gzip follow");
  expect_error(decode(as_bytes("plain")), "is no gzip file");
  expect_error(decode({}), "is no gzip file");
}

}  // namespace
}  // namespace isobit::formats
