// What OpenSSL says where memory runs out inside it, allocation by allocation.
#include <gtest/gtest.h>
#include <openssl/crypto.h>

#include <cstdlib>
#include <optional>

#include "isobit/base/machine_cannot.h"
#include "isobit/commit/signature.h"

namespace isobit::commit {
namespace {

// How many allocations from now on succeed, and whether only the next one fails or all that follow.
struct Memory {
  long left = -1;  // there is no end of it
  bool comes_back = true;
  bool has_failed = false;
};
Memory memory;

bool is_short() {
  if (memory.left < 0) return false;
  if (memory.left > 0) {
    --memory.left;
    return false;
  }
  memory.has_failed = true;
  if (memory.comes_back) memory.left = -1;
  return true;
}

void* take(size_t size, const char*, int) { return is_short() ? nullptr : std::malloc(size); }
void* resize(void* old, size_t size, const char*, int) { return is_short() ? nullptr : std::realloc(old, size); }
void give_back(void* old, const char*, int) { std::free(old); }

// OpenSSL takes these only before its first allocation.
const bool kCounted = CRYPTO_set_mem_functions(take, resize, give_back) == 1;

// Calls f with the first failure at every place in turn, until there is none. `check` sees each answer; none where f
// said that this machine cannot.
template <class F, class Check>
void with_each_allocation_failing(F f, Check check) {
  ASSERT_TRUE(kCounted);
  f();  // what is made once for the process is there
  for (const bool comes_back : {true, false}) {
    for (long at = 0;; ++at) {
      ASSERT_LT(at, 10000);
      std::optional<decltype(f())> answer;
      memory = {at, comes_back};
      try {
        answer = f();
      } catch (const MachineCannot&) {
      }
      const bool has_failed = memory.has_failed;
      memory = {};
      check(answer, at);
      if (!has_failed) {
        EXPECT_TRUE(answer);
        EXPECT_GT(at, 0) << "nothing was allocated, so nothing was tried";
        break;
      }
    }
  }
}

const SecretKey& key() {
  static const SecretKey made = [] {
    SecretKey::Seed seed{};
    seed[0] = 7;
    return SecretKey::from_seed(seed);
  }();
  return made;
}

TEST(WhereMemoryRunsOut, AGoodSignatureIsNeverCalledBad) {
  const Signature good = key().sign(as_bytes("head"));
  int unknown = 0;
  with_each_allocation_failing([&] { return verify(key().public_key(), as_bytes("head"), good); },
                               [&](const std::optional<bool>& answer, long at) {
                                 if (!answer) ++unknown;
                                 if (answer) {
                                   EXPECT_TRUE(*answer) << "allocation " << at;
                                 }
                               });
  EXPECT_GT(unknown, 0);
}

TEST(WhereMemoryRunsOut, ABadSignatureIsNeverCalledGood) {
  Signature bad = key().sign(as_bytes("head"));
  bad.bytes[40] ^= 1;
  with_each_allocation_failing([&] { return verify(key().public_key(), as_bytes("head"), bad); },
                               [&](const std::optional<bool>& answer, long at) {
                                 if (answer) {
                                   EXPECT_FALSE(*answer) << "allocation " << at;
                                 }
                               });
}

TEST(WhereMemoryRunsOut, NoOtherSignatureOrKeyIsMade) {
  const Signature good = key().sign(as_bytes("head"));
  with_each_allocation_failing([&] { return key().sign(as_bytes("head")); },
                               [&](const std::optional<Signature>& made, long at) {
                                 if (made) {
                                   EXPECT_EQ(*made, good) << "allocation " << at;
                                 }
                               });
  with_each_allocation_failing([&] { return SecretKey::from_seed(key().seed()).public_key(); },
                               [&](const std::optional<PublicKey>& made, long at) {
                                 if (made) {
                                   EXPECT_EQ(*made, key().public_key()) << "allocation " << at;
                                 }
                               });
}

}  // namespace
}  // namespace isobit::commit
