// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/mpirun/leftovers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

class MpiLeftoversTest : public testing::Test {
 protected:
  MpiLeftoversTest()
      : directory_(absl::StrCat(testing::TempDir(), "/leftovers.", getpid())) {
    std::filesystem::create_directories(directory_);
  }
  ~MpiLeftoversTest() override { std::filesystem::remove_all(directory_); }

  std::string make(const std::string& start, const std::string& end) {
    const std::string name = absl::StrCat(start, ".", geteuid(), end);
    std::ofstream(directory_ + "/" + name) << "x";
    return name;
  }

  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      names.insert(entry.path().filename());
    }
    return names;
  }

  std::string directory_;
};

TEST_F(MpiLeftoversTest, GoForOneRankOnly) {
  make("vader_segment.a.lan", ".6ea70001.1");
  const std::set<std::string> others = {
      make("vader_segment.a.lan", ".6ea70001.0"),
      make("vader_segment.a.lan", ".6ea70001.11"),
      make("vader_segment.a.lan", ".6ea80001.1"),
      make("another_segment.a.lan", ".6ea70001.1")};
  remove_mpi_leftovers({{"OMPI_MCA_ess_base_jobid", "1856438273"},
                        {"OMPI_COMM_WORLD_NODE_RANK", "1"}},
                       directory_);
  EXPECT_EQ(names(), others);
}

TEST_F(MpiLeftoversTest, StayWhereTheRankIsNotKnown) {
  const std::set<std::string> all = {make("vader_segment.a", ".6ea70001.1")};
  remove_mpi_leftovers({}, directory_);
  remove_mpi_leftovers({{"OMPI_MCA_ess_base_jobid", "1856438273"}}, directory_);
  remove_mpi_leftovers(
      {{"OMPI_MCA_ess_base_jobid", "x"}, {"OMPI_COMM_WORLD_NODE_RANK", ""}},
      directory_);
  EXPECT_EQ(names(), all);
}

TEST(MpiLeftovers, OfAKilledMpirunAreItsFilesOnly) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::path(testing::TempDir()) /
                             ("mpi_leftovers_test." + std::to_string(getpid()));
  const fs::path mine = directory / ("ompi.h." + std::to_string(geteuid()));
  const fs::path others = directory / "ompi.h.99999999";
  fs::create_directories(mine / "pid.12" / "0");
  fs::create_directories(mine / "pid.123");
  fs::create_directories(others / "pid.12");
  remove_mpirun_leftovers(12, directory.string());
  EXPECT_FALSE(fs::exists(mine / "pid.12"));
  EXPECT_TRUE(fs::exists(mine / "pid.123"));
  EXPECT_TRUE(fs::exists(others / "pid.12"));
  remove_mpirun_leftovers(123, directory.string());
  EXPECT_FALSE(fs::exists(mine));
  fs::remove_all(directory);
  remove_mpirun_leftovers(12, directory.string());
}

TEST(MpiLeftovers, OfALostDaemonAreItsFilesOnly) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::path(testing::TempDir()) /
                             ("daemon_leftovers." + std::to_string(getpid()));
  const fs::path mine = directory / ("ompi.h." + std::to_string(geteuid()));
  const fs::path others = directory / "ompi.h.99999999";
  for (const fs::path& folder : {mine, others}) {
    fs::create_directories(folder / "jf.12" / "1" / "3");
    fs::create_directories(folder / "pid.12" / "1" / "3");
    fs::create_directories(folder / "else" / "1" / "3");
  }
  const auto remove = [](const fs::path& location) {
    remove_daemon_leftovers({{"OMPI_FILE_LOCATION", location.string()}});
  };
  remove_daemon_leftovers({});
  remove("");
  remove(mine / "else" / "1" / "3");
  remove(others / "jf.12" / "1" / "3");
  EXPECT_TRUE(fs::exists(mine / "else"));
  EXPECT_TRUE(fs::exists(others / "jf.12"));
  remove(mine / "jf.12" / "1" / "3");
  EXPECT_FALSE(fs::exists(mine / "jf.12"));
  remove(mine / "pid.12" / "1" / "3");
  EXPECT_FALSE(fs::exists(mine / "pid.12"));
  EXPECT_TRUE(fs::exists(mine / "else"));
  fs::remove_all(directory);
}

TEST(MpiLeftovers, LieWhereTheEnvironmentSays) {
  EXPECT_EQ(mpirun_directory({}), "/tmp");
  EXPECT_EQ(mpirun_directory({{"TMPDIR", "/a"}}), "/a");
  EXPECT_EQ(
      mpirun_directory({{"TMPDIR", "/a"}, {"OMPI_MCA_orte_tmpdir_base", "/b"}}),
      "/b");
}

}  // namespace
}  // namespace hvd::launcher
