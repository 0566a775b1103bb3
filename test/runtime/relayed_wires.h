// SPDX-License-Identifier: Apache-2.0
// Wires that forward every call. Tests derive from them to change one behavior.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/transport/communicator.h"

namespace hvd {

class RelayedWires : public transport::Communicator {
 public:
  explicit RelayedWires(std::unique_ptr<transport::Communicator> wires)
      : wires_(std::move(wires)) {}

  int rank() const override { return wires_->rank(); }
  int size() const override { return wires_->size(); }
  const std::vector<Peer>& peers() const override { return wires_->peers(); }
  absl::StatusOr<std::vector<std::string>> exchange(
      const std::string& mine,
      std::chrono::steady_clock::time_point deadline) override {
    return wires_->exchange(mine, deadline);
  }
  absl::Status send_mail(int to, std::string bytes) override {
    return wires_->send_mail(to, std::move(bytes));
  }
  absl::StatusOr<std::optional<transport::Mail>> receive_mail() override {
    return wires_->receive_mail();
  }
  absl::StatusOr<bool> mail_is_flushed() override {
    return wires_->mail_is_flushed();
  }
  void send_beat(int to) override { wires_->send_beat(to); }
  std::vector<int> receive_beats() override { return wires_->receive_beats(); }
  absl::StatusOr<transport::TransferId> post_send(
      int to, transport::DataTag tag,
      std::span<const std::byte> bytes) override {
    return wires_->post_send(to, tag, bytes);
  }
  absl::StatusOr<transport::TransferId> post_receive(
      int from, transport::DataTag tag, std::span<std::byte> bytes) override {
    return wires_->post_receive(from, tag, bytes);
  }
  absl::StatusOr<bool> test(transport::TransferId id) override {
    return wires_->test(id);
  }
  bool abandon(transport::TransferId id) override {
    return wires_->abandon(id);
  }
  void on_peer_lost(LostCallback callback) override {
    wires_->on_peer_lost(std::move(callback));
  }
  std::vector<LinkUse> link_uses() const override {
    return wires_->link_uses();
  }
  std::string caveat() const override { return wires_->caveat(); }
  void distrust() override { wires_->distrust(); }

 private:
  const std::unique_ptr<transport::Communicator> wires_;
};

}  // namespace hvd
