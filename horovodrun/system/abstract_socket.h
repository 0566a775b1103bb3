// SPDX-License-Identifier: Apache-2.0
// An AbstractSocket is a socket of this host by which processes of one user
// find each other. It is an abstract Unix socket for datagrams, with a secret
// name.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hvd::launcher {

// 128 random bits as hexadecimal digits, which cannot be guessed.
std::string random_token();

class AbstractSocket {
 public:
  // If the socket cannot be created name() is empty, and nothing arrives.
  AbstractSocket();
  ~AbstractSocket();
  AbstractSocket(const AbstractSocket&) = delete;
  AbstractSocket& operator=(const AbstractSocket&) = delete;

  // Without its leading zero.
  const std::string& name() const { return name_; }
  int fd() const { return fd_; }

  struct Letter {
    pid_t sender = 0;
    std::string bytes{};
    std::vector<int> descriptors{};  // The receiver closes them.
  };
  // The next letter from a process of this user, if one has arrived; of longer
  // ones the first `most_bytes`.
  std::optional<Letter> receive(std::size_t most_bytes);

 private:
  std::optional<Letter> receive_any(std::size_t most_bytes, bool* is_trusted);

  int fd_ = -1;
  std::string name_;
};

// Sends `bytes` and copies of at most four `descriptors` to the socket of that
// name, and waits for room there. False if the socket does not exist.
bool send_to_socket(const std::string& name, absl::string_view bytes,
                    const std::vector<int>& descriptors);

}  // namespace hvd::launcher
