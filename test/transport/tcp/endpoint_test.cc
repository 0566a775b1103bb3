// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

namespace hvd::transport {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// An interface with an address that other hosts may reach; "": there is none.
std::string some_interface() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  std::string name;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (!host_addresses({one->ifa_name}).empty()) name = one->ifa_name;
  }
  ::freeifaddrs(all);
  return name;
}

InternetAddress bound_address(const TcpListener& listener) {
  sockaddr_storage storage = {};
  socklen_t bytes = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  EXPECT_EQ(::getsockname(listener.socket.number(), address, &bytes), 0);
  return address_in(*address).value_or(InternetAddress{});
}

TEST(TcpListener, IsBoundToTheOneNamedInterfaceThatTheHostHas) {
  const std::string name = some_interface();
  if (name.empty()) GTEST_SKIP() << "this host has no interface but loopback";
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{name}, {"nosuch0", name}}) {
    const auto listener = listen_at(names);
    ASSERT_TRUE(listener.ok()) << listener.status();
    ASSERT_THAT(listener->endpoints, SizeIs(1));
    EXPECT_EQ(bound_address(*listener), listener->endpoints[0].address);
    EXPECT_EQ(bound_address(*listener), host_addresses({name})[0]);
  }
}

TEST(TcpListener, NamesTheInterfacesOfAHostThatHasNoneOfThem) {
  const auto listener = listen_at({"nosuch0", "nosuch1"});
  EXPECT_TRUE(absl::IsNotFound(listener.status())) << listener.status();
  EXPECT_THAT(std::string(listener.status().message()),
              AllOf(HasSubstr("no address at nosuch0, nosuch1"),
                    HasSubstr("interfaces with addresses: lo")));
}

TEST(Endpoints, AreReadAsTheyAreWritten) {
  const std::string text = "10.0.0.1:4711,[fd00::1]:80";
  const auto endpoints = parse_endpoints(text);
  ASSERT_TRUE(endpoints.ok()) << endpoints.status();
  ASSERT_THAT(*endpoints, SizeIs(2));
  EXPECT_EQ(to_string((*endpoints)[0]) + "," + to_string((*endpoints)[1]),
            text);
  for (const char* bad : {"", "10.0.0.1", ":80", "10.0.0.1:0", "10.0.0.1:65536",
                          "host:80", "10.0.0.1:80,"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(parse_endpoints(bad).status())) << bad;
  }
}

}  // namespace
}  // namespace hvd::transport
