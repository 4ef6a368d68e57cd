// What every decoder's test does to a valid file.
#pragma once

#include <gtest/gtest.h>

#include "isobit/base/bytes.h"

namespace isobit::formats {

// decode(bytes) must fail for every proper prefix of `valid`, and name the file in the message.
template <class Decode>
void expect_every_truncation_fails(const Bytes& valid, Decode decode) {
  ASSERT_TRUE(decode(ByteView(valid)));
  for (size_t n = 0; n < valid.size(); ++n) {
    const Bytes cut(valid.begin(), valid.begin() + static_cast<std::ptrdiff_t>(n));  // its own block, for the sanitizer
    const auto result = decode(ByteView(cut));
    ASSERT_FALSE(result) << "a file cut to " << n << " bytes is accepted";
    EXPECT_EQ(result.error().code, ErrorCode::kUnreadable) << n;
    EXPECT_NE(result.error().message.find("some.file"), std::string::npos) << result.error().message;
  }
}

// Every flipped bit either fails or decodes; it never crashes.
template <class Decode>
void survive_every_flipped_bit(Bytes valid, Decode decode) {
  for (size_t bit = 0; bit < valid.size() * 8; ++bit) {
    valid[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    (void)decode(ByteView(valid));
    valid[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
}

template <class T>
void expect_error(const Expected<T>& result, std::string_view part) {
  ASSERT_FALSE(result) << "accepted, expected: " << part;
  EXPECT_EQ(result.error().code, ErrorCode::kUnreadable);
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

}  // namespace isobit::formats
