// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/rank_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "horovodrun/output/stream_pair.h"

namespace hvd::launcher {
namespace {

constexpr std::size_t kMaxLetterBytes = 256;

}  // namespace

RankStreams::RankStreams(const std::string& desk, const std::string& token,
                         int rank, const Options& options) {
  if (desk.empty()) return;
  send(desk, token, rank, options);
  if (output_ >= 0) return;
  if (options.hides_output) output_ = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (options.hides_errors) errors_ = open("/dev/null", O_WRONLY | O_CLOEXEC);
}

void RankStreams::send(const std::string& desk, const std::string& token,
                       int rank, const Options& options) {
  StreamPair output =
      open_stream(options.terminal || isatty(STDOUT_FILENO) != 0);
  StreamPair errors = open_stream(isatty(STDERR_FILENO) != 0);
  const std::string letter =
      absl::StrCat(token, " ", rank, options.hides_output ? " o" : "",
                   options.hides_errors ? " e" : "");
  if (output.is_open() && errors.is_open() &&
      send_to_socket(desk, letter, {output.reader, errors.reader})) {
    output_ = std::exchange(output.writer, -1);
    errors_ = std::exchange(errors.writer, -1);
  }
  output.close_both();
  errors.close_both();
}

void RankStreams::close() {
  close_if_open(output_);
  close_if_open(errors_);
}

std::optional<RankStreamDesk::Arrived> RankStreamDesk::receive(
    const std::string& token) {
  while (auto letter = socket_.receive(kMaxLetterBytes)) {
    absl::string_view rest = letter->bytes;
    Arrived arrived;
    arrived.hides_errors = absl::ConsumeSuffix(&rest, " e");
    arrived.hides_output = absl::ConsumeSuffix(&rest, " o");
    if (letter->descriptors.size() == 2 && absl::ConsumePrefix(&rest, token) &&
        absl::ConsumePrefix(&rest, " ") &&
        absl::SimpleAtoi(rest, &arrived.rank)) {
      arrived.output = letter->descriptors[0];
      arrived.errors = letter->descriptors[1];
      for (const int fd : letter->descriptors) fcntl(fd, F_SETFL, O_NONBLOCK);
      return arrived;
    }
    for (const int fd : letter->descriptors) ::close(fd);
  }
  return std::nullopt;
}

}  // namespace hvd::launcher
