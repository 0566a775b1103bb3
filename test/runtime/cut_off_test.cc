// SPDX-License-Identifier: Apache-2.0
// Two nodes whose mail is delayed or lost: which ranks count as lost, and which
// ranks are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "horovodpp/core/job/rank_status.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/loopback/loopback.h"
#include "test/runtime/relayed_wires.h"

namespace hvd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::seconds kDeadline(1);

// The link from rank 1 to rank 0.
struct Link {
  std::atomic<bool> keeps_mail = false;
  std::atomic<bool> carries_beats = false;
};

class LinkedWires : public RelayedWires {
 public:
  LinkedWires(std::unique_ptr<transport::Communicator> wires, Link& link)
      : RelayedWires(std::move(wires)), link_(link) {}

  absl::Status send_mail(int to, std::string bytes) override {
    kept_.push_back(std::move(bytes));
    if (rank() == 1 && link_.keeps_mail) return absl::OkStatus();
    for (std::string& mail : kept_) {
      if (auto sent = RelayedWires::send_mail(to, std::move(mail)); !sent.ok())
        return sent;
    }
    kept_.clear();
    return absl::OkStatus();
  }
  std::vector<int> receive_beats() override {
    if (rank() == 0 && link_.carries_beats) return {1};
    return {};
  }

 private:
  Link& link_;
  std::vector<std::string> kept_;  // Until keeps_mail is false again.
};

void run_two(Link& link, const std::function<void(Runtime&, int)>& body) {
  transport::LoopbackWorld world(2, {.ranks_per_node = 1});
  Config config;
  config.heartbeat_deadline = kDeadline;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const auto job = Runtime::start(
          config,
          std::make_unique<LinkedWires>(world.communicator(rank), link));
      ASSERT_EQ(job.status(), absl::OkStatus());
      ASSERT_EQ((*job)->barrier(), absl::OkStatus());
      body(**job, rank);
      (*job)->stop().ignore_error();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::string end_of(Runtime& job) {
  while (job.status().ok()) std::this_thread::yield();
  return job.status().to_string();
}

TEST(CutOff, ASilentRankLearnsItsAccuserAndAccusesNoRank) {
  Link link;
  run_two(link, [&](Runtime& job, int rank) {
    if (rank == 1) link.keeps_mail = true;
    const std::string why = end_of(job);
    if (rank == 0) {
      EXPECT_THAT(why,
                  AllOf(HasSubstr("rank 1 (host"), HasSubstr(kNodeIsSilent)));
    } else {
      EXPECT_THAT(why, AllOf(HasSubstr("(rank 0) continues without this rank"),
                             Not(HasSubstr(kNodeIsSilent))));
    }
  });
}

// As after a link outage, while TCP has yet to resend.
TEST(CutOff, ANodeWithLateMailIsNotLostWhileItsBeatsCome) {
  Link link;
  run_two(link, [&](Runtime& job, int rank) {
    if (rank == 1) {
      link.carries_beats = true;
      link.keeps_mail = true;
      // Longer than the heartbeat deadline, shorter than the limit for late
      // mail.
      const auto end = std::chrono::steady_clock::now() + kDeadline * 3 / 2;
      while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
      link.keeps_mail = false;
    }
    EXPECT_EQ(job.barrier(), absl::OkStatus());
  });
}

}  // namespace
}  // namespace hvd
