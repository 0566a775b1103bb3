// SPDX-License-Identifier: Apache-2.0
// The contenders of network_benchmark: each moves bytes between two ranks in
// its own way.
//
//   TCP    the communicator over TCP, as in a job without MPI
//   UCX    the same with transfers by UCX, if its module is there
//   MPI    MPI's own calls
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/collective/ring/plane.h"
#include "horovodpp/transport/communicator.h"

namespace hvd::benchmark {

// The calls throw errors, and return when this rank's part is done.
class NetworkContender {
 public:
  virtual ~NetworkContender() = default;
  virtual std::string name() const = 0;
  // Rank 0 sends a message of as many bytes to rank 1 and receives one.
  virtual void bounce_mail(std::size_t bytes) = 0;
  // The same, of memory that both ranks know.
  virtual void bounce(std::span<std::byte> data) = 0;
  // The maximum of the ranks' floats, in place.
  virtual void allreduce(std::span<std::byte> data) = 0;
};

class OverCommunicator : public NetworkContender {
 public:
  OverCommunicator(std::string name,
                   std::unique_ptr<transport::Communicator> wires);

  std::string name() const override { return name_; }
  void bounce_mail(std::size_t bytes) override;
  void bounce(std::span<std::byte> data) override;
  void allreduce(std::span<std::byte> data) override;

 private:
  transport::DataTag next_tag() { return {.epoch = 1, .sequence = ++calls_}; }
  void send_mail(std::size_t bytes);
  void receive_mail();
  void send(std::span<const std::byte> data);
  void receive(std::span<std::byte> data);
  void finish(transport::TransferId id);
  int other() const { return 1 - wires_->rank(); }

  const std::string name_;
  const std::unique_ptr<transport::Communicator> wires_;
  collective::RingPlane plane_;
  std::uint32_t calls_ = 0;
};

class OverMpi : public NetworkContender {
 public:
  explicit OverMpi(MPI_Comm comm) : comm_(comm) { MPI_Comm_rank(comm, &rank_); }

  std::string name() const override { return "MPI"; }
  // Of the size of `bytes`, which MPI's receiver has to know.
  void bounce_mail(std::size_t bytes) override;
  void bounce(std::span<std::byte> data) override;
  void allreduce(std::span<std::byte> data) override;

 private:
  const MPI_Comm comm_;
  int rank_ = 0;
  std::vector<std::byte> mail_;
};

}  // namespace hvd::benchmark
