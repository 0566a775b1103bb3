// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/networks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hvd::launcher {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Interface interface(const std::string& name, const std::string& address,
                    int prefix) {
  return {name, parse_address(address).value_or(0), prefix};
}

std::vector<std::string> texts(const std::vector<Network>& networks) {
  std::vector<std::string> all;
  for (const Network& network : networks) all.push_back(to_text(network));
  return all;
}

// Every host reaches every address of every other host.
std::set<ReachedAddress> all_reached(const std::vector<HostInterfaces>& hosts) {
  std::set<ReachedAddress> all;
  for (std::size_t from = 0; from < hosts.size(); ++from) {
    for (std::size_t to = 0; to < hosts.size(); ++to) {
      if (from == to) continue;
      for (const Interface& one : hosts[to].interfaces) {
        all.insert({from, to, one.address});
      }
    }
  }
  return all;
}

const std::vector<HostInterfaces> kTwo = {
    {"a",
     {interface("eA", "10.0.0.1", 24), interface("docker0", "172.17.0.1", 16)}},
    {"b",
     {interface("ethB0", "10.0.0.2", 24),
      interface("docker0", "172.17.0.1", 16)}}};

TEST(Networks, ExcludeABridgeThatLeadsBackToItsHost) {
  std::set<ReachedAddress> reached = all_reached(kTwo);
  std::erase_if(reached, [](const ReachedAddress& one) {
    return one.address == *parse_address("172.17.0.1");
  });
  EXPECT_THAT(texts(connecting_networks(kTwo, reached)),
              ElementsAre("10.0.0.0/24"));
}

TEST(Networks, AreAllThatAllHostsShare) {
  EXPECT_THAT(texts(connecting_networks(kTwo, all_reached(kTwo))),
              ElementsAre("10.0.0.0/24", "172.17.0.0/16"));
}

TEST(Networks, OfRoutedHostsAreThoseOfReachedAddresses) {
  const std::vector<HostInterfaces> hosts = {
      {"a", {interface("e", "10.0.1.5", 24)}},
      {"b", {interface("e", "10.0.2.5", 24)}}};
  EXPECT_THAT(texts(connecting_networks(hosts, all_reached(hosts))),
              ElementsAre("10.0.1.0/24", "10.0.2.0/24"));
}

TEST(Networks, AreUnknownIfOneHostIsNotReachedByAll) {
  std::vector<HostInterfaces> hosts = kTwo;
  hosts.push_back({"c", {interface("eC", "10.0.0.3", 24)}});
  std::set<ReachedAddress> reached = all_reached(hosts);
  reached.erase({1, 2, *parse_address("10.0.0.3")});
  EXPECT_THAT(texts(connecting_networks(hosts, reached)), IsEmpty());
}

TEST(Networks, NeedNoChoiceIfThereIsOne) {
  EXPECT_TRUE(has_one_network({{"a", {interface("e", "10.0.0.1", 24)}},
                               {"b", {interface("f", "10.0.0.2", 24)}}}));
  EXPECT_FALSE(has_one_network({{"a", {interface("e", "10.0.0.1", 24)}},
                                {"b", {interface("f", "10.0.0.1", 24)}}}));
  EXPECT_FALSE(has_one_network(kTwo));
}

TEST(Networks, AreThoseOfTheNamedInterfacesThatEachHostHas) {
  EXPECT_THAT(texts(*named_networks(kTwo, {"eA", "ethB0"})),
              ElementsAre("10.0.0.0/24"));
  EXPECT_FALSE(all_have_all(kTwo, {"eA", "ethB0"}));
  EXPECT_TRUE(all_have_all(kTwo, {"docker0"}));
}

TEST(Networks, RefuseNamesOfWhichAHostHasNone) {
  const auto networks = named_networks(kTwo, {"eA"});
  EXPECT_THAT(
      networks.status().ToString(),
      AllOf(HasSubstr("INVALID_ARGUMENT: host 'b' has no interface 'eA'"),
            HasSubstr("it has ethB0 (10.0.0.2/24), docker0 (172.17.0.1/16)"),
            HasSubstr("host 'a' has eA (10.0.0.1/24)")));
}

}  // namespace
}  // namespace hvd::launcher
