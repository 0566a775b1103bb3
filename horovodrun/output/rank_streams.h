// SPDX-License-Identifier: Apache-2.0
// The standard output and standard error of a rank, which the launcher reads
// itself if the rank runs on the same host. mpirun would split longer lines and
// mix the lines of several ranks.
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

// The environment variable that gives agents the name of the launcher's desk.
inline constexpr char kOutputVariable[] = "HOROVODRUN_OUTPUT";

class RankStreams {
 public:
  struct Options {
    bool terminal = false;  // The output is a terminal even if this one is not.
    // Streams that horovodrun does not show.
    bool hides_output = false;
    bool hides_errors = false;
  };
  // Sends the reading ends to the launcher; without a desk both streams stay
  // this process's own. If that fails they do, too, or lead nowhere if they are
  // hidden. A rank's output is
  // a terminal if this process's is.
  RankStreams(const std::string& desk, const std::string& token, int rank,
              const Options& options);
  ~RankStreams() { close(); }
  RankStreams(const RankStreams&) = delete;
  RankStreams& operator=(const RankStreams&) = delete;

  // For the rank; -1: this process's.
  int output() const { return output_; }
  int errors() const { return errors_; }

  // Closes this process's writing ends.
  void close();

 private:
  void send(const std::string& desk, const std::string& token, int rank,
            const Options& options);

  int output_ = -1;
  int errors_ = -1;
};

// Receives the streams of ranks from their agents.
class RankStreamDesk {
 public:
  struct Arrived {
    int rank = 0;
    int output = -1;  // Read without waiting; the caller closes it.
    int errors = -1;  // Likewise.
    bool hides_output = false;
    bool hides_errors = false;
  };

  // Empty: no streams can be received.
  const std::string& name() const { return socket_.name(); }
  int fd() const { return socket_.fd(); }

  // The streams of the next rank, if some have arrived.
  std::optional<Arrived> receive(const std::string& token);

 private:
  AbstractSocket socket_;
};

}  // namespace hvd::launcher
