// SPDX-License-Identifier: Apache-2.0
// mpirun's standard error mixes three things: the ranks' output, the agents'
// reports, and remarks of mpirun's daemons about ranks that ended without
// MPI_Finalize. The filters pass the ranks' output on, unchanged and at once,
// and remove the rest.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "horovodrun/output/report.h"

namespace hvd::launcher {

// Removes the reports of one job from a stream. Bytes are held back only while
// they could be the beginning of a report, which begins with the marker's
// control character.
class ReportFilter {
 public:
  explicit ReportFilter(const std::string& token);

  // Takes the next bytes of the stream; appends the user's part to `text` and
  // the reports to `reports`.
  void feed(absl::string_view bytes, std::string* text,
            std::vector<Report>* reports);

  // The stream has ended: appends bytes that are still held back.
  void finish(std::string* text);

 private:
  std::string marker_;
  std::string held_;
};

// Drops lines of Open MPI's daemons about the end of a rank that say less than
// horovodrun's last line. Bytes are held back only after the words by which
// such a line is recognized.
class NoiseFilter {
 public:
  void feed(absl::string_view bytes, std::string* text);
  void finish(std::string* text);

 private:
  std::string held_;
};

}  // namespace hvd::launcher
