// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/alltoall.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

std::size_t sum(std::span<const std::size_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
}

}  // namespace

absl::Status ShmAlltoall::run() {
  HVD_RETURN_IF_ERROR(share_sizes());
  HVD_RETURN_IF_ERROR(check_sizes());
  return deliver();
}

absl::Status ShmAlltoall::share_sizes() {
  const auto parts = static_cast<std::size_t>(seat_.ranks());
  const std::size_t chunk = seat_.chunk_bytes();
  std::vector<std::size_t> mine(exchange_.send_bytes.begin(),
                                exchange_.send_bytes.end());
  mine.insert(mine.end(), exchange_.receive_bytes.begin(),
              exchange_.receive_bytes.end());
  table_.resize(parts * mine.size());
  const std::size_t row_bytes = mine.size() * sizeof(std::size_t);
  const auto length_at = [&](std::uint64_t i) {
    return std::min(chunk, row_bytes - i * chunk);
  };
  const auto fill = [&](std::uint64_t i, std::byte* slot) {
    std::memcpy(slot,
                reinterpret_cast<const std::byte*>(mine.data()) + i * chunk,
                length_at(i));
  };
  const auto drain = [&](std::uint64_t i, std::uint64_t step) {
    auto* rows = reinterpret_cast<std::byte*>(table_.data());
    for (std::size_t peer = 0; peer < parts; ++peer) {
      std::memcpy(rows + peer * row_bytes + i * chunk,
                  seat_.slot(static_cast<int>(peer), step), length_at(i));
    }
  };
  return seat_.step_through(seat_.steps_for(row_bytes), fill, drain);
}

absl::Status ShmAlltoall::check_sizes() const {
  const auto parts = static_cast<std::size_t>(seat_.ranks());
  for (std::size_t from = 0; from < parts; ++from) {
    for (std::size_t to = 0; to < parts; ++to) {
      const std::size_t sent = table_[from * 2 * parts + to];
      const std::size_t expected = table_[to * 2 * parts + parts + from];
      if (sent == expected) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("alltoall: rank ", from, " sends ", sent,
                       " bytes to rank ", to, ", which expects ", expected));
    }
  }
  return absl::OkStatus();
}

std::size_t ShmAlltoall::plan() {
  const auto parts = static_cast<std::size_t>(seat_.ranks());
  const auto self = static_cast<std::size_t>(seat_.rank);
  std::byte* output = exchange_.output;
  std::size_t most = 0;
  for (std::size_t peer = 0; peer < parts; ++peer) {
    const auto sizes = std::span(table_).subspan(peer * 2 * parts, parts);
    const std::size_t begin = sum(sizes.first(self));
    deliveries_.push_back({begin, begin + sizes[self], output});
    output += sizes[self];
    most = std::max(most, sum(sizes));
  }
  return most;
}

absl::Status ShmAlltoall::deliver() {
  const std::size_t most = plan();
  if (most == 0) return absl::OkStatus();
  const Delivery& own = deliveries_[static_cast<std::size_t>(seat_.rank)];
  if (own.begin < own.end) {
    std::memcpy(own.output, exchange_.input.data() + own.begin,
                own.end - own.begin);
  }
  return seat_.step_through(
      seat_.steps_for(most),
      [&](std::uint64_t i, std::byte* slot) { show(i, slot); },
      [&](std::uint64_t i, std::uint64_t step) { pick(i, step); });
}

void ShmAlltoall::show(std::uint64_t i, std::byte* slot) const {
  const std::span<const std::byte> input = exchange_.input;
  const std::size_t chunk = seat_.chunk_bytes();
  const std::size_t begin = std::min(input.size(), i * chunk);
  const std::size_t end = std::min(input.size(), begin + chunk);
  const auto copy = [&](std::size_t from, std::size_t to) {
    if (from >= to) return;
    std::memcpy(slot + (from - begin), input.data() + from, to - from);
  };
  const Delivery& own = deliveries_[static_cast<std::size_t>(seat_.rank)];
  copy(begin, std::min(end, own.begin));
  copy(std::max(begin, own.end), end);
}

void ShmAlltoall::pick(std::uint64_t i, std::uint64_t step) const {
  const std::size_t chunk = seat_.chunk_bytes();
  for (int peer = 0; peer < seat_.ranks(); ++peer) {
    const Delivery& delivery = deliveries_[static_cast<std::size_t>(peer)];
    const std::size_t from = std::max(delivery.begin, i * chunk);
    const std::size_t to = std::min(delivery.end, (i + 1) * chunk);
    if (peer == seat_.rank || from >= to) continue;
    std::memcpy(delivery.output + (from - delivery.begin),
                seat_.slot(peer, step) + (from - i * chunk), to - from);
  }
}

}  // namespace hvd::collective
