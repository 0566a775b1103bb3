// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/job/tuning_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "test/support/temporary_folder.h"

namespace hvd::runtime {
namespace {

using coordinator::TuningSample;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kHeader[] =
    "hierarchical_allreduce,hierarchical_allgather,torus_allreduce,"
    "cache_enabled,cycle_time_ms,tensor_fusion_threshold,score\n";

TEST(TuningLog, HasHorovodsColumnsAndTheBestSampleLast) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/t.csv";
  std::vector<std::string> warnings;
  TuningLog log(
      {.path = path,
       .hierarchical_allgather = false,
       .cycle_time_ms = 2.5,
       .warn = [&](const std::string& text) { warnings.push_back(text); }});
  const TuningSample slow{
      .step_seconds = 0.2, .bytes = 1e6, .largest_batch = 1e6};
  const TuningSample fast{
      .step_seconds = 0.1, .bytes = 1e6, .largest_batch = 250000};
  log.add(slow);
  log.add(fast);
  log.add(slow);
  log.finish(fast);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, std::string(kHeader) +
                      "1,0,0,1,2.5,1000000,5\n"
                      "1,0,0,1,2.5,250000,10\n"
                      "1,0,0,1,2.5,1000000,5\n"
                      "1,0,0,1,2.5,250000,10\n");
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(TuningLog, WarnsOnceOfAFileThatCannotBeWritten) {
  const TemporaryFolder folder;
  for (const std::string& path :
       {folder.path() + "/none/t.csv", std::string("/dev/full")}) {
    std::vector<std::string> warnings;
    TuningLog log({.path = path, .warn = [&](const std::string& text) {
                     warnings.push_back(text);
                   }});
    log.add({.step_seconds = 1});
    log.add({.step_seconds = 1});
    log.finish(TuningSample{.step_seconds = 1});
    EXPECT_THAT(
        warnings,
        ElementsAre(AllOf(HasSubstr(path), HasSubstr("HOROVOD_AUTOTUNE_LOG"))));
  }
}

}  // namespace
}  // namespace hvd::runtime
