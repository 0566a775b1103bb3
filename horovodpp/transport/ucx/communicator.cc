// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/ucx/communicator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/loading/ucx_exchange.h"
#include "horovodpp/transport/ucx/transfers.h"
#include "horovodpp/transport/ucx/worker.h"

namespace hvd::transport {
namespace {

class UcxCommunicator : public Communicator {
 public:
  UcxCommunicator(std::unique_ptr<Communicator> wires,
                  std::unique_ptr<UcxWorker> worker)
      : worker_(std::move(worker)),
        wires_(std::move(wires)),
        transfers_(*worker_, {.rank = wires_->rank(), .size = wires_->size()}) {
  }

  ~UcxCommunicator() override { wires_->on_peer_lost({}); }

  int rank() const override { return wires_->rank(); }
  const std::vector<Peer>& peers() const override { return wires_->peers(); }

  absl::StatusOr<std::vector<std::string>> exchange(
      const std::string& mine,
      std::chrono::steady_clock::time_point deadline) override {
    return wires_->exchange(mine, deadline);
  }

  absl::Status send_mail(int to, std::string bytes) override {
    return wires_->send_mail(to, std::move(bytes));
  }
  // Also progresses transfers: peers may need this rank's part.
  absl::StatusOr<std::optional<Mail>> receive_mail() override {
    transfers_.progress();
    return wires_->receive_mail();
  }
  absl::StatusOr<bool> mail_is_flushed() override {
    return wires_->mail_is_flushed();
  }

  void send_beat(int to) override { wires_->send_beat(to); }
  std::vector<int> receive_beats() override { return wires_->receive_beats(); }

  absl::StatusOr<TransferId> post_send(
      int to, DataTag tag, std::span<const std::byte> bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(to));
    return transfers_.post_send(to, tag, bytes);
  }
  absl::StatusOr<TransferId> post_receive(int from, DataTag tag,
                                          std::span<std::byte> bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(from));
    return transfers_.post_receive(from, tag, bytes);
  }
  absl::StatusOr<bool> test(TransferId id) override {
    const std::optional<int> peer = transfers_.peer_of(id);
    absl::StatusOr<bool> done = transfers_.test(id);
    if (!absl::IsUnavailable(done.status())) return done;
    return absl::AbortedError(absl::StrCat(
        peers()[static_cast<std::size_t>(*peer)].to_string(*peer),
        " cannot be reached by UCX: ", done.status().message(),
        "; the rank may be well, since nothing else reports it lost. With "
        "HOROVODPP_TRANSPORT=tcp jobs do not need UCX"));
  }
  bool abandon(TransferId id) override { return transfers_.abandon(id); }

  std::string caveat() const override { return wires_->caveat(); }
  const CallMeter* calls() const override { return wires_->calls(); }

  void distrust() override {
    worker_->distrust();
    wires_->distrust();
  }
  void on_peer_lost(LostCallback callback) override {
    if (!callback) return wires_->on_peer_lost({});
    wires_->on_peer_lost(
        [worker = worker_.get(), callback = std::move(callback)](
            int rank, const std::string& how) {
          worker->distrust();
          callback(rank, how);
        });
  }

 private:
  const std::unique_ptr<UcxWorker> worker_;
  const std::unique_ptr<Communicator> wires_;
  UcxTransfers transfers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> join_by_ucx(
    std::unique_ptr<Communicator> wires, const UcxOptions& options) {
  auto worker = UcxWorker::start();
  const absl::StatusOr<std::string> address =
      worker.ok() ? (*worker)->address() : worker.status();
  HVD_ASSIGN_OR_RETURN(const std::vector<std::string> addresses,
                       exchange_for_ucx(*wires, address, options.deadline));
  HVD_RETURN_IF_ERROR((*worker)->connect(addresses));
  return std::make_unique<UcxCommunicator>(std::move(wires),
                                           *std::move(worker));
}

}  // namespace hvd::transport
