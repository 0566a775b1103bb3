// SPDX-License-Identifier: Apache-2.0
// A SharedMemory is a mapping of memory without a name (a memfd) that other
// processes of this machine can map too, by a ticket that says where its
// descriptor is. The kernel frees it with its last mapping, however the
// processes end.
//
// All its pages exist and its size is sealed, so that touching it cannot raise
// SIGBUS. Not thread-safe; the memory itself is whatever its users make it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace hvd::transport {

class SharedMemory {
 public:
  // Where and what the memory is; the numbers of device and file tell it from
  // another one that a later process put in the same place.
  struct Ticket {
    std::int64_t pid = 0;
    int descriptor = -1;
    std::uint64_t device = 0;
    std::uint64_t file = 0;
    std::size_t bytes = 0;

    std::string to_string() const;
    //   InvalidArgument  `text` is not what to_string() writes
    static absl::StatusOr<Ticket> from_string(const std::string& text);
  };

  // `bytes` zeros, on huge pages where the machine gives them on request.
  //   ResourceExhausted  there is too little memory (says how much was asked)
  static absl::StatusOr<std::unique_ptr<SharedMemory>> create(
      std::size_t bytes);

  // Maps what `ticket` stands for, while its creator holds it open; or only to
  // read it, so that a write raises SIGSEGV.
  //   FailedPrecondition  this process may not look at the creator's
  //                       descriptors, or the memory is gone
  static absl::StatusOr<std::unique_ptr<SharedMemory>> attach(
      const Ticket& ticket, bool read_only = false);

  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return ticket_.bytes; }
  const Ticket& ticket() const { return ticket_; }

  // Ends attaching: the ticket is void, the mapping stays.
  void close_descriptor();

 private:
  SharedMemory(const Ticket& ticket, std::byte* data)
      : ticket_(ticket), data_(data) {}

  Ticket ticket_;  // Of this process; descriptor -1 once closed.
  std::byte* data_;
};

}  // namespace hvd::transport
