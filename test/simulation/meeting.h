// SPDX-License-Identifier: Apache-2.0
// A Meeting is one batch being executed: its ranks come together in it, as they
// do in the operation of a data plane. It checks that all have been told to
// execute the same.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/batch.h"

namespace hvd::simulation {

class Meeting {
 public:
  // Of these members of the batch's process set.
  Meeting(const coordinator::Batch& batch, std::vector<int> members)
      : batch_(batch), members_(std::move(members)) {}

  // `rank` has been told to execute `batch`, with these members. What is wrong
  // with that, if anything.
  std::optional<std::string> enter(int rank, const coordinator::Batch& batch,
                                   const std::vector<int>& members);

  // Whether the operation is over for `rank`, which has entered. `strictly`: an
  // operation without data waits for all members, too.
  bool is_over_for(int rank, bool strictly) const;

  // A rank has finished it, or given it up. What is wrong with that.
  std::optional<std::string> finish(int rank);
  std::optional<std::string> abandon(int rank);

  // At the end of a job: what is wrong with this batch.
  std::optional<std::string> check_end() const;

  bool all_entered() const { return entered_.size() == members_.size(); }
  const std::vector<int>& entered() const { return entered_; }
  const std::vector<int>& members() const { return members_; }
  std::string describe() const;

 private:
  coordinator::Batch batch_;
  std::vector<int> members_;
  std::vector<int> entered_;
  std::vector<int> contributing_;  // By entry.
  int finished_ = 0;
  int abandoned_ = 0;
};

}  // namespace hvd::simulation
