// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/preflight/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "horovodrun/preflight/dialog.h"
#include "horovodrun/preflight/doctor.h"
#include "horovodrun/system/environment.h"

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;
using Level = Finding::Level;

TEST(Links, MeasuresEachPairOnceInRoundsOfDifferentHosts) {
  for (std::size_t hosts = 0; hosts < 20; ++hosts) {
    std::set<HostPair> all;
    for (const auto& round : rounds_of_pairs(hosts, 100)) {
      std::set<std::size_t> busy;
      for (const HostPair& pair : round) {
        EXPECT_LT(pair.first, pair.second);
        EXPECT_LT(pair.second, hosts);
        EXPECT_TRUE(busy.insert(pair.first).second);
        EXPECT_TRUE(busy.insert(pair.second).second);
        EXPECT_TRUE(all.insert(pair).second);
      }
    }
    EXPECT_EQ(all.size(), hosts < 2 ? 0 : hosts * (hosts - 1) / 2);
  }
  EXPECT_EQ(rounds_of_pairs(100, 15).size(), 15u);
}

TEST(Links, UsesTheNetworkOfAllHosts) {
  const HostFacts a = {.interfaces = {{"lo", 0x7f000001, 8},
                                      {"docker0", 0xac110001, 16},
                                      {"e0", 0x0a000001, 24}}};
  HostFacts b = a;
  b.interfaces[2].address = 0x0a000002;
  EXPECT_EQ(address_between(a, b, {{0x0a000000, 24}}), 0x0a000002u);
  EXPECT_EQ(address_between(a, b, {}), 0x0a000002u);
  EXPECT_EQ(address_between(a, {.interfaces = {{"lo", 0x7f000001, 8}}}, {}),
            std::nullopt);
}

TEST(Links, PassesAnswersOnAsLines) {
  EXPECT_EQ(parse_link_answer(to_line({.port = 81}))->port, 81);
  const LinkFigures figures = {.latency_us = 51.5, .there = 941, .back = 9300};
  EXPECT_EQ(parse_link_answer(to_line({.figures = figures}))->figures, figures);
  EXPECT_EQ(parse_link_answer(to_line({.problem = "refused"}))->problem,
            "refused");
  for (const char* line :
       {"", "hello", "horovodrun-facts port 0", "horovodrun-facts port 65536",
        "horovodrun-facts link 1 2", "horovodrun-facts link 1 2 x"}) {
    EXPECT_FALSE(parse_link_answer(line)) << line;
  }
}

// Two ends on this host.
class LinkEnds : public testing::Test {
 protected:
  // Waits for the next answer of an end; its watchdog catches a hang.
  static LinkAnswer answer_of(Dialog& end) {
    for (;;) {
      std::vector<pollfd> fds;
      end.add_awaited(&fds);
      poll(fds.data(), fds.size(), 20);
      for (const std::string& line : end.advance()) {
        if (const auto answer = parse_link_answer(line)) return *answer;
      }
      if (end.has_ended()) return {.problem = "has ended"};
    }
  }

  static constexpr std::uint32_t kLoopback = 0x7f000001;
  Dialog server_{{HVD_HOROVODRUN, kMeasureLink}, current_environment()};
  Dialog client_{{HVD_HOROVODRUN, kMeasureLink}, current_environment()};
};

TEST_F(LinkEnds, MeasureLatencyAndBandwidth) {
  server_.send(serve_order("secret12"));
  const int port = answer_of(server_).port;
  ASSERT_NE(port, 0);
  client_.send(measure_order(kLoopback, port, "secret12"));
  const LinkAnswer answer = answer_of(client_);
  ASSERT_TRUE(answer.figures) << answer.problem;
  EXPECT_GT(answer.figures->latency_us, 0);
  EXPECT_GT(answer.figures->there, 0);
  EXPECT_GT(answer.figures->back, 0);
}

TEST_F(LinkEnds, RefuseAPeerWithoutTheKeyAndWaitForTheRightOne) {
  server_.send(serve_order("secret12"));
  const int port = answer_of(server_).port;
  client_.send(measure_order(kLoopback, port, "another1"));
  EXPECT_THAT(answer_of(client_).problem, HasSubstr("another host answers"));
  client_.send(measure_order(kLoopback, port, "secret12"));
  EXPECT_TRUE(answer_of(client_).figures);
}

TEST_F(LinkEnds, SayThatNothingListens) {
  client_.send(measure_order(kLoopback, 1, "secret12"));
  EXPECT_THAT(answer_of(client_).problem, HasSubstr("refused"));
}

Link link(std::size_t from, std::size_t to, double mbit_s,
          double latency_us = 50) {
  return {.from = from,
          .to = to,
          .figures = LinkFigures{latency_us, mbit_s, mbit_s}};
}

TEST(DoctorsLinks, WarnOfAPairThatIsFarSlower) {
  const HostAnswers answers = {
      .hosts = {{.host = "a"}, {.host = "b"}, {.host = "c"}}};
  std::vector<Link> links = {link(0, 1, 9400), link(0, 2, 940),
                             link(1, 2, 9300)};
  std::vector<Finding> findings = findings_of(answers, links);
  EXPECT_EQ(findings[0].level, Level::kOk);
  EXPECT_EQ(findings[0].host, "a - b");
  EXPECT_EQ(findings[0].text, "50 us, 9.4 Gbit/s there, 9.4 Gbit/s back");
  EXPECT_EQ(findings[1].level, Level::kWarning);
  EXPECT_THAT(findings[1].text, HasSubstr("940 Mbit/s there, 940 Mbit/s back; "
                                          "far slower"));
  EXPECT_THAT(to_json(findings), HasSubstr("\"latency_us\": 50, "
                                           "\"mbit_s_there\": 9400"));
  links[1] = link(0, 2, 9000, 900);
  EXPECT_EQ(findings_of(answers, links)[1].level, Level::kWarning);
  links[1] = link(0, 2, 9000, 140);
  EXPECT_EQ(findings_of(answers, links)[1].level, Level::kOk);
  links[1] = {.from = 0, .to = 2, .problem = "refused"};
  findings = findings_of(answers, links);
  EXPECT_EQ(findings[1].text, "could not be measured: refused");
  EXPECT_EQ(findings[1].level, Level::kWarning);
}

}  // namespace
}  // namespace hvd::launcher
