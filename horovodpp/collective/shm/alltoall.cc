// The ShmPlane's alltoall.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/shm/plane_steps.h"

namespace hvd::collective {
namespace {

// What one rank sends to this one: where it lies in all that it sends, and
// where it goes.
struct Delivery {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::byte* output = nullptr;
};

std::size_t sum(std::span<const std::size_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
}

}  // namespace

// A rank shows in chunks all that it sends, and everyone picks what is for it.
// How many chunks that takes, and whether the sizes fit together, is known only
// once all have shown their sizes.
absl::Status ShmPlane::move(const Exchange& exchange, const Call& call) {
  return on_board({.tag = call.tag, .kind = 'a'}, [&] {
    std::vector<std::size_t> table;
    HVD_RETURN_IF_ERROR(share_sizes(exchange, table, call));
    HVD_RETURN_IF_ERROR(check_sizes(table));
    return deliver(exchange, table, call);
  });
}

absl::Status ShmPlane::share_sizes(const Exchange& exchange,
                                   std::vector<std::size_t>& table,
                                   const Call& call) {
  const auto parts = static_cast<std::size_t>(ranks());
  std::vector<std::size_t> mine(exchange.send_bytes.begin(),
                                exchange.send_bytes.end());
  mine.insert(mine.end(), exchange.receive_bytes.begin(),
              exchange.receive_bytes.end());
  table.resize(parts * mine.size());
  const std::size_t row_bytes = mine.size() * sizeof(std::size_t);
  const auto length_at = [&](std::uint64_t i) {
    return std::min(chunk(), row_bytes - i * chunk());
  };
  const auto fill = [&](std::uint64_t i, std::byte* slot) {
    std::memcpy(slot,
                reinterpret_cast<const std::byte*>(mine.data()) + i * chunk(),
                length_at(i));
  };
  const auto drain = [&](std::uint64_t i, std::uint64_t step) {
    auto* rows = reinterpret_cast<std::byte*>(table.data());
    for (std::size_t peer = 0; peer < parts; ++peer) {
      std::memcpy(rows + peer * row_bytes + i * chunk(),
                  slot(static_cast<int>(peer), step), length_at(i));
    }
    return absl::OkStatus();
  };
  return step_through(steps_for(row_bytes, chunk()), call, fill, drain);
}

// The same on all ranks.
absl::Status ShmPlane::check_sizes(
    const std::vector<std::size_t>& table) const {
  const auto parts = static_cast<std::size_t>(ranks());
  for (std::size_t from = 0; from < parts; ++from) {
    for (std::size_t to = 0; to < parts; ++to) {
      const std::size_t sent = table[from * 2 * parts + to];
      const std::size_t expected = table[to * 2 * parts + parts + from];
      if (sent == expected) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("alltoall: rank ", from, " sends ", sent,
                       " bytes to rank ", to, ", which expects ", expected));
    }
  }
  return absl::OkStatus();
}

absl::Status ShmPlane::deliver(const Exchange& exchange,
                               const std::vector<std::size_t>& table,
                               const Call& call) {
  const auto parts = static_cast<std::size_t>(ranks());
  const auto self = static_cast<std::size_t>(rank());
  std::vector<Delivery> deliveries(parts);
  std::byte* output = exchange.output;
  std::size_t most = 0;
  for (std::size_t peer = 0; peer < parts; ++peer) {
    const auto sizes = std::span(table).subspan(peer * 2 * parts, parts);
    const std::size_t begin = sum(sizes.first(self));
    deliveries[peer] = {begin, begin + sizes[self], output};
    output += sizes[self];
    most = std::max(most, sum(sizes));
  }
  if (most == 0) return absl::OkStatus();
  // Copies what lies in [from, to) of what this rank sends.
  const auto show = [&](std::byte* slot, std::size_t at, std::size_t from,
                        std::size_t to) {
    if (from >= to) return;
    std::memcpy(slot + (from - at), exchange.input.data() + from, to - from);
  };
  const auto fill = [&](std::uint64_t i, std::byte* slot) {
    const std::size_t begin = std::min(exchange.input.size(), i * chunk());
    const std::size_t end = std::min(exchange.input.size(), begin + chunk());
    const Delivery& own = deliveries[self];  // Needs not be shown.
    show(slot, begin, begin, std::min(end, own.begin));
    show(slot, begin, std::max(begin, own.end), end);
  };
  const auto drain = [&](std::uint64_t i, std::uint64_t step) {
    for (std::size_t peer = 0; peer < parts; ++peer) {
      const Delivery& delivery = deliveries[peer];
      const std::size_t from = std::max(delivery.begin, i * chunk());
      const std::size_t to = std::min(delivery.end, (i + 1) * chunk());
      if (peer == self || from >= to) continue;
      std::memcpy(delivery.output + (from - delivery.begin),
                  slot(static_cast<int>(peer), step) + (from - i * chunk()),
                  to - from);
    }
    return absl::OkStatus();
  };
  const Delivery& own = deliveries[self];
  if (own.begin < own.end) {
    std::memcpy(own.output, exchange.input.data() + own.begin,
                own.end - own.begin);
  }
  return step_through(steps_for(most, chunk()), call, fill, drain);
}

}  // namespace hvd::collective
