// SPDX-License-Identifier: Apache-2.0
// Jobs that processes join. The ranks are threads, and so are the newcomers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "horovodpp/collective/arena/arena.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/tcp/room_guest.h"
#include "test/transport/tcp/running_server.h"

namespace hvd {
namespace {

using std::chrono::steady_clock;
using ::testing::HasSubstr;

using RuntimePtr = std::unique_ptr<Runtime>;
constexpr std::chrono::seconds kAmpleTime(60);

Config elastic_config(const transport::RunningServer& server, int rank,
                      int size, int most) {
  Config config;
  config.rendezvous = "launcher:" + server.endpoints();
  config.job_key = server.key();
  config.rank = rank;
  config.expected_size = size;
  config.max_ranks = most;
  return config;
}

// A process that waits to join, as a thread.
class Newcomer {
 public:
  using Body = std::function<void(StatusOr<RuntimePtr>)>;
  Newcomer(const transport::RunningServer& server, const Body& body)
      : thread_([config = elastic_config(server, kNumber, 1, kNumber),
                 body]() mutable {
          config.is_newcomer = true;
          body(Runtime::start(config));
        }) {}
  ~Newcomer() { thread_.join(); }

 private:
  static constexpr int kNumber = 100;
  std::thread thread_;
};

float sum_of(Runtime& job, float value) {
  const Status summed =
      job.allreduce_async_(TensorView::of(&value, {1}),
                           {.name = "sum", .op = ReduceOp::kSum})
          .wait();
  EXPECT_TRUE(summed.ok()) << summed;
  return value;
}

// Runs `body` on each rank of a job of `size`, as a thread.
void run_job(transport::RunningServer& server, int size, int most,
             const std::function<void(RuntimePtr)>& body) {
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      auto job = Runtime::start(elastic_config(server, rank, size, most));
      ASSERT_TRUE(job.ok()) << job.status();
      body(*std::move(job));
    });
  }
  for (std::thread& rank : ranks) rank.join();
  // Otherwise a newcomer would wait for a job that has failed.
  if (::testing::Test::HasFailure()) server.end();
}

// On rank 0: until `count` newcomers wait.
void await_newcomers(Runtime& job, int count) {
  const auto deadline = steady_clock::now() + kAmpleTime;
  while (job.topology().rank() == 0 && job.waiting_newcomers() != count &&
         job.status().ok() && steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
}

// Waits for the newcomers, and grows.
StatusOr<RuntimePtr> grown(const RuntimePtr& job, int newcomers) {
  await_newcomers(*job, newcomers);
  return job->grow();
}

// The end of a grown job of `size` ranks.
void end(Runtime& job, int size) {
  EXPECT_EQ(job.topology().size(), size);
  EXPECT_EQ(sum_of(job, 1), static_cast<float>(size));
  const Status stopped = job.stop();
  EXPECT_TRUE(stopped.ok()) << stopped;
}

Newcomer::Body joins(int size) {
  return [size](StatusOr<RuntimePtr> job) {
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ((*job)->topology().rank(), size - 1);
    end(**job, size);
  };
}

TEST(Growth, TakesANewcomer) {
  transport::RunningServer server(2);
  const Newcomer third(server, joins(3));
  run_job(server, 2, 3, [](RuntimePtr job) {
    const int rank = job->topology().rank();
    EXPECT_EQ(sum_of(*job, 1), 2);
    auto next = grown(job, 1);
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ((*next)->topology().rank(), rank);
    EXPECT_EQ((*next)->waiting_newcomers(), 0);
    EXPECT_EQ(job->grow().status().code(), StatusCode::kFailedPrecondition);
    job.reset();
    end(**next, 3);
  });
}

TEST(Growth, TakesOneNewcomerAfterTheOther) {
  transport::RunningServer server(1);
  const Newcomer second(server, [](StatusOr<RuntimePtr> job) {
    ASSERT_TRUE(job.ok()) << job.status();
    auto next = (*job)->grow();
    ASSERT_TRUE(next.ok()) << next.status();
    end(**next, 3);
  });
  run_job(server, 1, 3, [&](RuntimePtr job) {
    auto next = grown(job, 1);
    ASSERT_TRUE(next.ok()) << next.status();
    const Newcomer third(server, joins(3));
    auto last = grown(*next, 1);
    ASSERT_TRUE(last.ok()) << last.status();
    end(**last, 3);
  });
}

TEST(Growth, GoesOnAsBeforeIfNobodyWaits) {
  transport::RunningServer server(2);
  run_job(server, 2, 3, [](RuntimePtr job) {
    const auto next = job->grow();
    EXPECT_EQ(next.status().code(), StatusCode::kUnavailable);
    EXPECT_THAT(std::string(next.status().message()),
                HasSubstr("no newcomer waits"));
    end(*job, 2);
  });
}

TEST(Growth, KeepsToTheLargestNumberOfRanks) {
  transport::RunningServer server(2);
  const Newcomer third(server, [](StatusOr<RuntimePtr> job) {
    EXPECT_EQ(job.status().code(), StatusCode::kCancelled) << job.status();
  });
  run_job(server, 2, 2, [](RuntimePtr job) {
    EXPECT_EQ(job->waiting_newcomers(), 0);
    EXPECT_EQ(job->grow().status().code(), StatusCode::kUnavailable);
    end(*job, 2);
  });
  server.end();
}

TEST(Growth, KeepsTensorsInTheArena) {
  transport::RunningServer server(2);
  const Newcomer third(server, joins(3));
  run_job(server, 2, 3, [](RuntimePtr job) {
    constexpr int kCount = 100000;
    auto memory = job->allocate_on(Device(), kCount * sizeof(float));
    ASSERT_TRUE(memory.ok()) << memory.status();
    float* const values = static_cast<float*>(memory->get());
    std::fill_n(values, kCount, 1.0f);
    const auto reduce = [&](Runtime& on) {
      return on
          .allreduce_async_(TensorView::of(values, {kCount}),
                            {.name = "x", .op = ReduceOp::kSum})
          .wait();
    };
    EXPECT_TRUE(reduce(*job).ok());
    auto next = grown(job, 1);
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ(values[kCount - 1], 2);
    end(**next, 3);
  });
}

// A newcomer that is admitted and then lost.
class LostNewcomer {
 public:
  explicit LostNewcomer(const transport::RunningServer& server)
      : thread_([&server] {
          auto guest = transport::RoomGuest::connect(
              {.endpoints = *transport::parse_endpoints(server.endpoints()),
               .key = *transport::JobKey::from_hex(server.key())},
              7, steady_clock::now() + kAmpleTime);
          ASSERT_TRUE(guest.ok()) << guest.status();
          (*guest)->send(
              transport::message_of(transport::MeetingMessage::kWait));
          const auto message = (*guest)->wait([] { return absl::OkStatus(); });
          ASSERT_TRUE(message.ok()) << message.status();
          EXPECT_EQ(transport::kind_of(*message),
                    transport::MeetingMessage::kAdmitted);
        }) {}
  ~LostNewcomer() { thread_.join(); }

 private:
  std::thread thread_;
};

TEST(Growth, GoesOnAsBeforeIfANewcomerIsLost) {
  transport::RunningServer server(2);
  const LostNewcomer lost(server);
  run_job(server, 2, 3, [](RuntimePtr job) {
    const auto next = grown(job, 1);
    EXPECT_EQ(next.status().code(), StatusCode::kUnavailable);
    EXPECT_THAT(std::string(next.status().message()),
                HasSubstr("the job has not grown"));
    EXPECT_EQ(sum_of(*job, 1), 2);
    end(*job, 2);
  });
}

TEST(Growth, FailsWithTheJobThatBreaksMeanwhile) {
  transport::RunningServer server(3);
  const Newcomer fourth(server, joins(4));
  run_job(server, 3, 4, [](RuntimePtr job) {
    await_newcomers(*job, 1);
    if (job->topology().rank() == 1) {
      job->abort("gives up");
    } else {
      const auto failed = job->grow();
      EXPECT_EQ(failed.status().code(), StatusCode::kAborted);
      EXPECT_THAT(std::string(failed.status().message()),
                  HasSubstr("gives up"));
    }
    // The newcomer waits again, and joins the next job.
    auto next = job->reform();
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ((*next)->topology().size(), 3);
    auto last = grown(*next, 1);
    ASSERT_TRUE(last.ok()) << last.status();
    end(**last, 4);
  });
}

TEST(Growth, CanBeReformed) {
  transport::RunningServer server(2);
  const auto break_and_go_on = [](RuntimePtr& job) {
    if (job->topology().rank() == 2) job->abort("gives up");
    while (job->status().ok()) std::this_thread::yield();
    auto next = job->reform();
    ASSERT_TRUE(next.ok()) << next.status();
    end(**next, 3);
  };
  const Newcomer third(server, [&](StatusOr<RuntimePtr> job) {
    ASSERT_TRUE(job.ok()) << job.status();
    break_and_go_on(*job);
  });
  run_job(server, 2, 3, [&](RuntimePtr job) {
    auto next = grown(job, 1);
    ASSERT_TRUE(next.ok()) << next.status();
    break_and_go_on(*next);
  });
}

TEST(Growth, NeedsALauncherThatStartsElasticJobs) {
  auto job = Runtime::start(Config());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)->waiting_newcomers(), 0);
  EXPECT_EQ((*job)->grow().status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE((*job)->status().ok());
}

}  // namespace
}  // namespace hvd
