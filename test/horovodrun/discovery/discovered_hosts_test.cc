// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/discovery/discovered_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;
using Hosts = std::vector<Host>;

Hosts hosts_in(const std::string& text) {
  const auto hosts = parse_discovered(text, 4);
  EXPECT_TRUE(hosts.ok()) << hosts.status();
  return hosts.value_or(Hosts());
}

TEST(DiscoveredHosts, AreTheLines) {
  EXPECT_EQ(hosts_in("b:2\na\n"), (Hosts{{"b", 2}, {"a", 4}}));
  EXPECT_EQ(hosts_in("\n  b:2 \r\n\na"), (Hosts{{"b", 2}, {"a", 4}}));
  EXPECT_EQ(hosts_in(""), Hosts());
  EXPECT_EQ(hosts_in("\n \n"), Hosts());
}

TEST(DiscoveredHosts, GetTheSlotsOfTheirLastLine) {
  EXPECT_EQ(hosts_in("a:2\nb:1\na:3\n"), (Hosts{{"a", 3}, {"b", 1}}));
  EXPECT_EQ(hosts_in("a:2\nb:0\n"), (Hosts{{"a", 2}}));
  EXPECT_EQ(hosts_in("a:2\na:0\n"), Hosts());
}

TEST(DiscoveredHosts, AreRefusedWithTheLineThatIsWrong) {
  for (const char* line : {"a b", "a:", "a:x", "a:-1", ":2", "-a:2", "a:1:2",
                           "a slots=2", "a:99999999"}) {
    const auto hosts = parse_discovered(std::string("c:1\n") + line, 4);
    EXPECT_TRUE(absl::IsInvalidArgument(hosts.status())) << line;
    EXPECT_THAT(std::string(hosts.status().message()),
                HasSubstr("it printed '" + std::string(line) + "'"));
  }
}

}  // namespace
}  // namespace hvd::launcher
