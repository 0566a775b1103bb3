// SPDX-License-Identifier: Apache-2.0
// A starter's standard error mixes three things: the ranks' output, the agents'
// reports, and its own remarks about ranks that ended. The filters pass the
// ranks' output on, unchanged and at once, and remove the rest.
#pragma once

#include <span>
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

// Describes a line of a starter that says less than horovodrun's last line.
struct NoisePattern {
  const char* words;  // By which the line is recognized.
  const char* later;  // Other words that the line must contain.
  bool has_prefix;    // Whether "[host:pid" precedes the words.
};

// Drops such lines. Bytes are held back only after the words by which a line is
// recognized.
class NoiseFilter {
 public:
  explicit NoiseFilter(std::span<const NoisePattern> patterns)
      : patterns_(patterns) {}

  void feed(absl::string_view bytes, std::string* text);
  void finish(std::string* text);

 private:
  std::span<const NoisePattern> patterns_;
  std::string held_;
};

}  // namespace hvd::launcher
