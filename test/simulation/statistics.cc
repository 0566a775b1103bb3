// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "test/simulation/job.h"

namespace hvd::simulation {

Statistics& Statistics::operator+=(const Statistics& other) {
  jobs += other.jobs;
  events += other.events;
  mail += other.mail;
  batches += other.batches;
  cycled += other.cycled;
  early += other.early;
  abandoned += other.abandoned;
  absent += other.absent;
  done += other.done;
  mismatches += other.mismatches;
  cancelled += other.cancelled;
  refused += other.refused;
  broken += other.broken;
  warnings += other.warnings;
  most_epochs = std::max(most_epochs, other.most_epochs);
  return *this;
}

std::string Statistics::describe() const {
  return absl::StrCat(jobs, " jobs, ", events, " events, ", mail, " messages, ",
                      batches, " batches (", cycled, " in a cycle, ", early,
                      " entered early, ", abandoned, " abandoned, ", absent,
                      " entries without a joined rank), up to ", most_epochs,
                      " epochs; ", done, " submissions done, ", mismatches,
                      " mismatches, ", cancelled, " cancelled, ", refused,
                      " refused, ", broken, " broken; ", warnings, " warnings");
}

}  // namespace hvd::simulation
