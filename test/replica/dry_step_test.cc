// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/dry_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "horovodpp/replica/objects.h"
#include "horovodpp/runtime/runtime.h"
#include "test/runtime/world.h"

namespace hvd::replica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DryStep sound_step(int rank) {
  DryStep step;
  step.parameters = {{.name = "a",
                      .layout = "float32[2]",
                      .bytes = 8,
                      .checksum = 1,
                      .gradient = 10,
                      .place = 1},
                     {.name = "b",
                      .layout = "float32[4]",
                      .bytes = 16,
                      .checksum = 2,
                      .gradient = 20,
                      .place = 0}};
  step.buffers = {
      {.name = "mean", .layout = "float32[2]", .bytes = 8, .checksum = 3}};
  step.loss = 1.5 + rank;
  step.seconds = 0.25;
  return step;
}

// The report of three ranks, after `change` on one of them.
DryStepReport report_of(int changed_rank,
                        const std::function<void(DryStep&)>& change) {
  DryStepReport first;
  run_world({.size = 3}, [&](Runtime& job, auto&) {
    DryStep mine = sound_step(job.topology().rank());
    if (job.topology().rank() == changed_rank) change(mine);
    const DryStepReport report = compare_dry_steps(job, mine);
    if (job.topology().rank() == 0) first = report;
    // The same everywhere.
    std::string text = report.text();
    const std::string expected =
        broadcast_object(text, 0, {.name = "text", .runtime = &job});
    EXPECT_EQ(text, expected);
  });
  return first;
}

TEST(DrySteps, WithoutDifferencesAreSound) {
  const DryStepReport report = report_of(0, [](DryStep&) {});
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_THAT(report.summary, HasSubstr("a step reduces 2 gradients, 0.0 MB"));
  EXPECT_THAT(report.summary,
              HasSubstr("rank 2: 250.0 ms for forward and backward"));
}

TEST(DrySteps, SayHowLayoutsDiffer) {
  EXPECT_THAT(
      report_of(2,
                [](DryStep& step) { step.parameters[1].layout = "float32[5]"; })
          .problems,
      ElementsAre("'b' is float32[5] on rank 2, and float32[4] on "
                  "rank 0"));
  EXPECT_THAT(report_of(1, [](DryStep& step) { step.parameters[0].name = "c"; })
                  .problems,
              ElementsAre("'a' is a parameter of rank 0, and not of rank 1",
                          "'c' is a parameter of rank 1, and not of rank 0"));
  EXPECT_THAT(
      report_of(1, [](DryStep& step) { step.buffers.clear(); }).problems,
      ElementsAre("'mean' is a buffer of rank 0, and not of rank 1"));
}

TEST(DrySteps, SayWhichValuesDiffer) {
  EXPECT_THAT(report_of(2,
                        [](DryStep& step) {
                          for (auto& each : step.parameters) each.checksum = 9;
                        })
                  .problems,
              ElementsAre("'a' (and 1 other) has other values on rank 2 than "
                          "on rank 0: broadcast the parameters before "
                          "training"));
}

TEST(DrySteps, SayWhichGradientsAreMissing) {
  EXPECT_THAT(
      report_of(1, [](DryStep& step) { step.parameters[0].gradient.reset(); })
          .problems,
      ElementsAre("'a' has a gradient on rank 0, and none on rank 1"));
  DryStepReport unused;
  run_world({.size = 2}, [&](Runtime& job, auto&) {
    DryStep mine = sound_step(job.topology().rank());
    mine.parameters[0].gradient.reset();
    const DryStepReport report = compare_dry_steps(job, mine);
    if (job.topology().rank() == 0) unused = report;
  });
  EXPECT_TRUE(unused.ok());
  EXPECT_THAT(unused.notes, ElementsAre("'a' has no gradient: the loss does "
                                        "not depend on it"));
}

TEST(DrySteps, SayWhichNumbersAreInvalid) {
  EXPECT_THAT(report_of(1,
                        [](DryStep& step) {
                          step.loss = std::numeric_limits<double>::quiet_NaN();
                        })
                  .problems,
              ElementsAre("the loss of rank 1 is nan"));
  EXPECT_THAT(
      report_of(0, [](DryStep& step) { step.parameters[1].is_finite = false; })
          .problems,
      ElementsAre("'b' has a gradient on rank 0 that is not finite"));
}

TEST(DrySteps, NoteWhatMayBeIntended) {
  EXPECT_THAT(
      report_of(1,
                [](DryStep& step) { step.parameters[1].is_reproduced = false; })
          .notes,
      ElementsAre(HasSubstr("'b' has a gradient that differs on rank 1 "
                            "between two steps")));
  EXPECT_THAT(
      report_of(2, [](DryStep& step) { step.is_loss_reproduced = false; })
          .notes,
      ElementsAre(HasSubstr("the loss differs on rank 2 between")));
  EXPECT_THAT(report_of(2,
                        [](DryStep& step) {
                          std::swap(step.parameters[0].place,
                                    step.parameters[1].place);
                        })
                  .notes,
              ElementsAre(HasSubstr("'a' (and 1 other) is not in the same "
                                    "place as on rank 0")));
}

TEST(DrySteps, NoteThatAllRanksComputeTheSame) {
  DryStepReport report;
  run_world({.size = 2}, [&](Runtime& job, auto&) {
    const DryStepReport mine = compare_dry_steps(job, sound_step(0));
    if (job.topology().rank() == 0) report = mine;
  });
  EXPECT_THAT(report.notes,
              ElementsAre(HasSubstr("do they read the same batch?")));
}

}  // namespace
}  // namespace hvd::replica
