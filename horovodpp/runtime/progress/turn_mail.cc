// SPDX-License-Identifier: Apache-2.0
// The mail of a Turn: messages of other ranks, their heartbeats, and notices of
// lost ranks.
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/failure/lost_ranks.h"
#include "horovodpp/coordinator/root/stall_inspector.h"
#include "horovodpp/core/job/rank_status.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/job/suspects.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/progress/turn.h"
#include "horovodpp/transport/epoch_router.h"

namespace hvd::runtime {
namespace {

using std::chrono::steady_clock;

// Bytes of mail that are processed before the answers are given out.
constexpr std::size_t kPortionBytes = std::size_t{32} << 10;

}  // namespace

absl::StatusOr<bool> Turn::receive() {
  std::size_t bytes = 0;
  bool received = false;
  if (parts_.messages != nullptr) {
    HVD_ASSIGN_OR_RETURN(received, parts_.messages->receive_near());
  }
  for (;; received = true) {
    HVD_ASSIGN_OR_RETURN(std::optional<transport::Mail> mail,
                         parts_.router.receive());
    if (!mail) return received;
    bytes += mail->bytes.size();
    if (bytes >= kPortionBytes) {
      bytes = 0;
      HVD_RETURN_IF_ERROR(send_output().status());
    }
    if (beats_) beats_->heard(mail->from, steady_clock::now());
    if (traces()) {
      parts_.log.trace(absl::StrCat("received ", mail->bytes.size(),
                                    " bytes from rank ", mail->from));
    }
    if (const auto notice = transport::EpochRouter::notice_in(mail->bytes)) {
      HVD_RETURN_IF_ERROR(receive_losses(mail->from, *notice));
      continue;
    }
    if (parts_.messages != nullptr && is_letter(mail->bytes)) {
      HVD_RETURN_IF_ERROR(parts_.messages->receive(mail->from, mail->bytes));
      continue;
    }
    const absl::Status heard =
        parts_.coordinator.receive(mail->from, mail->bytes);
    if (heard.ok()) continue;
    const bool is_silent_node =
        failure_kind_of(heard) == FailureKind::kSilentNode;
    return is_silent_node && is_among_lost(suspects_of(heard))
               ? dropped_by(mail->from)
               : heard;
  }
}

bool Turn::is_among_lost(const std::vector<int>& suspects) const {
  return contains(suspects, parts_.topology.rank());
}

// The error for when rank `from` takes this rank for lost. It blames no rank:
// the link between the hosts was down.
absl::Status Turn::dropped_by(int from) const {
  return absl::AbortedError(absl::StrCat(
      "host '", parts_.topology.peer(from).host, "' (rank ", from,
      ") continues without this rank, which was silent for too long; check "
      "the network between the hosts"));
}

// Rank `from` knows of losses already, and has begun to re-form the job.
absl::Status Turn::receive_losses(int from, const std::string& notice) {
  const absl::StatusOr<coordinator::LostRanksMessage> letter =
      coordinator::decode_lost_ranks(notice, parts_.topology.size());
  if (!letter.ok()) {
    return annotate(letter.status(), absl::StrCat("mail from rank ", from));
  }
  const coordinator::LostRanks& lost_ranks = letter->lost_ranks;
  if (is_among_lost(lost_ranks.suspected)) return dropped_by(from);
  if (!lost_ranks.dead.empty()) {
    parts_.monitor.left_behind(lost_ranks.dead.front(), kEndedEarly);
  } else if (!lost_ranks.suspected.empty()) {
    parts_.monitor.left_behind(lost_ranks.suspected.front(),
                               coordinator::kDoesNotAnswer,
                               lost_ranks.suspected);
  } else {
    parts_.monitor.left_behind(from, "has begun to re-form the job");
  }
  return absl::OkStatus();
}

// Leaders of neighboring nodes exchange only mail.
absl::Status Turn::beat() {
  const auto now = steady_clock::now();
  const std::vector<int> due = beats_->due(now);
  for (const int rank : due) {
    coordinator::Outgoing mail = parts_.coordinator.beat_mail(rank);
    HVD_RETURN_IF_ERROR(parts_.router.send(mail.to, std::move(mail.bytes)));
    parts_.router.send_beat(rank);
  }
  if (!due.empty()) {
    for (const int rank : parts_.router.receive_beats()) {
      beats_->alive(rank, now);
    }
  }
  for (const int rank : beats_->lost(now)) {
    parts_.monitor.node_lost(rank);
  }
  return absl::OkStatus();
}

}  // namespace hvd::runtime
