// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mail_exchange.h"

#include <cstring>
#include <numeric>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::transport {
namespace {

using TimePoint = std::chrono::steady_clock::time_point;

// The other ranks wait this much longer than rank 0, whose verdict must still
// travel to them.
constexpr std::chrono::seconds kGrace(1);
// How long the message that calls an exchange off may take to leave this rank.
constexpr std::chrono::milliseconds kFlushTimeout(100);

enum class ExchangeKind : std::uint8_t {
  kString = 0,
  kAll = 1,
  kFailure = 2,
  kCalledOff = 3
};

// A message is the round, the kind, then the body.
struct Header {
  std::uint32_t round = 0;
  ExchangeKind kind = ExchangeKind::kString;
};
constexpr std::size_t kHeaderBytes = 5;

std::string packed(Header header, const std::string& body) {
  std::string bytes(kHeaderBytes, '\0');
  std::memcpy(bytes.data(), &header.round, sizeof(header.round));
  bytes[4] = static_cast<char>(header.kind);
  return bytes + body;
}

std::optional<Header> header_of(const std::string& bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  Header header;
  std::memcpy(&header.round, bytes.data(), sizeof(header.round));
  header.kind = static_cast<ExchangeKind>(bytes[4]);
  return header;
}

std::string join(const std::vector<std::string>& strings) {
  std::string body;
  for (const std::string& text : strings) {
    const std::uint64_t length = text.size();
    body.append(reinterpret_cast<const char*>(&length), sizeof(length));
    body += text;
  }
  return body;
}

absl::StatusOr<std::vector<std::string>> split(const std::string& body,
                                               std::size_t count) {
  std::vector<std::string> strings;
  std::size_t place = 0;
  while (strings.size() < count) {
    std::uint64_t length = 0;
    if (body.size() - place < sizeof(length)) break;
    std::memcpy(&length, body.data() + place, sizeof(length));
    place += sizeof(length);
    if (body.size() - place < length) break;
    strings.push_back(body.substr(place, length));
    place += length;
  }
  if (strings.size() != count || place != body.size()) {
    return absl::InternalError("rank 0 answered an exchange with garbage");
  }
  return strings;
}

// Whether a message counts for `round`. A rank that called off an earlier round
// will not take part in this one.
bool counts(const Header& header, std::uint32_t round) {
  return header.round == round ||
         (header.kind == ExchangeKind::kCalledOff && header.round < round);
}

// The next message of `round` without its header, or nullopt at the deadline.
absl::StatusOr<std::optional<std::pair<Header, Mail>>> next_of(
    ExchangePost& post, std::uint32_t round, TimePoint deadline) {
  int polls = 0;
  while (true) {
    HVD_ASSIGN_OR_RETURN(std::optional<Mail> mail, post.receive());
    if (mail.has_value()) {
      const auto header = header_of(mail->bytes);
      if (!header.has_value() || !counts(*header, round)) continue;
      mail->bytes.erase(0, kHeaderBytes);
      return std::make_pair(*header, *std::move(mail));
    }
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    // The other ranks' start-up may take seconds: leave them the cores.
    if (++polls < 1000) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
}

absl::Status flush(ExchangePost& post, TimePoint deadline) {
  while (std::chrono::steady_clock::now() < deadline) {
    HVD_ASSIGN_OR_RETURN(const bool flushed, post.flushed());
    if (flushed) return absl::OkStatus();
    std::this_thread::yield();
  }
  return absl::DeadlineExceededError("a rank does not take its mail");
}

// The ranks that this rank sends to in an exchange.
std::vector<int> correspondents(const ExchangePost& post) {
  if (post.rank() != 0) return {0};
  std::vector<int> ranks(post.peers().size() - 1);
  std::iota(ranks.begin(), ranks.end(), 1);
  return ranks;
}

// Ends the exchange on all ranks; returns `why`.
absl::Status call_off(ExchangePost& post, std::uint32_t round,
                      const absl::Status& why) {
  const std::string text =
      packed({.round = round, .kind = ExchangeKind::kCalledOff},
             std::string(why.message()));
  // Best effort: some ranks may be dead.
  for (int rank : correspondents(post)) post.send(rank, text).IgnoreError();
  const TimePoint end = std::chrono::steady_clock::now() + kFlushTimeout;
  while (!post.flushed().value_or(false) &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  return why;
}

// The next string of `round`; nullopt at the deadline, or an error.
absl::StatusOr<std::optional<Mail>> next_string(ExchangePost& post,
                                                std::uint32_t round,
                                                TimePoint deadline) {
  HVD_ASSIGN_OR_RETURN(auto message, next_of(post, round, deadline));
  if (!message.has_value()) return std::nullopt;
  if (message->first.kind == ExchangeKind::kCalledOff) {
    return absl::AbortedError(message->second.bytes);
  }
  return std::move(message->second);
}

absl::StatusOr<std::vector<std::string>> lead(ExchangePost& post,
                                              std::uint32_t round,
                                              const std::string& mine,
                                              TimePoint deadline) {
  const std::size_t size = post.peers().size();
  std::vector<std::optional<std::string>> strings(size);
  strings[0] = mine;
  std::size_t came = 1;
  while (came < size) {
    auto mail = next_string(post, round, deadline);
    if (!mail.ok()) return call_off(post, round, mail.status());
    if (!mail->has_value()) break;
    auto& slot = strings[static_cast<std::size_t>((*mail)->from)];
    if (!slot.has_value()) ++came;
    slot = std::move((*mail)->bytes);
  }
  std::vector<std::string> all;
  std::string missing;
  for (std::size_t rank = 0; rank < size; ++rank) {
    if (strings[rank].has_value()) {
      all.push_back(*strings[rank]);
    } else {
      const int number = static_cast<int>(rank);
      absl::StrAppend(&missing, missing.empty() ? "" : ", ",
                      post.peers()[rank].to_string(number));
    }
  }
  const std::string failure = absl::StrCat(
      "only ", came, " of ", size, " ranks came in time; missing: ", missing);
  const bool complete = came == size;
  const std::string answer =
      complete
          ? packed({.round = round, .kind = ExchangeKind::kAll}, join(all))
          : packed({.round = round, .kind = ExchangeKind::kFailure}, failure);
  for (std::size_t rank = 1; rank < size; ++rank) {
    if (!strings[rank].has_value()) continue;
    HVD_RETURN_IF_ERROR(post.send(static_cast<int>(rank), answer));
  }
  const absl::Status flushed = flush(post, deadline + kGrace);
  if (!complete) return absl::DeadlineExceededError(failure);
  if (!flushed.ok()) return call_off(post, round, flushed);
  return all;
}

absl::StatusOr<std::vector<std::string>> follow(ExchangePost& post,
                                                std::uint32_t round,
                                                const std::string& mine,
                                                TimePoint deadline) {
  HVD_RETURN_IF_ERROR(post.send(
      0, packed({.round = round, .kind = ExchangeKind::kString}, mine)));
  const auto answer = next_of(post, round, deadline + kGrace);
  if (!answer.ok()) return call_off(post, round, answer.status());
  if (!answer->has_value()) {
    return absl::DeadlineExceededError(
        absl::StrCat(post.peers()[0].to_string(0), " did not answer in time"));
  }
  const auto& [header, mail] = **answer;
  if (header.kind == ExchangeKind::kFailure) {
    return absl::DeadlineExceededError(mail.bytes);
  }
  if (header.kind == ExchangeKind::kCalledOff)
    return absl::AbortedError(mail.bytes);
  return split(mail.bytes, post.peers().size());
}

}  // namespace

absl::StatusOr<std::vector<std::string>> exchange_by_mail(
    ExchangePost& post, std::uint32_t round, const std::string& mine,
    TimePoint deadline) {
  // Room for adding the grace period.
  if (deadline > TimePoint::max() - kGrace) deadline -= kGrace;
  if (post.rank() == 0) return lead(post, round, mine, deadline);
  return follow(post, round, mine, deadline);
}

absl::Status refuse_exchange(ExchangePost& post, std::uint32_t round,
                             const absl::Status& why) {
  return call_off(post, round, why);
}

}  // namespace hvd::transport
