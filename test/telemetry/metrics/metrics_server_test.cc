// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/metrics/metrics_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/telemetry/metrics/scrape.h"

namespace hvd::telemetry {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string text() { return "horovodpp_a 1\n"; }

TEST(MetricsServer, ServesTheTextAtMetrics) {
  const int port = free_port();
  const auto server = MetricsServer::start("127.0.0.1", port, text);
  ASSERT_EQ(server.status(), absl::OkStatus());
  for (const char* page : {"/metrics", "/metrics?name=a"}) {
    const std::string answer = scrape(port, page);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 14\r\n"));
    EXPECT_THAT(answer, EndsWith("\r\n\r\nhorovodpp_a 1\n"));
  }
  EXPECT_THAT(scrape(port, "/else"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(answer_to(port, "POST /metrics HTTP/1.0\r\n\r\n"),
              StartsWith("HTTP/1.1 405 "));
}

TEST(MetricsServer, ServesOverVersion6) {
  const int port = free_port();
  const auto server = MetricsServer::start("::1", port, text);
  if (!server.ok()) GTEST_SKIP() << "this host has no IPv6";
  EXPECT_EQ(scrape(port), "");  // It is not at 127.0.0.1.
}

TEST(MetricsServer, AnswersSeveralClients) {
  const int port = free_port();
  const auto server = MetricsServer::start(
      "127.0.0.1", port, [] { return std::string(1 << 20, 'x'); });
  ASSERT_EQ(server.status(), absl::OkStatus());
  std::vector<std::size_t> sizes(8);
  std::vector<std::thread> clients;
  for (std::size_t& size : sizes) {
    clients.emplace_back([&size, port] { size = scrape(port).size(); });
  }
  for (std::thread& client : clients) client.join();
  for (const std::size_t size : sizes) EXPECT_GT(size, 1U << 20);
}

TEST(MetricsServer, OutlivesRequestsThatAreNone) {
  const int port = free_port();
  const auto server = MetricsServer::start("127.0.0.1", port, text);
  ASSERT_EQ(server.status(), absl::OkStatus());
  EXPECT_EQ(answer_to(port, "GET /metrics"), "");  // After its second.
  answer_to(port, std::string(100'000, 'x'));
  EXPECT_THAT(scrape(port), HasSubstr("200 OK"));
}

TEST(MetricsServer, AnExceptionIsAnAnswer) {
  const int port = free_port();
  const auto server = MetricsServer::start(
      "127.0.0.1", port,
      []() -> std::string { throw std::runtime_error("no metrics today"); });
  ASSERT_EQ(server.status(), absl::OkStatus());
  const std::string answer = scrape(port);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answer, EndsWith("no metrics today"));
}

TEST(MetricsServer, FreesItsPortWhenDestroyed) {
  const int port = free_port();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(MetricsServer::start("127.0.0.1", port, text).status(),
              absl::OkStatus());
  }
}

TEST(MetricsServer, AUsedPortIsAnError) {
  const int port = free_port();
  const auto first = MetricsServer::start("127.0.0.1", port, text);
  ASSERT_EQ(first.status(), absl::OkStatus());
  const auto second = MetricsServer::start("127.0.0.1", port, text);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("127.0.0.1:", port)));
  EXPECT_EQ(MetricsServer::start("no address", port, text).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace hvd::telemetry
