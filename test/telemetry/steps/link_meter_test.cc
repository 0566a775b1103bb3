// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/steps/link_meter.h"

#include <gtest/gtest.h>

#include <vector>

namespace hvd::telemetry {
namespace {

using Uses = std::vector<LinkUse>;

TEST(LinkMeter, MeasuresSinceTheLastLookTheSlowestFirst) {
  LinkMeter meter;
  auto links = meter.links(
      Uses{{.to = 1, .bytes = 8'000'000, .busy_microseconds = 4'000},
           {.to = 2, .bytes = 4'000'000, .busy_microseconds = 4'000}});
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].to, 2);
  EXPECT_DOUBLE_EQ(links[0].bytes_per_ms(), 1'000'000);
  links = meter.links(
      Uses{{.to = 1, .bytes = 9'000'000, .busy_microseconds = 14'000},
           {.to = 2, .bytes = 4'100'000, .busy_microseconds = 8'000}});
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].to, 1);
  EXPECT_DOUBLE_EQ(links[0].bytes, 1'000'000);
  EXPECT_DOUBLE_EQ(links[0].busy_ms, 10);
}

TEST(LinkMeter, KeepsTheSlowest) {
  Uses uses;
  for (int to = 1; to <= 20; ++to) {
    uses.push_back({.to = to,
                    .bytes = kFewestLinkBytes * static_cast<unsigned>(to),
                    .busy_microseconds = 1'000});
  }
  const auto links = LinkMeter().links(uses);
  ASSERT_EQ(links.size(), kMostLinks);
  EXPECT_EQ(links.front().to, 1);
}

}  // namespace
}  // namespace hvd::telemetry
