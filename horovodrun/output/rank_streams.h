// SPDX-License-Identifier: Apache-2.0
// The standard output and standard error of a rank, which the launcher reads
// itself where it runs on the same host: through mpirun longer lines come in
// parts, and those of several ranks mixed.
//
//   RankStreams streams(launcher, token, rank);      // Beside the rank.
//   spawn(command, {.stdout_fd = streams.output(), ...});
//   streams.close();
//
//   RankStreamDesk desk;                             // In the launcher.
//   while (auto arrived = desk.receive(token)) read(arrived->output, ...);
#pragma once

#include <optional>
#include <string>

#include "horovodrun/system/abstract_socket.h"

namespace hvd::launcher {

// The environment variable that brings agents the name of the launcher's desk.
inline constexpr char kOutputVariable[] = "HOROVODRUN_OUTPUT";

class RankStreams {
 public:
  // Hands the reading ends over to the launcher. Where that cannot be both
  // streams stay as this process has them. A rank's output is a terminal if this
  // process's is, or if the rank has a `terminal` anyway.
  RankStreams(const std::string& desk, const std::string& token, int rank,
              bool terminal = false);
  ~RankStreams() { close(); }
  RankStreams(const RankStreams&) = delete;
  RankStreams& operator=(const RankStreams&) = delete;

  // For the rank; -1: this process'.
  int output() const { return output_; }
  int errors() const { return errors_; }

  // This process writes to neither.
  void close();

 private:
  int output_ = -1;
  int errors_ = -1;
};

// Where agents hand over the streams of their ranks.
class RankStreamDesk {
 public:
  struct Arrived {
    int rank = 0;
    int output = -1;  // To be read without waiting, and closed,
    int errors = -1;  // by the caller.
  };

  // Empty: nothing can be handed over.
  const std::string& name() const { return socket_.name(); }
  int fd() const { return socket_.fd(); }

  // The streams of the next rank, if some have come.
  std::optional<Arrived> receive(const std::string& token);

 private:
  AbstractSocket socket_;
};

}  // namespace hvd::launcher
