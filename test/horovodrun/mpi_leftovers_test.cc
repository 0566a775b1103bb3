#include "horovodrun/mpi_leftovers.h"

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

}  // namespace
}  // namespace hvd::launcher
