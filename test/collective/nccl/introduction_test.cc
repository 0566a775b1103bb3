// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/introduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "horovodpp/collective/nccl/api.h"
#include "test/support/fake_nccl/fake_nccl.h"

namespace hvd::collective {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

NcclIntroduction with_gpu(char gpu, int version = 22803,
                          bool may_share = false) {
  NcclIntroduction one;
  one.is_able = 1;
  one.may_share = may_share ? 1 : 0;
  one.version = version;
  one.gpu.bytes[3] = gpu;
  static std::uint64_t processes = 0;
  one.process = ++processes;
  return one;
}

std::string reason(const std::vector<NcclIntroduction>& all) {
  return std::string(check_introductions(all, {2, 5, 7}).message());
}

TEST(NcclIntroduction, EachRankHasAGpuOfItsOwn) {
  EXPECT_EQ(reason({with_gpu(1), with_gpu(2), with_gpu(3)}), "");
  EXPECT_THAT(reason({with_gpu(1), with_gpu(2), with_gpu(1)}),
              HasSubstr("ranks 2 and 7 share a GPU"));
}

TEST(NcclIntroduction, RegistersTheWindowsOfEqualSizesOnAllRanks) {
  NcclIntroduction some;
  some.windows = {100, 200, 300};
  NcclIntroduction others;
  others.windows = {100, 200};
  EXPECT_EQ(common_windows(std::vector{some, some}), 3u);
  EXPECT_EQ(common_windows(std::vector{some, others, some}), 2u);
  others.windows = {100, 300, 300};
  EXPECT_EQ(common_windows(std::vector{some, others}), 1u);
  EXPECT_EQ(common_windows(std::vector{some, NcclIntroduction()}), 0u);
  some.windows.fill(1);
  EXPECT_EQ(common_windows(std::vector{some, some}), NcclArena::kMaxWindows);
}

TEST(NcclIntroduction, RanksShareAGpuIfAllAllowIt) {
  const auto sharing = [] { return with_gpu(1, 23003, true); };
  EXPECT_EQ(reason({sharing(), sharing(), sharing()}), "");
  EXPECT_THAT(reason({sharing(), sharing(), with_gpu(1, 23003)}),
              HasSubstr("NCCL_MULTI_RANK_GPU_ENABLE=1"));
  const auto too_old = [] { return with_gpu(1, 22903, true); };
  EXPECT_THAT(reason({too_old(), too_old(), too_old()}), HasSubstr("2.30"));
}

TEST(NcclIntroduction, ThreadsOfOneProcessDoNotShareAGpu) {
  const NcclIntroduction first = with_gpu(1, 23003, true);
  NcclIntroduction thread = with_gpu(2, 23003, true);
  thread.process = first.process;
  EXPECT_EQ(reason({first, with_gpu(1, 23003, true), thread}), "");
  thread.gpu = first.gpu;
  EXPECT_THAT(reason({first, with_gpu(1, 23003, true), thread}),
              HasSubstr("ranks 2 and 7 share a GPU and are threads of one "
                        "process"));
}

TEST(NcclIntroduction, AllHaveTheSameNccl) {
  EXPECT_THAT(reason({with_gpu(1), with_gpu(2, 22707), with_gpu(3)}),
              AllOf(HasSubstr("rank 2 has NCCL 2.28.3"),
                    HasSubstr("rank 5 has 2.27.7")));
}

TEST(NcclIntroduction, NamesTheRankWithoutNccl) {
  const auto refusal =
      NcclIntroduction::refusal(absl::NotFoundError("there is no NCCL"));
  EXPECT_EQ(reason({with_gpu(1), refusal, with_gpu(3)}),
            "rank 5: there is no NCCL");
  const auto long_text =
      NcclIntroduction::refusal(absl::NotFoundError(std::string(9999, 'x')));
  EXPECT_LT(reason({long_text, refusal, refusal}).size(), 400);
}

TEST(NcclLibrary, NamesTheMissingFileAndItsPackage) {
  NcclLibrary none("libnccl_that_is_not_there.so");
  EXPECT_EQ(none.api().status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.api().status().message()),
              AllOf(HasSubstr("libnccl_that_is_not_there.so"),
                    HasSubstr("nvidia-nccl-cu13")));
  EXPECT_EQ(none.version(), 0);
}

TEST(NcclLibrary, RefusesATooOldVersion) {
  ::setenv("FAKE_NCCL_VERSION", "21212", 1);
  NcclLibrary old(testing::FakeNccl::file());
  const auto api = old.api();
  ::unsetenv("FAKE_NCCL_VERSION");
  EXPECT_EQ(api.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(api.status().message()),
              AllOf(HasSubstr("NCCL 2.12.12"), HasSubstr("2.14.0")));
}

TEST(NcclLibrary, HasItsFunctionsAndVersion) {
  NcclLibrary here(testing::FakeNccl::file());
  ASSERT_TRUE(here.api().ok()) << here.api().status();
  EXPECT_EQ(here.version(), 22803);
}

}  // namespace
}  // namespace hvd::collective
