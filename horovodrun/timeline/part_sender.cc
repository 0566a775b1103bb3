// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/timeline/part_sender.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "horovodrun/timeline/timeline_parts.h"

namespace hvd::launcher {
namespace {

constexpr int kNoRequest = 2;
constexpr char kHeaderWords[] = "horovodrun timeline ";
constexpr char kNone[] = "none";
// For a launcher that neither reads nor answers, and whose connection is not
// closed either: SIGALRM ends the process.
constexpr unsigned kSilenceSeconds = 60;

bool write_out(std::string_view bytes) {
  alarm(kSilenceSeconds);
  while (!bytes.empty()) {
    const ssize_t count = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return false;
  }
  return true;
}

bool answer_is(const char* expected) {
  alarm(kSilenceSeconds);
  std::string line;
  std::getline(std::cin, line);
  return line == expected;
}

// Of this job and of ranks that the launcher lacks.
std::map<int, std::string> files_of(const PartsRequest& request) {
  std::map<int, std::string> files = parts_beside(request.path);
  files[0] = request.path;
  const auto begin =
      std::filesystem::file_time_type::clock::now() - request.age;
  std::erase_if(files, [&](const auto& file) {
    std::error_code error;
    const auto written = std::filesystem::last_write_time(file.second, error);
    return error || written < begin || request.present.contains(file.first) ||
           !std::filesystem::is_regular_file(file.second, error);
  });
  return files;
}

bool send_bytes(std::ifstream& file, std::uint64_t bytes) {
  std::array<char, 65536> buffer{};
  while (bytes > 0) {
    const auto some = std::min<std::uint64_t>(bytes, buffer.size());
    if (!file.read(buffer.data(), static_cast<std::streamsize>(some)) ||
        !write_out({buffer.data(), some})) {
      return false;
    }
    bytes -= some;
  }
  return true;
}

}  // namespace

std::vector<std::string> to_words(const PartsRequest& request) {
  return {absl::StrCat(request.age.count()),
          request.present.empty() ? kNone : absl::StrJoin(request.present, ","),
          request.path};
}

std::optional<PartsRequest> parse_parts_request(
    const std::vector<std::string>& words) {
  PartsRequest request;
  std::int64_t age = 0;
  if (words.size() != 3 || !absl::SimpleAtoi(words[0], &age) || age < 0 ||
      words[2].empty() || words[2][0] != '/') {
    return std::nullopt;
  }
  request.age = std::chrono::seconds(age);
  request.path = words[2];
  if (words[1] == kNone) return request;
  for (const absl::string_view word : absl::StrSplit(words[1], ',')) {
    int rank = 0;
    if (!absl::SimpleAtoi(word, &rank)) return std::nullopt;
    request.present.insert(rank);
  }
  return request;
}

std::string to_line(const PartHeader& header) {
  return absl::StrCat(kHeaderWords, header.rank, " ", header.bytes, "\n");
}

std::optional<PartHeader> parse_part_header(std::string_view line) {
  absl::string_view left(line.data(), line.size());
  PartHeader header;
  if (!absl::ConsumePrefix(&left, kHeaderWords)) return std::nullopt;
  const std::vector<absl::string_view> words = absl::StrSplit(left, ' ');
  if (words.size() != 2 || !absl::SimpleAtoi(words[0], &header.rank) ||
      header.rank < 0 || !absl::SimpleAtoi(words[1], &header.bytes)) {
    return std::nullopt;
  }
  return header;
}

int send_parts(const std::vector<std::string>& words) {
  const auto request = parse_parts_request(words);
  if (!request) return kNoRequest;
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<std::string> sent;
  for (const auto& [rank, path] : files_of(*request)) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    std::ifstream file(path, std::ios::binary);
    if (error || !file.is_open()) continue;
    if (!write_out(to_line({.rank = rank, .bytes = bytes}))) return 1;
    if (!answer_is(kSendPart)) continue;
    if (!send_bytes(file, bytes)) return 1;
    sent.push_back(path);
  }
  if (!write_out(absl::StrCat(kPartsEnd, "\n"))) return 1;
  if (!answer_is(kRemoveParts)) return 1;
  std::error_code error;
  for (const std::string& path : sent) std::filesystem::remove(path, error);
  return 0;
}

}  // namespace hvd::launcher
