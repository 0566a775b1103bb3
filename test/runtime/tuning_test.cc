// SPDX-License-Identifier: Apache-2.0
// Jobs whose batches are tuned. Which batches a job finds depends on the
// machine, so these tests look at results and files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/runtime/runtime.h"
#include "test/runtime/world.h"
#include "test/support/temporary_folder.h"

namespace hvd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

constexpr int kSteps = 60;
constexpr int kTensors = 24;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

WorldOptions tuned(int size, int ranks_per_node = 0) {
  WorldOptions options{.size = size, .ranks_per_node = ranks_per_node};
  options.config.autotune = true;
  options.config.autotune_steps = 2;
  return options;
}

// Tensors of several sizes and two dtypes become ready one by one. Every
// seventh step has a metric.
void train(const WorldOptions& options) {
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    const int size = job.topology().size();
    std::vector<std::vector<float>> floats(kTensors);
    std::vector<std::vector<std::int32_t>> numbers(kTensors);
    std::vector<Future<void>> futures(kTensors);
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < kTensors; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const std::int64_t length = std::int64_t{1} << (i % 12);
        const std::string name = "g" + std::to_string(i);
        if (i % 8 == 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        if (i % 5 == 0) {
          numbers[at].assign(static_cast<std::size_t>(length), step + i);
          futures[at] =
              job.allreduce_async_(TensorView::of(numbers[at].data(), {length}),
                                   {.name = name, .op = ReduceOp::kSum});
        } else {
          floats[at].assign(static_cast<std::size_t>(length),
                            static_cast<float>(step + i));
          futures[at] =
              job.allreduce_async_(TensorView::of(floats[at].data(), {length}),
                                   {.name = name, .op = ReduceOp::kSum});
        }
      }
      for (int i = 0; i < kTensors; ++i) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_EQ(futures[at].wait(), absl::OkStatus());
        const int sum = size * (step + i);
        if (i % 5 == 0) {
          ASSERT_EQ(numbers[at].back(), sum) << "step " << step;
        } else {
          ASSERT_EQ(floats[at].back(), static_cast<float>(sum))
              << "step " << step;
        }
      }
      if (step % 7 == 6) {
        float metric = 1;
        ASSERT_EQ(job.allreduce_(TensorView::of(&metric, {1}),
                                 {.name = "metric", .op = ReduceOp::kSum}),
                  absl::OkStatus());
        ASSERT_EQ(metric, static_cast<float>(size));
      }
    }
  });
}

TEST(RuntimeTuning, ResultsStayRightWhileBatchesChange) {
  train(tuned(2));
  train(tuned(4, 2));
  train(tuned(3, 1));
}

TEST(RuntimeTuning, RemembersWhatAJobFound) {
  const TemporaryFolder folder;
  WorldOptions options = tuned(2);
  options.config.tuning_cache = folder.path() + "/cache";
  train(options);
  std::vector<std::filesystem::path> files;
  for (const auto& file :
       std::filesystem::directory_iterator(options.config.tuning_cache)) {
    files.push_back(file.path());
  }
  ASSERT_EQ(files.size(), 1u);
  EXPECT_THAT(
      content_of(files[0]),
      AllOf(HasSubstr("2 ranks on 1 nodes"),
            HasSubstr("horovodpp tuning 1\npath "), HasSubstr("\nmodel ")));
  train(options);
  EXPECT_THAT(content_of(files[0]), HasSubstr("\nmodel "));
}

TEST(RuntimeTuning, IgnoresADamagedFileWithALineOfDebugging) {
  const TemporaryFolder folder;
  WorldOptions options = tuned(2);
  options.config.tuning_cache = folder.path();
  train(options);
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    const std::string text = content_of(file.path());
    std::ofstream(file.path()) << text.substr(0, text.size() / 2);
  }
  options.config.log.level = telemetry::LogLevel::kDebug;
  CaptureStderr();
  train(options);
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("which is damaged"));
}

TEST(RuntimeTuning, AFolderThatCannotBeWrittenIsNoError) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/file") << "";
  WorldOptions options = tuned(2);
  options.config.tuning_cache = folder.path() + "/file";
  options.config.log.level = telemetry::LogLevel::kInfo;
  CaptureStderr();
  train(options);
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("HOROVODPP_TUNING_CACHE"));
}

TEST(RuntimeTuning, OnlyRankZeroWritesALogWithTheBestLast) {
  const TemporaryFolder folder;
  WorldOptions options = tuned(2);
  options.config.autotune_log = folder.path() + "/t.csv";
  train(options);
  const std::string text = content_of(options.config.autotune_log);
  EXPECT_THAT(text,
              HasSubstr("hierarchical_allreduce,hierarchical_allgather,"));
  EXPECT_THAT(text, HasSubstr("\n1,1,0,1,0,"));
}

TEST(RuntimeTuning, ALogThatCannotBeWrittenIsOneWarning) {
  WorldOptions options = tuned(2);
  options.config.autotune_log = "/nowhere/t.csv";
  CaptureStderr();
  train(options);
  const std::string log = GetCapturedStderr();
  const auto first = log.find("HOROVOD_AUTOTUNE_LOG");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(log.find("HOROVOD_AUTOTUNE_LOG", first + 1), std::string::npos);
}

TEST(RuntimeTuning, RefusesRanksWithDifferentSettings) {
  transport::LoopbackWorld world(2, {});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Config config;
      config.autotune = rank == 0;
      const auto runtime = Runtime::start(config, world.communicator(rank));
      EXPECT_THAT(std::string(runtime.status().message()),
                  HasSubstr("HOROVOD_AUTOTUNE=1"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hvd
