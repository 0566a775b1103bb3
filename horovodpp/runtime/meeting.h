// SPDX-License-Identifier: Apache-2.0
// A Meeting lets the ranks of a job on any hosts find each other without a
// launcher that horovodpp knows. Rank 0 opens it, and sends place and key to
// the others by the program's own means: a key-value store, a message queue, an
// RPC.
//
//   // Rank 0:
//   const hvd::Meeting meeting = hvd::value_or_throw(hvd::Meeting::open(size));
//   store.set("place", meeting.place() + " " + meeting.key());
//   // Every rank:
//   hvd::Config config = hvd::value_or_throw(hvd::Config::from_env());
//   config.rendezvous = place;
//   config.job_key = key;
//   config.rank = rank;
//   config.expected_size = size;
//   hvd::throw_if_error(hvd::init(config));
//
// The key is the secret of the job: every process that knows it can take part.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <memory>
#include <string>

#include "horovodpp/core/export.h"
#include "horovodpp/core/outcome.h"

namespace HVD_EXPORT hvd {

class Meeting {
 public:
  // Opens the meeting of a job of `size` ranks on this host, at a free TCP port.
  // HOROVODPP_INTERFACES restricts where it listens. It is open until it is
  // destroyed; ranks have met when init() returns on this one.
  //   InvalidArgument  `size` is below 1
  //   NotFound         this host has no such interface
  //   Internal         the system has no port, descriptor or thread left
  static StatusOr<Meeting> open(int size);
  Meeting(Meeting&& other) noexcept;
  Meeting& operator=(Meeting&& other) noexcept;
  ~Meeting();

  std::string place() const;                       // For Config::rendezvous.
  const std::string& key() const { return key_; }  // For Config::job_key.

 private:
  struct Server;
  Meeting();

  std::unique_ptr<Server> server_;
  std::string key_;
};

}  // namespace hvd
