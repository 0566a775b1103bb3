// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/command_line/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace hvd::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Hosts, AreReadFromAList) {
  EXPECT_THAT(*parse_hosts("worker-0:2,10.0.0.7:4,a_b.example.com:1"),
              ElementsAre(Host{"worker-0", 2}, Host{"10.0.0.7", 4},
                          Host{"a_b.example.com", 1}));
}

TEST(Hosts, RefuseAnEntryThatIsNotNameAndSlots) {
  for (const char* text : {"", "a", "a:", ":2", "a:0", "a:-1", "a:b", "a:2,",
                           "a b:2", "a:2:3", "a:99999999999", "$(id):1"}) {
    const auto hosts = parse_hosts(text);
    ASSERT_FALSE(hosts.ok()) << text;
    EXPECT_THAT(std::string(hosts.status().message()),
                HasSubstr("worker-0:2,worker-1:2"));
  }
}

TEST(Hosts, AreReadFromAFile) {
  const auto hosts = parse_hostfile(
      "\n# all of them\na slots=2 max_slots=4\r\n"
      "\t b   slots=1 # the small one\n\nc");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_THAT(*hosts, ElementsAre(Host{"a", 2}, Host{"b", 1}, Host{"c", 1}));
}

TEST(Hosts, NameTheMalformedLineOfAFile) {
  EXPECT_THAT(
      std::string(parse_hostfile("a slots=2\nb slots=x").status().message()),
      HasSubstr("line 2"));
  EXPECT_THAT(std::string(parse_hostfile("a:2").status().message()),
              HasSubstr("line 1: 'a:2' is not a host name"));
  EXPECT_THAT(std::string(parse_hostfile("# none\n").status().message()),
              HasSubstr("names no host"));
}

TEST(Hosts, AreFilledInOrder) {
  const std::vector<Host> hosts = {{"a", 2}, {"b", 4}, {"c", 1}};
  EXPECT_THAT(*fill_hosts(hosts, 1), ElementsAre(Host{"a", 1}));
  EXPECT_THAT(*fill_hosts(hosts, 5), ElementsAre(Host{"a", 2}, Host{"b", 3}));
  EXPECT_EQ(*fill_hosts(hosts, 7), hosts);
}

TEST(Hosts, RefuseMoreRanksThanSlots) {
  EXPECT_THAT(
      std::string(fill_hosts({{"a", 2}, {"b", 1}}, 4).status().message()),
      HasSubstr("requested more processes (4) than there are available slots "
                "(3)"));
}

TEST(Hosts, KnowTheirOwn) {
  EXPECT_TRUE(all_local({{"localhost", 1}, {"127.0.0.1", 1}}, "a"));
  EXPECT_TRUE(all_local({{"a", 1}, {"a.example.com", 1}}, "a.example.com"));
  EXPECT_FALSE(all_local({{"a", 1}, {"b", 1}}, "a"));
}

TEST(Hosts, AreNoOptions) {
  EXPECT_FALSE(parse_hosts("-x:2").ok());
  EXPECT_FALSE(parse_hostfile("-oProxyCommand slots=2\n").ok());
}

TEST(Hosts, AreReadOrRefusedInAnyText) {
  std::mt19937 random(1);
  const std::string marks = "ab:,= \n\t#-19slots=.";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (auto size = random() % 30; size > 0; --size) {
      text += random() % 50 == 0 ? static_cast<char>(random() % 256)
                                 : marks[random() % marks.size()];
    }
    for (const auto& hosts : {parse_hosts(text), parse_hostfile(text)}) {
      if (hosts.ok()) {
        EXPECT_GT(slots_of(*hosts), 0) << text;
      } else {
        EXPECT_FALSE(hosts.status().message().empty()) << text;
      }
    }
  }
}

}  // namespace
}  // namespace hvd::launcher
