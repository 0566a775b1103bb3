// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/snapshot/snapshots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/core/system/failpoints.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/snapshot/snapshot_folder.h"
#include "test/runtime/world.h"
#include "test/support/file_size_limit.h"
#include "test/support/temporary_folder.h"

namespace hvd::snapshot {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A state that depends on the step.
struct Weights {
  explicit Weights(std::int64_t step, std::size_t count = 1000)
      : w(count), b(3, static_cast<double>(step)) {
    for (std::size_t i = 0; i < count; ++i) {
      w[i] = static_cast<float>(i) + static_cast<float>(step);
    }
  }
  std::vector<NamedBytes> named() const {
    return {{"w", w.data(), w.size() * sizeof(float)},
            {"nothing", nullptr, 0},
            {"b", b.data(), b.size() * sizeof(double)}};
  }
  std::vector<float> w;
  std::vector<double> b;
};

std::unique_ptr<Snapshots> open(const std::string& folder, int keep = 2) {
  auto opened =
      Snapshots::open({.directory = folder, .keep = keep, .share_of_time = 1});
  EXPECT_TRUE(opened.ok()) << opened.status();
  return *std::move(opened);
}

// Saves, and waits until the snapshot is complete.
void save(Snapshots& snapshots, std::int64_t step) {
  const Weights weights(step);
  const Status saved = snapshots.save(step, weights.named(), "the note");
  EXPECT_TRUE(saved.ok()) << saved;
  const Status finished = snapshots.finish();
  EXPECT_TRUE(finished.ok()) << finished;
}

void expect_newest(Snapshots& snapshots, std::int64_t step) {
  const auto newest = snapshots.load_newest();
  ASSERT_TRUE(newest.ok()) << newest.status();
  if (step < 0) {
    EXPECT_FALSE(newest->has_value());
    return;
  }
  ASSERT_TRUE(newest->has_value());
  EXPECT_EQ((*newest)->step(), step);
  EXPECT_EQ((*newest)->note(), "the note");
  const Weights expected(step);
  const std::vector<NamedBytes> named = expected.named();
  ASSERT_EQ((*newest)->values().size(), named.size());
  for (std::size_t i = 0; i < named.size(); ++i) {
    const Snapshot::Value& value = (*newest)->values()[i];
    EXPECT_EQ(value.name, named[i].name);
    ASSERT_EQ(value.size, named[i].size);
    if (value.size == 0) continue;
    EXPECT_EQ(std::memcmp(value.data, named[i].data, value.size), 0);
  }
}

std::vector<std::int64_t> steps_in(const std::string& folder) {
  return SnapshotFolder::open(folder)->steps();
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Snapshots, AreLoadedByAnyNumberOfRanks) {
  const TemporaryFolder folder;
  std::int64_t step = 0;
  for (const int ranks : {1, 3, 2, 4}) {
    run_ranks(ranks, [&, step] {
      const auto snapshots = open(folder.path());
      expect_newest(*snapshots, step - 1);
      save(*snapshots, step);
      EXPECT_EQ(snapshots->stats().begun, 1);
    });
    ++step;
  }
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(3, 2));
  EXPECT_EQ(names_in(folder.path()).size(), 2u);
}

TEST(Snapshots, OfNothingAreSnapshots) {
  const TemporaryFolder folder;
  run_ranks(2, [&] {
    const auto snapshots = open(folder.path());
    EXPECT_TRUE(snapshots->save(5, {}).ok());
    EXPECT_TRUE(snapshots->finish().ok());
    const auto newest = snapshots->load_newest();
    ASSERT_TRUE(newest.ok() && newest->has_value());
    EXPECT_EQ((*newest)->step(), 5);
    EXPECT_TRUE((*newest)->values().empty());
  });
}

TEST(Snapshots, KeepSome) {
  const TemporaryFolder folder;
  run_ranks(2, [&] {
    const auto snapshots = open(folder.path(), 3);
    for (int step = 1; step < 7; ++step) save(*snapshots, step);
    save(*snapshots, 5);  // Again, by a training that went back.
    expect_newest(*snapshots, 6);
  });
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(6, 5, 4));
}

TEST(Snapshots, TheStateMayChangeAtOnce) {
  const TemporaryFolder folder;
  run_ranks(1, [&] {
    const auto snapshots = open(folder.path());
    Weights weights(4);
    EXPECT_TRUE(snapshots->save(4, weights.named(), "the note").ok());
    std::fill(weights.w.begin(), weights.w.end(), -1.0f);
    EXPECT_TRUE(snapshots->finish().ok());
    expect_newest(*snapshots, 4);
  });
}

TEST(Snapshots, TakeTheirShareOfTheTime) {
  const TemporaryFolder folder;
  run_ranks(2, [&] {
    auto opened =
        Snapshots::open({.directory = folder.path(), .share_of_time = 1e-9});
    ASSERT_TRUE(opened.ok());
    Snapshots& snapshots = **opened;
    save(snapshots, 1);
    for (int step = 2; step < 5; ++step) save(snapshots, step);
    EXPECT_EQ(snapshots.stats().begun, 1);
    EXPECT_EQ(snapshots.stats().skipped, 3);
  });
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(1));
}

TEST(Snapshots, ADamagedOneIsPassedOver) {
  const TemporaryFolder folder;
  run_ranks(2, [&] {
    const auto snapshots = open(folder.path(), 9);
    for (int step = 1; step < 7; ++step) save(*snapshots, step);
  });
  const auto part = [&](int step, const char* name) {
    return folder.path("step-00000000000" + std::to_string(step) + "/" + name);
  };
  fs::remove(part(6, "manifest"));
  fs::resize_file(part(5, "manifest"), 20);
  fs::remove(part(4, "part-00001-of-00002"));
  fs::resize_file(part(3, "part-00000-of-00002"), 100);
  {
    std::fstream file(part(2, "part-00001-of-00002"),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(500);
    file.put('x');
  }
  run_ranks(3, [&] { expect_newest(*open(folder.path()), 1); });
  // A part of another snapshot.
  fs::copy_file(part(2, "part-00000-of-00002"), part(1, "part-00000-of-00002"),
                fs::copy_options::overwrite_existing);
  run_ranks(3, [&] { expect_newest(*open(folder.path()), -1); });
}

TEST(Snapshots, AnUnfinishedOneIsNoSnapshotAndIsRemoved) {
  const TemporaryFolder folder;
  const std::string left = "step-000000000009.partial-00000000000000aa";
  fs::create_directory(folder.path(left));
  std::ofstream(folder.path(left + "/manifest")) << "half";
  std::ofstream(folder.path("notes.txt")) << "of the user";
  run_ranks(2, [&] {
    const auto snapshots = open(folder.path());
    expect_newest(*snapshots, -1);
    save(*snapshots, 1);
  });
  EXPECT_THAT(names_in(folder.path()),
              ElementsAre("notes.txt", "step-000000000001"));
}

// The limit is the process's, as a full disk is.
TEST(Snapshots, AFullDiskKeepsTheOneBefore) {
  const TemporaryFolder folder;
  run_ranks(1, [&] {
    const auto snapshots = open(folder.path());
    save(*snapshots, 1);
    {
      const FileSizeLimit limit(1000);
      const Weights weights(2);
      EXPECT_TRUE(snapshots->save(2, weights.named()).ok());
      const Status failed = snapshots->finish();
      EXPECT_EQ(failed.code(), StatusCode::kResourceExhausted) << failed;
      EXPECT_THAT(std::string(failed.message()), HasSubstr("part-00000"));
    }
    EXPECT_EQ(snapshots->stats().failed, 1);
    expect_newest(*snapshots, 1);
    save(*snapshots, 3);
    expect_newest(*snapshots, 3);
  });
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(3, 1));
}

TEST(Snapshots, AFailureOfOneRankFailsTheSnapshot) {
  const TemporaryFolder folder;
  std::latch is_set(2);
  run_ranks(2, [&] {
    const auto snapshots = open(folder.path());
    save(*snapshots, 1);
    if (rank() == 0) {
      EXPECT_TRUE(set_failpoints("snapshot.part=error@2", 0).ok());
    }
    is_set.arrive_and_wait();
    const Weights weights(2);
    EXPECT_TRUE(snapshots->save(2, weights.named()).ok());
    const Status finished = snapshots->finish();
    // One of both has failed; rank 0 knows in any case.
    if (rank() == 0) {
      EXPECT_FALSE(finished.ok());
      EXPECT_TRUE(set_failpoints("", 0).ok());
    }
    expect_newest(*snapshots, 1);
    save(*snapshots, 3);
    expect_newest(*snapshots, 3);
  });
  EXPECT_EQ(names_in(folder.path()).size(), 2u);
}

// A child dies at each place, and another process goes on.
TEST(Snapshots, ADeathAtAnyPlaceLosesNone) {
  for (const char* place : {"write", "part", "manifest", "rename", "clean"}) {
    SCOPED_TRACE(place);
    const TemporaryFolder folder;
    const pid_t child = fork();
    if (child == 0) {
      run_ranks(1, [&] {
        const auto snapshots = open(folder.path());
        save(*snapshots, 1);
        save(*snapshots, 2);
        if (!set_failpoints(std::string("snapshot.") + place + "=kill", 0)
                 .ok()) {
          _exit(1);
        }
        save(*snapshots, 3);
      });
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    run_ranks(2, [&] {
      const auto snapshots = open(folder.path());
      expect_newest(*snapshots, 2);
      save(*snapshots, 4);
      expect_newest(*snapshots, 4);
    });
    EXPECT_THAT(steps_in(folder.path()), ElementsAre(4, 2));
    EXPECT_EQ(names_in(folder.path()).size(), 2u);
  }
}

// Rank 0 waits for the part of a rank whose job has broken.
TEST(Snapshots, OneThatLosesItsJobIsDropped) {
  const TemporaryFolder folder;
  std::latch has_begun(2);
  run_world({.size = 2}, [&](Runtime& job, auto&) {
    std::shared_ptr<Runtime> next;
    const auto snapshots = open(folder.path());
    {
      const ThreadRuntime scope(job);
      save(*snapshots, 1);
      // Rank 1 writes nothing.
      const Weights weights(2);
      if (rank() == 0) {
        EXPECT_TRUE(snapshots->save(2, weights.named()).ok());
        has_begun.arrive_and_wait();
      } else {
        std::vector<std::int64_t> facts(5, INT64_MIN);
        EXPECT_TRUE(
            job.allreduce_async_(TensorView::of(facts.data(), {5}),
                                 {.name = "snapshot", .op = ReduceOp::kMax})
                .wait()
                .ok());
        has_begun.arrive_and_wait();
        job.abort("is tired");
      }
      EXPECT_EQ(snapshots->finish().ok(), rank() == 1);
    }
    auto reformed = job.reform();
    ASSERT_TRUE(reformed.ok()) << reformed.status();
    next = *std::move(reformed);
    const ThreadRuntime scope(next);
    expect_newest(*snapshots, 1);
    save(*snapshots, 3);
    expect_newest(*snapshots, 3);
    EXPECT_TRUE(next->stop().ok());
  });
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(3, 1));
}

// --- Folders of each host ---

std::unique_ptr<Snapshots> open_on_each_host(const std::string& folder) {
  auto opened = Snapshots::open(
      {.directory = folder, .each_host = true, .keep = 2, .share_of_time = 1});
  EXPECT_TRUE(opened.ok()) << opened.status();
  return *std::move(opened);
}

// Two hosts of two ranks; each rank's folder is that of its host.
class SnapshotsOfEachHost : public ::testing::Test {
 protected:
  void run(const std::function<void(Snapshots&)>& body) {
    run_world({.size = 4, .ranks_per_node = 2}, [&](Runtime& job, auto&) {
      const ThreadRuntime scope(job);
      const auto snapshots = open_on_each_host(folders_[rank() / 2].path());
      body(*snapshots);
    });
  }
  std::string folder(int host) { return folders_[host].path(); }

 private:
  TemporaryFolder folders_[2];
};

TEST_F(SnapshotsOfEachHost, AreWholeOnEachHost) {
  run([](Snapshots& snapshots) {
    for (int step = 1; step < 4; ++step) save(snapshots, step);
    expect_newest(snapshots, 3);
  });
  for (const int host : {0, 1}) {
    EXPECT_THAT(steps_in(folder(host)), ElementsAre(3, 2));
    // One host alone goes on, with another number of ranks.
    run_ranks(3, [&] { expect_newest(*open_on_each_host(folder(host)), 3); });
  }
}

TEST_F(SnapshotsOfEachHost, ComeFromAHostThatHasThem) {
  run([](Snapshots& snapshots) {
    save(snapshots, 1);
    save(snapshots, 2);
  });
  fs::remove_all(folder(0) + "/step-000000000002");
  run([](Snapshots& snapshots) { expect_newest(snapshots, 2); });
  // A host is replaced by another, and both hosts save again.
  fs::remove_all(folder(1));
  fs::create_directory(folder(1));
  run([](Snapshots& snapshots) {
    expect_newest(snapshots, 1);
    save(snapshots, 2);
    expect_newest(snapshots, 2);
  });
  for (const int host : {0, 1}) {
    EXPECT_EQ(steps_in(folder(host)).front(), 2);
  }
}

// Two trainings have come to the same step, and each host has that of another.
TEST_F(SnapshotsOfEachHost, AreOfOneTraining) {
  for (const int host : {0, 1}) {
    run_ranks(1, [&] {
      const auto snapshots = open_on_each_host(folder(host));
      const Weights weights(host);
      EXPECT_TRUE(snapshots->save(7, weights.named(), "the note").ok());
      EXPECT_TRUE(snapshots->finish().ok());
    });
  }
  run([](Snapshots& snapshots) {
    const auto newest = snapshots.load_newest();
    ASSERT_TRUE(newest.ok() && newest->has_value()) << newest.status();
    EXPECT_EQ((*newest)->step(), 7);
    const Weights first(0);
    EXPECT_EQ(std::memcmp((*newest)->values()[0].data, first.w.data(),
                          first.w.size() * sizeof(float)),
              0);
  });
}

TEST(Snapshots, RefuseMistakes) {
  const TemporaryFolder folder;
  EXPECT_FALSE(Snapshots::open({}).ok());
  EXPECT_FALSE(Snapshots::open({.directory = folder.path(), .keep = 0}).ok());
  EXPECT_FALSE(
      Snapshots::open({.directory = folder.path(), .share_of_time = 0}).ok());
  std::ofstream(folder.path("file")) << "x";
  const auto at_file = Snapshots::open({.directory = folder.path("file/x")});
  EXPECT_THAT(std::string(at_file.status().message()), HasSubstr("file/x"));
  const auto snapshots = open(folder.path());
  EXPECT_EQ(snapshots->save(1, {}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(snapshots->load_newest().status().code(),
            StatusCode::kFailedPrecondition);
  run_ranks(1, [&] {
    EXPECT_EQ(snapshots->save(-1, {}).code(), StatusCode::kInvalidArgument);
  });
}

TEST(Snapshots, RanksMustSaveTheSame) {
  const TemporaryFolder folder;
  run_ranks(2, [&] {
    const auto snapshots = open(folder.path());
    const bool differs = rank() == 1;
    const Weights weights(1);
    const auto refused = [&](std::int64_t step,
                             const std::vector<NamedBytes>& values) {
      const Status status = snapshots->save(step, values);
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status;
    };
    refused(differs ? 2 : 1, weights.named());
    refused(1, Weights(1, differs ? 1000 : 2000).named());
    std::vector<NamedBytes> named = weights.named();
    if (differs) named[0].name = "v";
    refused(1, named);
    save(*snapshots, 1);
  });
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(1));
}

}  // namespace
}  // namespace hvd::snapshot
