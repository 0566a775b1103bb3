// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/mpirun/leftovers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "test/support/temporary_folder.h"

namespace hvd::launcher {
namespace {

namespace fs = std::filesystem;

class MpiLeftovers : public testing::Test {
 protected:
  // Makes a file whose name contains the user.
  std::string make_segment(const std::string& start, const std::string& end) {
    const std::string name = absl::StrCat(start, ".", geteuid(), end);
    std::ofstream(folder_.path(name)) << "x";
    return name;
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path(""))) {
      names.insert(entry.path().filename());
    }
    return names;
  }
  // Makes the folder of a job, and returns its path.
  fs::path make_session(const std::string& user, const std::string& name) {
    const fs::path path =
        fs::path(folder_.path(absl::StrCat("ompi.h.", user))) / name;
    fs::create_directories(path / "1" / "3");
    return path;
  }

  const TemporaryFolder folder_;
  const std::string me_ = absl::StrCat(geteuid());
  const std::string directory_ = folder_.path("");
};

TEST_F(MpiLeftovers, OfOneRankOnlyAreRemoved) {
  make_segment("vader_segment.a.lan", ".6ea70001.1");
  const std::set<std::string> others = {
      make_segment("vader_segment.a.lan", ".6ea70001.0"),
      make_segment("vader_segment.a.lan", ".6ea70001.11"),
      make_segment("vader_segment.a.lan", ".6ea80001.1"),
      make_segment("another_segment.a.lan", ".6ea70001.1")};
  remove_mpi_leftovers({{"OMPI_MCA_ess_base_jobid", "1856438273"},
                        {"OMPI_COMM_WORLD_NODE_RANK", "1"}},
                       directory_);
  EXPECT_EQ(names(), others);
}

TEST_F(MpiLeftovers, StayIfTheRankIsUnknown) {
  const std::set<std::string> all = {
      make_segment("vader_segment.a", ".6ea70001.1")};
  remove_mpi_leftovers({}, directory_);
  remove_mpi_leftovers({{"OMPI_MCA_ess_base_jobid", "1856438273"}}, directory_);
  remove_mpi_leftovers(
      {{"OMPI_MCA_ess_base_jobid", "x"}, {"OMPI_COMM_WORLD_NODE_RANK", ""}},
      directory_);
  EXPECT_EQ(names(), all);
}

TEST_F(MpiLeftovers, OfAKilledMpirunAreItsFilesOnly) {
  const fs::path mine = make_session(me_, "pid.12");
  const fs::path other = make_session(me_, "pid.123");
  const fs::path others = make_session("99999999", "pid.12");
  remove_mpirun_leftovers(12, directory_);
  EXPECT_FALSE(fs::exists(mine));
  EXPECT_TRUE(fs::exists(other) && fs::exists(others));
  remove_mpirun_leftovers(123, directory_);
  EXPECT_FALSE(fs::exists(mine.parent_path()));
  remove_mpirun_leftovers(12, "/no/such/folder");
}

TEST_F(MpiLeftovers, OfALostDaemonAreItsFilesOnly) {
  const fs::path other = make_session(me_, "else");
  const fs::path others = make_session("99999999", "jf.12");
  const auto remove = [](const fs::path& session) {
    remove_daemon_leftovers(
        {{"OMPI_FILE_LOCATION", (session / "1" / "3").string()}});
  };
  remove_daemon_leftovers({});
  remove_daemon_leftovers({{"OMPI_FILE_LOCATION", ""}});
  remove(other);
  remove(others);
  for (const char* name : {"jf.12", "pid.12"}) {
    const fs::path mine = make_session(me_, name);
    remove(mine);
    EXPECT_FALSE(fs::exists(mine));
  }
  EXPECT_TRUE(fs::exists(other) && fs::exists(others));
}

TEST_F(MpiLeftovers, OfALostDaemonAndItsKeeperAreTheirFolder) {
  const fs::path keeper = fs::path(directory_) / "horovodrun.a1B2c3";
  const fs::path session = keeper / absl::StrCat("ompi.h.", me_) / "jf.12";
  const auto remove = [&] {
    remove_daemon_leftovers(
        {{"OMPI_FILE_LOCATION", (session / "1" / "3").string()}});
  };
  fs::create_directories(session / "1" / "3");
  fs::create_directory(keeper / "another's");
  remove();
  EXPECT_FALSE(fs::exists(session));
  EXPECT_TRUE(fs::exists(keeper / "another's"));
  fs::remove(keeper / "another's");
  remove();  // As the next agent does.
  EXPECT_FALSE(fs::exists(keeper));
}

TEST(MpirunDirectory, IsTheOneInTheEnvironment) {
  EXPECT_EQ(mpirun_directory({}), "/tmp");
  EXPECT_EQ(mpirun_directory({{"TMPDIR", "/a"}}), "/a");
  EXPECT_EQ(
      mpirun_directory({{"TMPDIR", "/a"}, {"OMPI_MCA_orte_tmpdir_base", "/b"}}),
      "/b");
}

}  // namespace
}  // namespace hvd::launcher
