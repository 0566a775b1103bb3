// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/failure/lost_ranks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/memory/wire.h"

namespace hvd::coordinator {
namespace {

constexpr std::uint32_t kMagic = 0x76735648;  // "HVsv"
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kAsks = 1;
constexpr std::uint8_t kLeaves = 2;
// A larger count is invalid, and could make epochs wrap.
constexpr std::uint32_t kMaxRestarts = 1u << 30;

bool contains(const std::vector<int>& ranks, int rank) {
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}

bool insert(std::vector<int>& ranks, int rank) {
  const auto place = std::lower_bound(ranks.begin(), ranks.end(), rank);
  if (place != ranks.end() && *place == rank) return false;
  ranks.insert(place, rank);
  return true;
}

void write(const std::vector<int>& ranks, WireWriter& writer) {
  writer.u32(static_cast<std::uint32_t>(ranks.size()));
  for (int rank : ranks) writer.u32(static_cast<std::uint32_t>(rank));
}

std::vector<int> read(int size, WireReader& reader) {
  std::vector<int> ranks;
  const std::uint32_t count = reader.count(sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t rank = reader.u32();
    const bool ascends =
        ranks.empty() || rank > static_cast<std::uint32_t>(ranks.back());
    if (rank >= static_cast<std::uint32_t>(size) || !ascends) {
      reader.fail();
      break;
    }
    ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

}  // namespace

bool LostRanks::counts_out(int rank) const {
  return contains(dead, rank) || contains(suspected, rank);
}

bool LostRanks::knows_dead(int rank) const { return contains(dead, rank); }

bool LostRanks::add(int rank, Certainty certainty) {
  if (knows_dead(rank)) return false;
  if (certainty == Certainty::kSuspected) return insert(suspected, rank);
  std::erase(suspected, rank);
  return insert(dead, rank);
}

bool LostRanks::merge(const LostRanks& other) {
  bool has_changed = other.restarts > restarts;
  restarts = std::max(restarts, other.restarts);
  for (int rank : other.dead)
    has_changed = add(rank, Certainty::kCertain) || has_changed;
  for (int rank : other.suspected) {
    has_changed = add(rank, Certainty::kSuspected) || has_changed;
  }
  return has_changed;
}

std::string encode(const LostRanksMessage& letter, int size) {
  WireWriter writer;
  writer.u32(kMagic);
  writer.u8(kVersion);
  writer.u8(static_cast<std::uint8_t>((letter.asks ? kAsks : 0) |
                                      (letter.leaves ? kLeaves : 0)));
  writer.u32(static_cast<std::uint32_t>(size));
  writer.u32(letter.lost_ranks.restarts);
  write(letter.lost_ranks.dead, writer);
  write(letter.lost_ranks.suspected, writer);
  return writer.take();
}

absl::StatusOr<LostRanksMessage> decode_lost_ranks(const std::string& bytes,
                                                   int size) {
  WireReader reader(bytes);
  const std::uint32_t magic = reader.u32();
  const std::uint8_t version = reader.u8();
  if (!reader.ok() || magic != kMagic || version != kVersion) {
    return absl::InvalidArgumentError(
        "not a list of lost ranks of this version of horovodpp; do all ranks "
        "run the same?");
  }
  const std::uint8_t flags = reader.u8();
  const std::uint32_t ranks = reader.u32();
  LostRanksMessage letter;
  letter.asks = (flags & kAsks) != 0;
  letter.leaves = (flags & kLeaves) != 0;
  letter.lost_ranks.restarts = reader.u32();
  letter.lost_ranks.dead = read(size, reader);
  letter.lost_ranks.suspected = read(size, reader);
  const bool disjoint = std::none_of(
      letter.lost_ranks.suspected.begin(), letter.lost_ranks.suspected.end(),
      [&](int rank) { return letter.lost_ranks.knows_dead(rank); });
  if (!reader.finished() || !disjoint || flags > (kAsks | kLeaves) ||
      ranks != static_cast<std::uint32_t>(size) ||
      letter.lost_ranks.restarts > kMaxRestarts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a damaged list of lost ranks, of ", bytes.size(), " bytes"));
  }
  return letter;
}

}  // namespace hvd::coordinator
