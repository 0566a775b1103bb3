// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/epoch_router.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {
namespace {

constexpr std::uint64_t kMagic = 0x68636f7065647668;  // "hvdepoch"

// Follows the bytes of every message.
struct Trailer {
  std::uint64_t magic = kMagic;
  std::uint32_t epoch = 0;
  std::uint32_t kind = 0;
};

// Ranks send little before they meet in a later epoch; a rank that sends more
// is faulty.
constexpr int kMaxKeptPerRank = 4096;

// The channel in the trailer; nullopt without a trailer.
std::optional<EpochRouter::Channel> channel_of(const std::string& bytes) {
  Trailer trailer;
  if (bytes.size() < sizeof(trailer)) return std::nullopt;
  std::memcpy(&trailer, bytes.data() + (bytes.size() - sizeof(trailer)),
              sizeof(trailer));
  if (trailer.magic != kMagic) return std::nullopt;
  if (trailer.kind > static_cast<std::uint32_t>(EpochRouter::Kind::kMail)) {
    return std::nullopt;
  }
  return EpochRouter::Channel{static_cast<EpochRouter::Kind>(trailer.kind),
                              trailer.epoch};
}

// The same, and removes the trailer.
std::optional<EpochRouter::Channel> opened(std::string& bytes) {
  const std::optional<EpochRouter::Channel> channel = channel_of(bytes);
  if (channel) bytes.resize(bytes.size() - sizeof(Trailer));
  return channel;
}

}  // namespace

EpochRouter::EpochRouter(std::shared_ptr<Communicator> wires)
    : wires_(std::move(wires)) {
  on_peer_lost({});
}

EpochRouter::~EpochRouter() { wires_->on_peer_lost({}); }

absl::Status EpochRouter::send(int to, Channel channel, std::string bytes) {
  const Trailer trailer = {.epoch = channel.epoch,
                           .kind = static_cast<std::uint32_t>(channel.kind)};
  bytes.append(reinterpret_cast<const char*>(&trailer), sizeof(trailer));
  return wires_->send_mail(to, std::move(bytes));
}

std::optional<Mail> EpochRouter::receive_kept(Channel channel) {
  const auto kept = kept_.find(channel);
  if (kept == kept_.end()) return std::nullopt;
  std::optional<Mail> mail = std::move(kept->second.front());
  kept->second.pop_front();
  if (kept->second.empty()) kept_.erase(kept);
  --kept_of_[mail->from];
  return mail;
}

absl::StatusOr<std::optional<Mail>> EpochRouter::receive(Channel channel) {
  if (std::optional<Mail> mail = receive_kept(channel)) return mail;
  while (true) {
    HVD_ASSIGN_OR_RETURN(std::optional<Mail> mail, wires_->receive_mail());
    if (!mail.has_value()) return std::nullopt;
    const std::optional<Channel> found = opened(mail->bytes);
    if (found == channel) return mail;
    if (found.has_value()) keep(*found, *std::move(mail));
  }
}

void EpochRouter::keep(Channel channel, Mail mail) {
  if (channel.kind != Kind::kNotice && channel.epoch < entered_) return;
  int& count = kept_of_[mail.from];
  const bool early = channel.kind == Kind::kNotice || channel.epoch > entered_;
  if (early && count >= kMaxKeptPerRank) return;
  ++count;
  kept_[channel].push_back(std::move(mail));
}

absl::Status EpochRouter::enter(std::uint32_t epoch) {
  if (epoch <= entered_) {
    return absl::FailedPreconditionError(
        absl::StrCat("epoch ", epoch, " cannot follow epoch ", entered_));
  }
  entered_ = epoch;
  for (auto it = kept_.begin(); it != kept_.end();) {
    if (it->first.kind == Kind::kNotice || it->first.epoch >= epoch) {
      ++it;
      continue;
    }
    for (const Mail& mail : it->second) --kept_of_[mail.from];
    it = kept_.erase(it);
  }
  return absl::OkStatus();
}

std::optional<std::string> EpochRouter::notice_in(const std::string& bytes) {
  if (channel_of(bytes) != Channel{}) return std::nullopt;
  return bytes.substr(0, bytes.size() - sizeof(Trailer));
}

// Wires may use only the low bits of an epoch. An odd factor keeps close epochs
// apart in these, too.
DataTag EpochRouter::folded(std::uint32_t epoch, DataTag tag) {
  tag.epoch += epoch * 0x9e3779b1u;
  return tag;
}

std::map<int, std::string> EpochRouter::losses() const {
  MutexLock lock(mutex_);
  return losses_;
}

void EpochRouter::on_peer_lost(Communicator::LostCallback callback) {
  wires_->on_peer_lost(
      [this, callback = std::move(callback)](int rank, const std::string& how) {
        if (rank != wires_->rank()) {
          MutexLock lock(mutex_);
          losses_.emplace(rank, how);
          loss_count_.store(losses_.size());
        }
        if (callback) callback(rank, how);
      });
}

}  // namespace hvd::transport
