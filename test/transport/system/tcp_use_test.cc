// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/system/tcp_use.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

#include "horovodpp/transport/system/owned_descriptor.h"

namespace hvd::transport {
namespace {

TEST(TcpUse, CountsBytesThatTheOtherEndHas) {
  const OwnedDescriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.number(), generic, size), 0);
  ASSERT_EQ(::listen(listener.number(), 1), 0);
  ASSERT_EQ(::getsockname(listener.number(), generic, &size), 0);
  const OwnedDescriptor sender(::socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(::connect(sender.number(), generic, size), 0);
  const OwnedDescriptor receiver(::accept(listener.number(), nullptr, nullptr));

  const std::string sent(10'000, 'x');
  ASSERT_EQ(::write(sender.number(), sent.data(), sent.size()),
            static_cast<ssize_t>(sent.size()));
  std::string received(sent.size(), ' ');
  ASSERT_EQ(
      ::recv(receiver.number(), received.data(), sent.size(), MSG_WAITALL),
      static_cast<ssize_t>(sent.size()));
  // A connection that asks for an answer has its bytes confirmed.
  ASSERT_EQ(::write(receiver.number(), "x", 1), 1);
  ASSERT_EQ(::read(sender.number(), received.data(), 1), 1);

  const auto use = tcp_use(3, sender.number());
  ASSERT_TRUE(use);
  EXPECT_EQ(use->to, 3);
  // The kernel counts the connection's own first byte, too.
  EXPECT_GE(use->bytes, sent.size());
  EXPECT_LE(use->bytes, sent.size() + 1);
}

TEST(TcpUse, OtherDescriptorsHaveNone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const OwnedDescriptor one(ends[0]);
  const OwnedDescriptor two(ends[1]);
  EXPECT_FALSE(tcp_use(0, one.number()));
  EXPECT_FALSE(tcp_use(0, -1));
}

}  // namespace
}  // namespace hvd::transport
