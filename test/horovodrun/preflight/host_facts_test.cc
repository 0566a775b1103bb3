// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/host_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_split.h"
#include "horovodrun/preflight/describe_host.h"

namespace hvd::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

HostFacts read_all(const std::string& text) {
  HostFacts facts;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    read_line(line, &facts);
  }
  return facts;
}

TEST(HostFacts, SurviveTheirLinesAmongOthers) {
  const HostFacts facts = {
      .version = "0.1.0+3.gabc",
      .host = "b.example",
      .interfaces = {{"eth0", *parse_address("10.0.0.1"), 24},
                     {"eth0:1", *parse_address("192.168.7.9"), 16}},
      .port = 40001,
      .id = "cafe",
      .problem = "cannot make /logs:\nPermission denied"};
  const HostFacts read =
      read_all("Welcome to b\n" + to_lines(facts) + "version 7\n");
  EXPECT_EQ(read.version, facts.version);
  EXPECT_EQ(read.host, facts.host);
  EXPECT_EQ(read.interfaces, facts.interfaces);
  EXPECT_EQ(read.port, facts.port);
  EXPECT_EQ(read.id, facts.id);
  EXPECT_EQ(read.problem, "cannot make /logs: Permission denied");
}

TEST(HostFacts, IgnoreLinesThatCannotBeRead) {
  for (const char* line :
       {"interface eth0", "interface eth0 10.0.0.1", "interface e 10.0.0/24",
        "interface e 10.0.0.1/33", "interface e 10.0.0.1/-1", "listens 0 cafe",
        "listens 65536 cafe", "listens x cafe", "version", "", "interface"}) {
    const HostFacts facts = read_all(std::string(kFactsWord) + line);
    EXPECT_THAT(facts.interfaces, IsEmpty()) << line;
    EXPECT_EQ(facts.port, 0) << line;
    EXPECT_EQ(facts.version, "") << line;
  }
}

TEST(HostFacts, OfThisHostHaveItsVersionAndLoopback) {
  const HostFacts facts = own_facts();
  EXPECT_NE(facts.version, "");
  EXPECT_NE(facts.host, "");
}

TEST(HostFacts, NameTheNetworkOfAnInterface) {
  EXPECT_EQ(to_text(Interface{"e", *parse_address("10.1.2.3"), 8}.network()),
            "10.0.0.0/8");
  EXPECT_EQ(to_text(Interface{"e", *parse_address("10.1.2.3"), 32}.network()),
            "10.1.2.3/32");
  EXPECT_EQ(to_text(Interface{"e", *parse_address("10.1.2.3"), 0}.network()),
            "0.0.0.0/0");
}

TEST(DescribeHost, ReadsTheTargetsThatAProbeWrites) {
  const std::string lines =
      target_lines({{3, *parse_address("10.0.0.2"), 40002, "beef"}});
  const std::vector<std::string> all = absl::StrSplit(lines, '\n');
  ASSERT_THAT(all, SizeIs(3));
  const auto target = parse_target(all[0]);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->host, 3u);
  EXPECT_EQ(address_text(target->address), "10.0.0.2");
  EXPECT_EQ(target->port, 40002);
  EXPECT_EQ(target->id, "beef");
  EXPECT_FALSE(parse_target("target 3 10.0.0 40002 beef"));
  EXPECT_FALSE(parse_target("target 3 10.0.0.2 0 beef"));
  EXPECT_FALSE(parse_target("target 3 10.0.0.2"));
  EXPECT_EQ(parse_reached(reached_line(12)), 12u);
  EXPECT_FALSE(parse_reached("reached 12"));
}

}  // namespace
}  // namespace hvd::launcher
