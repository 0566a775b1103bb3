// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/subset_communicator.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"
#include "horovodpp/transport/mail_exchange.h"

namespace hvd::transport {
namespace {

using Kind = EpochRouter::Kind;
using std::chrono::steady_clock;

// Mail to dead ranks may never leave. Mail to members has left long before this
// time.
constexpr std::chrono::milliseconds kLinger(10);

class SubsetCommunicator : public Communicator, private ExchangePost {
 public:
  SubsetCommunicator(std::shared_ptr<EpochRouter> router,
                     const SubsetOptions& options)
      : router_(std::move(router)),
        members_(options.members),
        epoch_(options.epoch),
        interrupt_(options.interrupt),
        rank_(*number_of(router_->wires().rank())) {
    for (int member : members_) {
      peers_.push_back(
          router_->wires().peers()[static_cast<std::size_t>(member)]);
    }
  }

  ~SubsetCommunicator() override {
    router_->on_peer_lost({});
    for (TransferId id : posted_) router_->wires().abandon(id);
  }

  int rank() const override { return rank_; }
  const std::vector<Peer>& peers() const override { return peers_; }

  absl::StatusOr<std::vector<std::string>> exchange(
      const std::string& mine,
      std::chrono::steady_clock::time_point deadline) override {
    return exchange_by_mail(*this, round_++, mine, deadline);
  }

  absl::Status send_mail(int to, std::string bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(to));
    return router_->send(member(to), {Kind::kMail, epoch_}, std::move(bytes));
  }
  absl::StatusOr<std::optional<Mail>> receive_mail() override {
    HVD_ASSIGN_OR_RETURN(std::optional<Mail> mail, next(Kind::kMail));
    if (!mail.has_value() && interrupt_) HVD_RETURN_IF_ERROR(interrupt_());
    return mail;
  }
  absl::StatusOr<bool> mail_is_flushed() override {
    return router_->wires().mail_is_flushed();
  }

  void send_beat(int to) override { router_->wires().send_beat(member(to)); }
  std::vector<int> receive_beats() override {
    std::vector<int> ranks;
    for (const int from : router_->wires().receive_beats()) {
      if (const auto number = number_of(from)) ranks.push_back(*number);
    }
    return ranks;
  }

  absl::StatusOr<TransferId> post_send(
      int to, DataTag tag, std::span<const std::byte> bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(to));
    return noted(router_->wires().post_send(
        member(to), EpochRouter::folded(epoch_, tag), bytes));
  }
  absl::StatusOr<TransferId> post_receive(int from, DataTag tag,
                                          std::span<std::byte> bytes) override {
    HVD_RETURN_IF_ERROR(check_rank(from));
    return noted(router_->wires().post_receive(
        member(from), EpochRouter::folded(epoch_, tag), bytes));
  }
  absl::StatusOr<bool> test(TransferId id) override {
    absl::StatusOr<bool> done = router_->wires().test(id);
    if (!done.ok() || *done) posted_.erase(id);
    return done;
  }
  bool abandon(TransferId id) override {
    posted_.erase(id);
    return router_->wires().abandon(id);
  }

  bool has_open_descriptors() const override {
    return router_->wires().has_open_descriptors();
  }

  std::vector<LinkUse> link_uses() const override {
    std::vector<LinkUse> uses;
    for (LinkUse use : router_->wires().link_uses()) {
      const auto number = number_of(use.to);
      if (!number) continue;
      use.to = *number;
      uses.push_back(use);
    }
    return uses;
  }

  void on_peer_lost(LostCallback callback) override {
    if (!callback) return router_->on_peer_lost({});
    router_->on_peer_lost([this, callback = std::move(callback)](
                              int rank, const std::string& how) {
      if (const auto number = number_of(rank)) callback(*number, how);
    });
  }

 private:
  // The mail of exchange().
  absl::Status send(int to, std::string bytes) override {
    sent_at_ = steady_clock::now();
    return router_->send(member(to), {Kind::kExchange, epoch_},
                         std::move(bytes));
  }
  absl::StatusOr<std::optional<Mail>> receive() override {
    // Check first, so that mail from before a death counts.
    const absl::Status alive = check_members();
    HVD_ASSIGN_OR_RETURN(std::optional<Mail> mail, next(Kind::kExchange));
    if (mail.has_value()) return mail;
    if (interrupt_) HVD_RETURN_IF_ERROR(interrupt_());
    HVD_RETURN_IF_ERROR(alive);
    return std::nullopt;
  }
  absl::StatusOr<bool> flushed() override {
    HVD_ASSIGN_OR_RETURN(const bool flushed, mail_is_flushed());
    return flushed || steady_clock::now() - sent_at_ > kLinger;
  }

  absl::Status check_members() const {
    if (router_->loss_count() == 0) return absl::OkStatus();
    for (const auto& [rank, how] : router_->losses()) {
      const auto number = number_of(rank);
      if (!number.has_value()) continue;
      const Peer& peer = peers_[static_cast<std::size_t>(*number)];
      return absl::AbortedError(
          absl::StrCat(peer.to_string(*number), " ", how));
    }
    return absl::OkStatus();
  }

  // The next mail of a member.
  absl::StatusOr<std::optional<Mail>> next(Kind kind) {
    while (true) {
      HVD_ASSIGN_OR_RETURN(std::optional<Mail> mail,
                           router_->receive({kind, epoch_}));
      if (!mail.has_value()) return std::nullopt;
      const auto number = number_of(mail->from);
      if (!number.has_value()) continue;
      mail->from = *number;
      return mail;
    }
  }

  int member(int rank) const {
    return members_[static_cast<std::size_t>(rank)];
  }
  std::optional<int> number_of(int rank) const {
    return position_in(members_, rank);
  }
  absl::StatusOr<TransferId> noted(absl::StatusOr<TransferId> id) {
    if (id.ok()) posted_.insert(*id);
    return id;
  }

  const std::shared_ptr<EpochRouter> router_;
  const std::vector<int> members_;
  const std::uint32_t epoch_;
  const std::function<absl::Status()> interrupt_;
  const int rank_;
  std::vector<Peer> peers_;
  std::uint32_t round_ = 0;
  steady_clock::time_point sent_at_;  // Time of the last exchange mail.
  absl::flat_hash_set<TransferId> posted_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> make_subset_communicator(
    std::shared_ptr<EpochRouter> router, const SubsetOptions& options) {
  const std::vector<int>& members = options.members;
  if (!are_ascending_ranks(members, router->wires().size()) ||
      !contains(members, router->wires().rank())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ranks [", absl::StrJoin(members, ", "),
        "] are not an ascending list of ranks below ", router->wires().size(),
        " with rank ", router->wires().rank(), " in it"));
  }
  HVD_RETURN_IF_ERROR(router->enter(options.epoch));
  return std::make_unique<SubsetCommunicator>(std::move(router), options);
}

}  // namespace hvd::transport
