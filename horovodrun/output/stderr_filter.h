// SPDX-License-Identifier: Apache-2.0
// What comes out of mpirun's standard error is three things in one stream: what
// the ranks wrote, the agents' reports, and remarks of mpirun's daemons about
// ranks that ended without MPI_Finalize. The filters let the first pass,
// unchanged and at once, and take the others out.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodrun/job/report.h"

namespace hvd::launcher {

// Takes the reports of one job out of a stream. Bytes are held back only while
// they could be the beginning of a report, which takes the marker's control
// character.
class ReportFilter {
 public:
  explicit ReportFilter(const std::string& token);

  // The next bytes of the stream; appends to `text` what the user is to see and
  // to `reports` what arrived.
  void feed(absl::string_view bytes, std::string* text,
            std::vector<Report>* reports);

  // The stream has ended: appends what is still held back.
  void finish(std::string* text);

 private:
  std::string marker_;
  std::string held_;
};

// Drops lines which Open MPI's daemons print about the end of a rank and which
// say nothing that horovodrun's last line does not say better. Bytes are held
// back only after the words by which such a line is recognised.
class NoiseFilter {
 public:
  void feed(absl::string_view bytes, std::string* text);
  void finish(std::string* text);

 private:
  std::string held_;
};

}  // namespace hvd::launcher
