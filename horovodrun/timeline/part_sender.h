// SPDX-License-Identifier: Apache-2.0
// The part sender runs on another host of a job that has ended. It sends the
// timelines of that host's ranks to the launcher, over the standard streams of
// the remote shell, and removes the files that the launcher has received:
//
//   horovodrun timeline 3 51200     the sender: rank 3 has written that many bytes
//   send                            the launcher: "send" or "leave"
//   <51200 bytes>                   the sender, after "send"
//   ...
//   horovodrun timelines end        the sender has no other file
//   remove                          the launcher has stored all files that it took
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hvd::launcher {

inline constexpr char kSendTimelines[] = "--send-timelines";

struct PartsRequest {
  std::string path{};  // Of the job's timeline; absolute.
  // Files that were written last before that time ago are of earlier jobs.
  std::chrono::seconds age{0};
  std::set<int> present{};  // The ranks whose timelines the launcher has.
};

// The words behind kSendTimelines, and their inverse.
std::vector<std::string> to_words(const PartsRequest& request);
std::optional<PartsRequest> parse_parts_request(
    const std::vector<std::string>& words);

inline constexpr char kSendPart[] = "send";
inline constexpr char kLeavePart[] = "leave";
inline constexpr char kPartsEnd[] = "horovodrun timelines end";
inline constexpr char kRemoveParts[] = "remove";

struct PartHeader {
  int rank = 0;
  std::uint64_t bytes = 0;
};
std::string to_line(const PartHeader& header);
// nullopt: the line is no header.
std::optional<PartHeader> parse_part_header(std::string_view line);

// Returns the exit code: 0, or 2 if `words` are no request.
int send_parts(const std::vector<std::string>& words);

}  // namespace hvd::launcher
