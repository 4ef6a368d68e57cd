// Pieces of answers, what a party says of itself, and connections in bounds.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/service/acceptor.h"
#include "isobit/service/event_log.h"
#include "isobit/service/pieces.h"
#include "isobit/verify/testing.h"

namespace isobit::service {
namespace {

TEST(Pieces, MessagesComeTogetherAgain) {
  const std::vector<Bytes> messages = {Bytes(3 * kPieceBytes, 1), {}, Bytes(kPieceBytes + 1, 2), Bytes(5, 3)};
  Assembly assembly(4 * kPieceBytes + 6);
  size_t pieces = 0;
  for (const PieceView& piece : cut(messages)) {
    EXPECT_LE(piece.bytes.size(), kPieceBytes);
    EXPECT_TRUE(assembly.add(piece.bytes, piece.ends));
    ++pieces;
  }
  EXPECT_EQ(pieces, 7u);
  EXPECT_EQ(*assembly.finish(), messages);
  EXPECT_TRUE(cut({}).empty());
  EXPECT_TRUE(Assembly(0).finish()->empty());
}

TEST(Pieces, NoMoreIsHeldThanMayBe) {
  Assembly assembly(10);
  EXPECT_TRUE(assembly.add(Bytes(10, 1), false));
  EXPECT_FALSE(assembly.finish());
  EXPECT_FALSE(assembly.add(Bytes(1, 1), true));
  Assembly many(10);
  for (size_t i = 0; i < kMaxSaid; ++i) EXPECT_TRUE(many.add({}, true));
  EXPECT_FALSE(many.add({}, true));
}

TEST(Pieces, WhatAPartySaysOfItself) {
  verify::EngagementTerms terms;
  terms.trainer_keys = {verify::testing::key_of(2).public_key()};
  About about{dispute::Party::kChallenger,
              *verify::make_engagement(terms, verify::testing::key_of(1), verify::testing::key_of(2)),
              {verify::testing::key_of(5).public_key(), verify::testing::key_of(6).public_key()}};
  const std::string good = encode(about);
  EXPECT_EQ(*decode_about(as_bytes(good), "test"), about);
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(decode_about(as_bytes(good).first(size), "test") == about);
  about.challenger_keys.resize(kMaxChallengerKeys + 1);
  const auto many = decode_about(as_bytes(encode(about)), "test");
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().message.find("1025, at most 1024"), std::string::npos) << many.error().message;
}

Descriptor connect_to(const std::string& address) {
  Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  return fd;
}

bool soon(const std::function<bool()>& condition) {
  for (int i = 0; i < 6000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

// The connections that an acceptor handed on, in their order.
class Taken {
 public:
  void take(int fd) {
    const std::scoped_lock lock(mutex_);
    taken_.emplace_back(fd);
  }
  size_t count() const {
    const std::scoped_lock lock(mutex_);
    return taken_.size();
  }
  void end(size_t i) {
    const std::scoped_lock lock(mutex_);
    ::shutdown(taken_[i].get(), SHUT_RDWR);
    taken_[i].close();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Descriptor> taken_;
};

TEST(Acceptor, ThoseBeyondTheLimitWaitUntilOneEnds) {
  Taken taken;
  const auto acceptor = Acceptor::listen("127.0.0.1:0", 2, [&](int fd) { taken.take(fd); }).value();
  std::vector<Descriptor> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(connect_to(acceptor->address()));
  EXPECT_TRUE(soon([&] { return taken.count() == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(taken.count(), 2u);
  EXPECT_EQ(acceptor->connections(), 2u);
  clients[0].close();  // the caller ends one
  EXPECT_TRUE(soon([&] { return taken.count() == 3; }));
  taken.end(1);  // and whoever has it another
  EXPECT_TRUE(soon([&] { return taken.count() == 4; }));
  char byte = 0;
  EXPECT_EQ(::read(clients[1].get(), &byte, 1), 0);  // which is over for its caller, too
  EXPECT_EQ(acceptor->connections(), 2u);
}

TEST(Acceptor, WhoSaysNothingGivesWayToWhoWaits) {
  Taken taken;
  const auto acceptor = Acceptor::listen("127.0.0.1:0", 2, [&](int fd) { taken.take(fd); }).value();
  std::vector<Descriptor> clients;
  for (size_t i = 0; i < 2; ++i) {
    clients.push_back(connect_to(acceptor->address()));
    EXPECT_TRUE(soon([&] { return taken.count() == i + 1; }));
  }
  sockaddr_in own{};
  socklen_t length = sizeof own;
  ASSERT_EQ(::getsockname(clients[0].get(), reinterpret_cast<sockaddr*>(&own), &length), 0);
  acceptor->heard(text_of("ipv4:127.0.0.1:", ntohs(own.sin_port)));
  std::this_thread::sleep_for(Acceptor::kSilence + std::chrono::milliseconds(50));
  EXPECT_EQ(acceptor->connections(), 2u) << "nobody waits";
  clients.push_back(connect_to(acceptor->address()));
  EXPECT_TRUE(soon([&] { return taken.count() == 3; }));
  char byte = 0;
  EXPECT_EQ(::read(clients[1].get(), &byte, 1), 0) << "the oldest of those that said nothing";
  EXPECT_EQ(::recv(clients[0].get(), &byte, 1, MSG_DONTWAIT), -1) << "who called is there";
  clients.push_back(connect_to(acceptor->address()));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(taken.count(), 3u) << "the other one has not been silent for long";
}

TEST(Acceptor, AddressesThatAreNone) {
  const auto listen = [](const std::string& address) {
    return Acceptor::listen(address, 1, [](int fd) { ::close(fd); });
  };
  for (const char* address : {"", ":1", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http", "::1:7420", "127.0.0.1:-1"}) {
    const auto made = listen(address);
    ASSERT_FALSE(made) << address;
    EXPECT_EQ(made.error().code, ErrorCode::kUsage) << made.error().message;
  }
  const auto first = listen("127.0.0.1:0").value();
  const auto second = listen(first->address());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(second.error().message.find(first->address()), std::string::npos);
}

TEST(EventLog, EveryLineIsOneObjectAndStrangersFillNoDisk) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Descriptor read_end(ends[0]), write_end(ends[1]);
  EventLog log(write_end.get());
  log.event("odd", {{"text", "line\nbreak \xff \x1b[31m"}});
  for (int i = 0; i < 100; ++i) log.limited("refused", {{"reason", "none"}});
  write_end.close();
  std::string text(1 << 16, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, ::read(read_end.get(), text.data(), text.size()))));
  size_t lines = 0;
  for (size_t at = 0; at < text.size(); ++lines) {
    const size_t end = text.find('\n', at);
    const auto line = nlohmann::json::parse(text.substr(at, end - at));
    EXPECT_TRUE(line.contains("time") && line.contains("event"));
    at = end + 1;
  }
  EXPECT_GE(lines, 11u);
  EXPECT_LE(lines, 31u);  // of two seconds, if the clock turns
}

}  // namespace
}  // namespace isobit::service
