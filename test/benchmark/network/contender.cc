// SPDX-License-Identifier: Apache-2.0
#include "test/benchmark/network/contender.h"

#include <utility>

#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/core/error.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::benchmark {
namespace {

class NeverEnds : public transport::Interrupt {
 public:
  absl::Status check() override { return absl::OkStatus(); }
};

void throw_if_mpi_fails(int code) {
  if (code != MPI_SUCCESS) {
    throw_if_error(absl::InternalError("a call of MPI failed"));
  }
}

}  // namespace

OverCommunicator::OverCommunicator(
    std::string name, std::unique_ptr<transport::Communicator> wires)
    : name_(std::move(name)),
      wires_(std::move(wires)),
      plane_(*wires_, transport::WaitPolicy::for_network(1)) {}

void OverCommunicator::bounce_mail(std::size_t bytes) {
  if (wires_->rank() == 0) send_mail(bytes);
  receive_mail();
  if (wires_->rank() != 0) send_mail(bytes);
}

void OverCommunicator::send_mail(std::size_t bytes) {
  throw_if_error(wires_->send_mail(other(), std::string(bytes, 'x')));
}

void OverCommunicator::receive_mail() {
  while (!value_or_throw(wires_->receive_mail()).has_value()) {
  }
}

void OverCommunicator::bounce(std::span<std::byte> data) {
  if (wires_->rank() == 0) send(data);
  receive(data);
  if (wires_->rank() != 0) send(data);
}

void OverCommunicator::send(std::span<const std::byte> data) {
  finish(value_or_throw(wires_->post_send(other(), next_tag(), data)));
}

void OverCommunicator::receive(std::span<std::byte> data) {
  finish(value_or_throw(wires_->post_receive(other(), next_tag(), data)));
}

void OverCommunicator::finish(transport::TransferId id) {
  while (!value_or_throw(wires_->test(id))) {
  }
}

void OverCommunicator::allreduce(std::span<std::byte> data) {
  NeverEnds never;
  const collective::Piece piece = {
      data.data(), data.data(),
      static_cast<std::int64_t>(data.size() / sizeof(float))};
  throw_if_error(plane_.allreduce(
      {&piece, 1}, {.op = ReduceOp::kMax},
      {.tag = next_tag(), .interrupt = never, .certain = true}));
}

void OverMpi::bounce_mail(std::size_t bytes) {
  mail_.resize(bytes);
  bounce(mail_);
}

void OverMpi::bounce(std::span<std::byte> data) {
  const int bytes = static_cast<int>(data.size());
  const auto send = [&] {
    throw_if_mpi_fails(
        MPI_Send(data.data(), bytes, MPI_BYTE, 1 - rank_, 0, comm_));
  };
  if (rank_ == 0) send();
  throw_if_mpi_fails(MPI_Recv(data.data(), bytes, MPI_BYTE, 1 - rank_, 0, comm_,
                              MPI_STATUS_IGNORE));
  if (rank_ != 0) send();
}

void OverMpi::allreduce(std::span<std::byte> data) {
  throw_if_mpi_fails(MPI_Allreduce(
      MPI_IN_PLACE, data.data(), static_cast<int>(data.size() / sizeof(float)),
      MPI_FLOAT, MPI_MAX, comm_));
}

}  // namespace hvd::benchmark
