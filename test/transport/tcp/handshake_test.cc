// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "horovodpp/transport/system/owned_descriptor.h"

namespace hvd::transport {
namespace {

using ::testing::HasSubstr;

struct Wire {
  Wire() {
    std::array<int, 2> ends;
    EXPECT_EQ(
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    caller = OwnedDescriptor(ends[0]);
    listener = OwnedDescriptor(ends[1]);
  }
  OwnedDescriptor caller;
  OwnedDescriptor listener;
};

std::string received(const OwnedDescriptor& socket) {
  std::string bytes(4096, '\0');
  const ssize_t got = ::recv(socket.number(), bytes.data(), bytes.size(), 0);
  bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return bytes;
}

void send(const OwnedDescriptor& socket, const std::string& bytes) {
  ASSERT_EQ(::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

class HandshakeTest : public ::testing::Test {
 protected:
  Handshake caller(const JobKey& key) const {
    return {key, Handshake::Side::kCaller, {.rank = 3, .meeting = 7}};
  }
  Handshake listener(const JobKey& key) const {
    return {key, Handshake::Side::kListener, {.rank = 1, .meeting = 7}};
  }
  static void until_done(Handshake& one, int socket) {
    const auto done = one.proceed(socket);
    ASSERT_TRUE(done.ok()) << done.status();
    EXPECT_TRUE(*done);
  }

  const JobKey key_ = JobKey::random().value();
  Wire wire_;
};

TEST_F(HandshakeTest, IntroducesBothEndsAndReadsNoMore) {
  Handshake caller = this->caller(key_);
  Handshake listener = this->listener(key_);
  EXPECT_FALSE(caller.proceed(wire_.caller.number()).value());
  EXPECT_FALSE(listener.proceed(wire_.listener.number()).value());
  until_done(caller, wire_.caller.number());
  send(wire_.caller, "data");
  until_done(listener, wire_.listener.number());
  EXPECT_EQ(caller.other().rank, 1);
  EXPECT_EQ(listener.other().rank, 3);
  EXPECT_EQ(listener.other().meeting, 7u);
  EXPECT_EQ(received(wire_.listener), "data");
}

TEST_F(HandshakeTest, RefusesAnotherKey) {
  const JobKey other = JobKey::random().value();
  Handshake caller = this->caller(other);
  Handshake listener = this->listener(key_);
  EXPECT_FALSE(caller.proceed(wire_.caller.number()).value());
  EXPECT_FALSE(listener.proceed(wire_.listener.number()).value());
  EXPECT_TRUE(
      absl::IsPermissionDenied(caller.proceed(wire_.caller.number()).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(
      listener.proceed(wire_.listener.number()).status()));
}

TEST_F(HandshakeTest, RefusesItsOwnBytesSentBack) {
  Handshake listener = this->listener(key_);
  EXPECT_FALSE(listener.proceed(wire_.listener.number()).value());
  send(wire_.caller, received(wire_.caller));  // Its greeting,
  EXPECT_FALSE(listener.proceed(wire_.listener.number()).value());
  send(wire_.caller, received(wire_.caller));  // and its proof.
  EXPECT_TRUE(absl::IsPermissionDenied(
      listener.proceed(wire_.listener.number()).status()));
}

TEST_F(HandshakeTest, RefusesTheBytesOfAnEarlierHandshake) {
  Handshake caller = this->caller(key_);
  Handshake first = listener(key_);
  EXPECT_FALSE(caller.proceed(wire_.caller.number()).value());
  const std::string greeting = received(wire_.listener);
  send(wire_.caller, greeting);
  EXPECT_FALSE(first.proceed(wire_.listener.number()).value());
  EXPECT_TRUE(caller.proceed(wire_.caller.number()).value());
  const std::string proof = received(wire_.listener);

  Wire later;
  Handshake second = listener(key_);
  send(later.caller, greeting + proof);
  EXPECT_TRUE(absl::IsPermissionDenied(
      second.proceed(later.listener.number()).status()));
}

TEST_F(HandshakeTest, RecognizesOtherProgramsAndVersions) {
  Handshake one = listener(key_);
  send(wire_.caller, std::string(100, 'x'));
  EXPECT_THAT(
      std::string(one.proceed(wire_.listener.number()).status().message()),
      HasSubstr("another program than horovodpp"));

  Wire wire;
  Handshake caller = this->caller(key_);
  EXPECT_FALSE(caller.proceed(wire.caller.number()).value());
  std::string newer = received(wire.listener);
  ++newer[8];  // The version follows the magic number.
  send(wire.caller, newer);
  Handshake two = listener(key_);
  const auto status = two.proceed(wire.listener.number()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("another version"));
}

TEST_F(HandshakeTest, NoticesTheEndOfTheConnection) {
  Handshake one = listener(key_);
  wire_.caller = OwnedDescriptor();
  EXPECT_TRUE(
      absl::IsUnavailable(one.proceed(wire_.listener.number()).status()));
}

TEST(JobKey, IsReadFromItsOwnHexAndNothingElse) {
  const JobKey key = JobKey::random().value();
  const auto same = JobKey::from_hex(key.to_hex());
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->verify("message", key.prove("message")));
  EXPECT_FALSE(same->verify("another", key.prove("message")));
  EXPECT_NE(JobKey::random()->to_hex(), key.to_hex());
  for (const std::string& wrong :
       {std::string(), std::string("00"), std::string(64, 'x'),
        key.to_hex() + "00", key.to_hex() + "x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(JobKey::from_hex(wrong).status()))
        << wrong;
  }
}

// RFC 4231, test case 2 with its key filled up by zeros, which HMAC does anyway.
TEST(JobKey, ProvesByHmacSha256) {
  const std::string key = "4a656665" + std::string(56, '0');
  const JobKey::Proof proof =
      JobKey::from_hex(key)->prove("what do ya want for nothing?");
  std::string hex;
  for (const unsigned char byte : proof) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  EXPECT_EQ(hex,
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

}  // namespace
}  // namespace hvd::transport
