// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/messages/messenger.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::runtime {

using coordinator::kAnyRank;
using coordinator::Key;
using coordinator::RequestKind;
using coordinator::Results;
using coordinator::Submission;
using coordinator::TensorQueue;

namespace {

// A message of at most this many bytes travels with its offer.
constexpr std::size_t kMaxInOffer = 4096;

// The parts of other messages, and the number under way at a time.
constexpr std::size_t kPartBytes = std::size_t{256} << 10;
constexpr std::size_t kMaxParts = 4;

// Operations named in the log at a time, if many have waited too long.
constexpr std::size_t kMaxStalled = 4;

std::size_t bytes_of(const Submission& submission) {
  return submission.request.bytes();
}

std::string_view text_of(const void* data, std::size_t bytes) {
  return {static_cast<const char*>(data), bytes};
}

std::string size_text(DType dtype, std::size_t bytes) {
  return absl::StrCat(bytes, " bytes of ", name_of(dtype));
}

}  // namespace

std::string wait_text(const Submission& submission, int rank,
                      const std::function<std::string(int)>& describe) {
  const coordinator::ProcessSetId set = submission.request.key.process_set;
  const std::string in_set = set == coordinator::kGlobalSet
                                 ? ""
                                 : absl::StrCat(" of process set ", set);
  if (submission.request.kind == RequestKind::kSend) {
    return absl::StrCat("rank ", rank, " waits for ", describe(submission.peer),
                        " to receive a message with tag ", submission.tag,
                        in_set, " (", bytes_of(submission), " bytes)");
  }
  return absl::StrCat(
      "rank ", rank, " waits for a message with tag ", submission.tag, in_set,
      " from ",
      submission.peer == kAnyRank ? "any rank" : describe(submission.peer));
}

std::optional<int> Messenger::local_rank(int rank) const {
  return position_in(means_.topology.local_ranks(), rank);
}

absl::Status Messenger::post(int to, const Letter& letter) {
  const auto here = local_rank(to);
  if (!here) return means_.send_far(to, encode(letter));
  near().post(*here, encode(letter));
  is_posted_ = true;
  return absl::OkStatus();
}

absl::Status Messenger::answer(const Name& name, LetterKind kind,
                               std::uint64_t offset) {
  return post(name.first,
              {.kind = kind, .number = name.second, .offset = offset});
}

absl::Status Messenger::begin(const Submission& submission) {
  const SubmissionPtr held = TensorQueue::hold(submission);
  if (held == nullptr) return absl::OkStatus();
  if (ended_by_) {
    means_.queue.finish(held, ended(submission));
    return absl::OkStatus();
  }
  if (!is_busy() && means_.stall_warning.count() > 0) {
    due_ = means_.clock.now() + means_.stall_warning;
  }
  if (submission.request.kind == RequestKind::kReceive) return receive(held);
  return submission.peer == rank() ? send_to_self(held) : send(held);
}

absl::Status Messenger::send(const SubmissionPtr& submission) {
  const Submission& mine = *submission;
  const int to = mine.peer;
  const std::size_t bytes = bytes_of(mine);
  const std::uint32_t number = next_number_[to]++;
  Outgoing& outgoing = outgoing_[{to, number}];
  outgoing.submission = submission;
  outgoing.since = means_.clock.now();
  Letter offer = {.kind = LetterKind::kOffer,
                  .number = number,
                  .process_set = mine.request.key.process_set,
                  .tag = mine.tag,
                  .dtype = mine.request.tensors.front().dtype,
                  .bytes = bytes};
  const void* const data = mine.inputs.front().data();
  if (bytes <= kMaxInOffer) {
    offer.at = DataPlace::kHere;
    offer.text = text_of(data, bytes);
  } else if (local_rank(to)) {
    auto place = means_.arenas.arena().find(data, bytes);
    if (!place && bytes <= kPartBytes) place = stage(outgoing, 0, data, bytes);
    if (place) {
      means_.arenas.publish();
      offer.at = DataPlace::kInArena;
      offer.place = *place;
    }
  }
  return post(to, offer);
}

std::optional<Arena::Place> Messenger::stage(Outgoing& outgoing,
                                             std::size_t offset,
                                             const void* data,
                                             std::size_t bytes) const {
  std::shared_ptr<std::byte> memory = means_.arenas.results().allocate(bytes);
  if (memory == nullptr) return std::nullopt;
  std::memcpy(memory.get(), data, bytes);
  means_.arenas.publish();
  const auto place = means_.arenas.arena().find(memory.get(), bytes);
  outgoing.staged[offset] = std::move(memory);
  return place;
}

absl::Status Messenger::send_to_self(const SubmissionPtr& submission) {
  const Submission& mine = *submission;
  Offered offered = {.from = rank(),
                     .process_set = mine.request.key.process_set,
                     .tag = mine.tag,
                     .dtype = mine.request.tensors.front().dtype,
                     .bytes = bytes_of(mine),
                     .own = submission};
  ++own_;
  auto match = matches_.offer(std::move(offered));
  return match ? accept(*std::move(match)) : absl::OkStatus();
}

absl::Status Messenger::receive(const SubmissionPtr& submission) {
  auto match =
      matches_.want({.submission = submission, .since = means_.clock.now()});
  return match ? accept(*std::move(match)) : absl::OkStatus();
}

absl::StatusOr<bool> Messenger::receive_near() {
  bool received = false;
  while (auto letter = near().receive()) {
    received = true;
    const auto from = static_cast<std::size_t>(letter->from);
    HVD_RETURN_IF_ERROR(
        receive(means_.topology.local_ranks()[from], letter->bytes));
  }
  return received;
}

absl::Status Messenger::receive(int from, std::string_view mail) {
  const absl::StatusOr<Letter> letter = decode_letter(mail);
  const absl::Status status =
      letter.ok() ? take(from, *letter) : letter.status();
  return annotate(status, absl::StrCat("mail from rank ", from));
}

absl::Status Messenger::take(int from, const Letter& letter) {
  switch (letter.kind) {
    case LetterKind::kOffer:
      // Its sender learns of the end by itself.
      return ended_by_ ? absl::OkStatus() : take_offer(from, letter);
    case LetterKind::kAsk:
      return post(from, {.kind = LetterKind::kAll});
    case LetterKind::kAll:
      fail_sends(from);
      return absl::OkStatus();
    case LetterKind::kData:
      return take_data({from, letter.number}, letter);
    default:
      return take_answer({from, letter.number}, letter);
  }
}

absl::Status Messenger::take_offer(int from, const Letter& letter) {
  Offered offered = {.from = from,
                     .number = letter.number,
                     .process_set = letter.process_set,
                     .tag = letter.tag,
                     .dtype = letter.dtype,
                     .bytes = letter.bytes,
                     .at = letter.at,
                     .place = letter.place,
                     .data = std::string(letter.text)};
  auto match = matches_.offer(std::move(offered));
  return match ? accept(*std::move(match)) : absl::OkStatus();
}

std::optional<std::string> Messenger::find_mismatch(
    const Wanted& wanted, const Offered& offered) const {
  const Submission& receive = *wanted.submission;
  const DType dtype = receive.request.tensors.front().dtype;
  const std::size_t bytes = bytes_of(receive);
  if (dtype == offered.dtype && bytes == offered.bytes) return std::nullopt;
  return absl::StrCat("ranks disagree on a message with tag ", offered.tag,
                      ": rank ", offered.from, " sent ",
                      size_text(offered.dtype, offered.bytes), ", rank ",
                      rank(), " receives ", size_text(dtype, bytes),
                      "; use the same dtype and number of elements on both");
}

absl::Status Messenger::accept(Match match) {
  Wanted& wanted = match.wanted;
  Offered& offered = match.offered;
  const auto mismatch = find_mismatch(wanted, offered);
  const Name name = {offered.from, offered.number};
  if (mismatch) {
    const absl::Status why = absl::InvalidArgumentError(*mismatch);
    if (offered.own == nullptr) {
      HVD_RETURN_IF_ERROR(post(offered.from, {.kind = LetterKind::kRefused,
                                              .number = offered.number,
                                              .text = *mismatch}));
    } else {
      --own_;
      means_.queue.finish(offered.own, why);
    }
    means_.queue.finish(wanted.submission, why);
    return absl::OkStatus();
  }
  if (offered.own != nullptr) return accept_own(wanted, offered);
  const void* data = nullptr;
  if (offered.at == DataPlace::kHere) data = offered.data.data();
  if (offered.at == DataPlace::kInArena) {
    data = find_in_arena(offered.from, offered.place, offered.bytes);
  }
  if (data != nullptr) {
    copy(wanted.submission, 0, data, offered.bytes);
    HVD_RETURN_IF_ERROR(answer(name, LetterKind::kDone));
    received(wanted.submission, offered.from);
    return absl::OkStatus();
  }
  incoming_[name] = {.wanted = std::move(wanted),
                     .offered = std::move(offered)};
  return answer(name, LetterKind::kGo);
}

absl::Status Messenger::accept_own(const Wanted& wanted,
                                   const Offered& offered) {
  --own_;
  if (means_.queue.holds(*offered.own)) {
    copy(wanted.submission, 0, offered.own->inputs.front().data(),
         offered.bytes);
  }
  means_.queue.finish(offered.own, Results());
  received(wanted.submission, offered.from);
  return absl::OkStatus();
}

const std::byte* Messenger::find_in_arena(int from, const Arena::Place& place,
                                          std::size_t bytes) {
  const auto here = local_rank(from);
  if (!here) return nullptr;
  means_.arenas.reach();
  return means_.arenas.address(*here, place, bytes);
}

void Messenger::copy(const SubmissionPtr& receive, std::size_t offset,
                     const void* from, std::size_t bytes) const {
  // The caller of a failed receive may have freed its memory.
  if (bytes == 0 || !means_.queue.holds(*receive)) return;
  auto* const to = static_cast<std::byte*>(receive->outputs.front().data());
  std::memcpy(to + offset, from, bytes);
}

void Messenger::received(const SubmissionPtr& receive, int from) {
  Results results;
  results.number = from;
  means_.queue.finish(receive, std::move(results));
}

absl::Status Messenger::take_data(const Name& name, const Letter& letter) {
  const auto found = incoming_.find(name);
  if (found == incoming_.end()) return absl::OkStatus();  // It has failed.
  Incoming& incoming = found->second;
  const std::size_t size = incoming.offered.bytes;
  if (letter.offset > size || letter.bytes > size - letter.offset ||
      letter.bytes > size - incoming.received) {
    return absl::InvalidArgumentError(
        "a part of a message goes beyond its end");
  }
  const void* data = letter.text.data();
  if (letter.at == DataPlace::kInArena) {
    data = find_in_arena(name.first, letter.place, letter.bytes);
    if (data == nullptr) {
      return answer(name, LetterKind::kUnreachable, letter.offset);
    }
  }
  copy(incoming.wanted.submission, letter.offset, data, letter.bytes);
  incoming.received += letter.bytes;
  if (incoming.received < size) {
    return answer(name, LetterKind::kTook, letter.offset);
  }
  const SubmissionPtr receive = incoming.wanted.submission;
  incoming_.erase(found);
  HVD_RETURN_IF_ERROR(answer(name, LetterKind::kDone));
  received(receive, name.first);
  return absl::OkStatus();
}

absl::Status Messenger::take_answer(const Name& name, const Letter& letter) {
  const auto found = outgoing_.find(name);
  if (found == outgoing_.end()) return absl::OkStatus();  // It has failed.
  Outgoing& outgoing = found->second;
  switch (letter.kind) {
    case LetterKind::kGo:
      return send_parts(name.first, name.second, outgoing);
    case LetterKind::kTook:
    case LetterKind::kUnreachable:
      if (outgoing.parts == 0 || letter.offset >= outgoing.next) {
        return absl::InvalidArgumentError("an answer to no part of a message");
      }
      outgoing.staged.erase(letter.offset);
      if (letter.kind == LetterKind::kUnreachable) {
        if (std::exchange(outgoing.by_mail, true) && !local_rank(name.first)) {
          return absl::InvalidArgumentError("mail that cannot be read");
        }
        return send_part(name.first, name.second, outgoing, letter.offset);
      }
      --outgoing.parts;
      return send_parts(name.first, name.second, outgoing);
    default:
      break;
  }
  const SubmissionPtr submission = outgoing.submission;
  outgoing_.erase(found);
  if (letter.kind == LetterKind::kDone) {
    means_.queue.finish(submission, Results());
  } else {
    means_.queue.finish(submission,
                        absl::InvalidArgumentError(std::string(letter.text)));
  }
  return absl::OkStatus();
}

absl::Status Messenger::send_parts(int to, std::uint32_t number,
                                   Outgoing& outgoing) {
  const std::size_t size = bytes_of(*outgoing.submission);
  while (outgoing.parts < kMaxParts && outgoing.next < size) {
    const std::size_t offset = outgoing.next;
    outgoing.next = std::min(size, offset + kPartBytes);
    ++outgoing.parts;
    HVD_RETURN_IF_ERROR(send_part(to, number, outgoing, offset));
  }
  return absl::OkStatus();
}

absl::Status Messenger::send_part(int to, std::uint32_t number,
                                  Outgoing& outgoing, std::size_t offset) {
  const SubmissionPtr& submission = outgoing.submission;
  // The caller of a failed send may have freed its memory.
  if (!means_.queue.holds(*submission)) return absl::OkStatus();
  const auto* const data =
      static_cast<const std::byte*>(submission->inputs.front().data()) + offset;
  const std::size_t bytes =
      std::min(kPartBytes, bytes_of(*submission) - offset);
  Letter part = {.kind = LetterKind::kData,
                 .number = number,
                 .bytes = bytes,
                 .offset = offset,
                 .at = DataPlace::kHere,
                 .text = text_of(data, bytes)};
  const bool is_near = local_rank(to).has_value();
  if (is_near && !outgoing.by_mail) {
    if (const auto place = stage(outgoing, offset, data, bytes)) {
      part.at = DataPlace::kInArena;
      part.place = *place;
      part.text = {};
    }
  }
  return post(to, part);
}

void Messenger::flush() {
  if (std::exchange(is_posted_, false)) near().ring();
  if (near().has_unwritten()) near().flush();
}

std::optional<Clock::TimePoint> Messenger::due() const {
  return is_busy() ? due_ : std::nullopt;
}

absl::Status Messenger::report_stalls(std::vector<std::string>& warnings) {
  const Clock::TimePoint now = means_.clock.now();
  std::vector<Wanted> waiting;
  for (const auto& [name, outgoing] : outgoing_) {
    waiting.push_back({outgoing.submission, outgoing.since});
  }
  for (const auto& [name, incoming] : incoming_) {
    waiting.push_back(incoming.wanted);
  }
  due_ = now + means_.stall_warning;
  const auto is_older = [](const Wanted& a, const Wanted& b) {
    return a.since < b.since;
  };
  const auto seconds_of = [&](const Wanted& one) {
    return std::chrono::round<std::chrono::seconds>(now - one.since).count();
  };
  const auto text_of_wait = [&](const Wanted& one) {
    return absl::StrCat(wait_text(*one.submission, rank(), means_.describe),
                        ", since ", seconds_of(one), " s");
  };
  const Clock::Duration shutdown = means_.stall_shutdown;
  if (shutdown.count() > 0 && !waiting.empty()) {
    const Wanted& oldest =
        *std::min_element(waiting.begin(), waiting.end(), is_older);
    if (now - oldest.since >= shutdown) {
      return absl::AbortedError(absl::StrCat(
          "the job has stalled, and is given up: ", text_of_wait(oldest)));
    }
    due_ = std::min(*due_, oldest.since + shutdown);
  }
  // A receive may wait for work on purpose: it is reported when it is young.
  for (const Wanted& receive : matches_.all_wanted()) {
    if (now - receive.since < 2 * means_.stall_warning) {
      waiting.push_back(receive);
    }
  }
  std::sort(waiting.begin(), waiting.end(), is_older);
  for (std::size_t i = 0; i < std::min(kMaxStalled, waiting.size()); ++i) {
    if (now - waiting[i].since < means_.stall_warning) {
      due_ = std::min(*due_, waiting[i].since + means_.stall_warning);
      break;
    }
    warnings.push_back(text_of_wait(waiting[i]));
  }
  return absl::OkStatus();
}

absl::Status Messenger::ended(const Submission& submission) const {
  const bool is_mine = *ended_by_ == rank();
  return absl::CancelledError(absl::StrCat(
      is_mine ? absl::StrCat("this rank (", rank(), ")")
              : means_.describe(*ended_by_),
      " shut down while ", wait_text(submission, rank(), means_.describe),
      "; call shutdown() after the last operation on every rank"));
}

absl::Status Messenger::end(int rank) {
  if (ended_by_) return absl::OkStatus();
  ended_by_ = rank;
  fail_all(std::nullopt,
           [this](const Submission& submission) { return ended(submission); });
  std::set<int> receivers;
  for (const auto& [name, outgoing] : outgoing_) receivers.insert(name.first);
  for (const int to : receivers) {
    HVD_RETURN_IF_ERROR(post(to, {.kind = LetterKind::kAsk}));
  }
  return absl::OkStatus();
}

void Messenger::fail_sends(int to) {
  if (!ended_by_) return;
  std::vector<SubmissionPtr> failed;
  absl::erase_if(outgoing_, [&](auto& entry) {
    if (entry.first.first != to) return false;
    failed.push_back(entry.second.submission);
    return true;
  });
  for (const SubmissionPtr& submission : failed) {
    means_.queue.finish(submission, ended(*submission));
  }
}

void Messenger::removed(coordinator::ProcessSetId set) {
  fail_all(set, [this](const Submission& submission) {
    return absl::CancelledError(
        absl::StrCat("the process set was removed while ",
                     wait_text(submission, rank(), means_.describe),
                     "; wait for its operations before you remove a set"));
  });
}

void Messenger::fail_all(
    std::optional<coordinator::ProcessSetId> set,
    const std::function<absl::Status(const Submission&)>& why) {
  std::vector<SubmissionPtr> failed = matches_.drop(set);
  const auto take = [&](const SubmissionPtr& submission) {
    if (set && submission->request.key.process_set != *set) return false;
    failed.push_back(submission);
    return true;
  };
  if (set) {
    absl::erase_if(outgoing_,
                   [&](auto& entry) { return take(entry.second.submission); });
  }
  absl::erase_if(incoming_, [&](auto& entry) {
    return take(entry.second.wanted.submission);
  });
  for (const SubmissionPtr& submission : failed) {
    const bool is_own = submission->request.kind == RequestKind::kSend &&
                        submission->peer == rank();
    if (is_own) --own_;
    means_.queue.finish(submission, why(*submission));
  }
}

}  // namespace hvd::runtime
