// SPDX-License-Identifier: Apache-2.0
// A Meeting is one batch in execution: its ranks meet there, as in a data
// plane's operation. It checks that all ranks were told to execute the same
// batch.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/protocol/batch.h"

namespace hvd::simulation {

class Meeting {
 public:
  // `members`: of the batch's process set.
  Meeting(const coordinator::Batch& batch, std::vector<int> members)
      : batch_(batch), members_(std::move(members)) {}

  // `rank` begins to execute `batch` with these members. Returns a fault, if
  // any.
  std::optional<std::string> enter(int rank, const coordinator::Batch& batch,
                                   const std::vector<int>& members);

  // Whether the operation is over for `rank`, which has entered. `strictly`: an
  // operation without data also waits for all members.
  bool is_over_for(int rank, bool strictly) const;

  // A rank has finished or abandoned the batch. Both return a fault, if any.
  std::optional<std::string> finish(int rank);
  std::optional<std::string> abandon(int rank);

  // Returns a fault of this batch at the end of a job, if any.
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
