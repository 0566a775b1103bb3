// SPDX-License-Identifier: Apache-2.0
// The work of one thread of each kernel. A GPU calls it for all threads of a
// grid at once (batch.cu); the fake CUDA driver, and tests, for one after the
// other.
//
// Memory is read and written 16 bytes at a time where all memory is aligned to
// 16 bytes, else element by element.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "horovodpp/device/kernels/elements.h"

namespace hvd::device::kernels {

// The thread's place in the grid.
struct Place {
  unsigned block;
  unsigned blocks;
  unsigned thread;
};

inline constexpr std::int64_t kVectorBytes = 16;

template <typename T, int kCount>
struct alignas(kVectorBytes) Vector {
  T lanes[kCount];
};

HVD_BOTH inline bool is_aligned(const void* memory, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(memory) % bytes == 0;
}

// The piece that holds tile number `tile`.
HVD_BOTH inline const CopiedPiece& piece_of(const CopyArguments& arguments,
                                            std::uint32_t tile) {
  std::uint32_t first = 0;
  std::uint32_t end = arguments.piece_count;
  while (end - first > 1) {
    const std::uint32_t middle = (first + end) / 2;
    if (arguments.pieces[middle].tiles_before <= tile) {
      first = middle;
    } else {
      end = middle;
    }
  }
  return arguments.pieces[first];
}

// Calls f(piece, begin, end) for the elements of each tile of this thread's
// block.
template <typename F>
HVD_BOTH void for_each_tile(const CopyArguments& arguments, const Place& place,
                            std::int64_t tile_size, F f) {
  for (std::uint32_t tile = place.block; tile < arguments.tiles;
       tile += place.blocks) {
    const CopiedPiece& piece = piece_of(arguments, tile);
    const std::int64_t begin = (tile - piece.tiles_before) * tile_size;
    const std::int64_t end = begin + tile_size;
    f(piece, begin, end < piece.count ? end : piece.count);
  }
}

// Copies the bytes from `begin` to `end` of a piece, in words of W. A thread
// reads several words before it writes: the compiler cannot know that no write
// changes a later word.
template <typename W>
HVD_BOTH void copy_words(const CopiedPiece& piece, std::int64_t begin,
                         std::int64_t end, unsigned thread) {
  constexpr int kAtOnce = 4;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(W));
  const auto* const from = static_cast<const W*>(piece.from);
  auto* const to = static_cast<W*>(piece.to);
  const std::int64_t whole = end / kSize;
  std::int64_t i = begin / kSize + thread;
  for (; i + (kAtOnce - 1) * kThreads < whole; i += kAtOnce * kThreads) {
    W words[kAtOnce];
    for (int n = 0; n < kAtOnce; ++n) words[n] = from[i + n * kThreads];
    for (int n = 0; n < kAtOnce; ++n) to[i + n * kThreads] = words[n];
  }
  for (; i < whole; i += kThreads) to[i] = from[i];
  const std::int64_t rest = whole * kSize + thread;
  if (rest < end) {
    static_cast<unsigned char*>(piece.to)[rest] =
        static_cast<const unsigned char*>(piece.from)[rest];
  }
}

// Copies all pieces.
HVD_BOTH inline void copy_thread(const CopyArguments& arguments,
                                 const Place& place) {
  for_each_tile(
      arguments, place, kTileBytes,
      [&](const CopiedPiece& piece, std::int64_t begin, std::int64_t end) {
        const auto fits = [&](std::uintptr_t bytes) {
          return is_aligned(piece.from, bytes) && is_aligned(piece.to, bytes);
        };
        if (fits(16)) {
          copy_words<Vector<std::uint32_t, 4>>(piece, begin, end, place.thread);
        } else if (fits(4)) {
          copy_words<std::uint32_t>(piece, begin, end, place.thread);
        } else if (fits(2)) {
          copy_words<std::uint16_t>(piece, begin, end, place.thread);
        } else {
          copy_words<unsigned char>(piece, begin, end, place.thread);
        }
      });
}

// Adds a number, before scaling, to one thread's sighting.
HVD_BOTH inline void look_at(double number, Sighting& seen) {
  seen.squares += number * number;
  // Only infinities and NaN differ from zero here.
  if (number - number != 0) seen.not_finite = 1;
}

// to = encoded(scale * from), of all pieces. From and To are floating-point
// types; the product is computed in the wider one of their lanes.
template <class From, class To>
HVD_BOTH Sighting convert_thread(const CopyArguments& arguments,
                                 const Place& place) {
  using Lane = std::common_type_t<typename From::Lane, typename To::Lane>;
  using Source = typename From::Stored;
  using Target = typename To::Stored;
  constexpr int kLeast =
      sizeof(Source) < sizeof(Target) ? sizeof(Source) : sizeof(Target);
  constexpr int kLanes = static_cast<int>(kVectorBytes) / kLeast;
  const double factor = arguments.factor == nullptr ? 1.0 : *arguments.factor;
  const auto scale = static_cast<Lane>(arguments.scale * factor);
  const bool scaled = arguments.scale * factor != 1.0;
  const bool looks = arguments.sightings != nullptr;
  Sighting seen;
  const auto convert = [&](Source stored) {
    const auto lane = static_cast<Lane>(From::decode(stored));
    if (looks) look_at(static_cast<double>(lane), seen);
    return To::encode(
        static_cast<typename To::Lane>(scaled ? lane * scale : lane));
  };
  for_each_tile(
      arguments, place, kTileElements,
      [&](const CopiedPiece& piece, std::int64_t begin, std::int64_t end) {
        const auto* const from = static_cast<const Source*>(piece.from);
        auto* const to = static_cast<Target*>(piece.to);
        // Every element would stay unchanged.
        if (std::is_same_v<From, To> && piece.from == piece.to && !scaled &&
            !looks) {
          return;
        }
        std::int64_t at = begin;
        if (is_aligned(from, kVectorBytes) && is_aligned(to, kVectorBytes)) {
          const std::int64_t whole = begin + (end - begin) / kLanes * kLanes;
          HVD_ROLLED
          for (at = begin + place.thread * kLanes; at < whole;
               at += kThreads * kLanes) {
            const auto source =
                *reinterpret_cast<const Vector<Source, kLanes>*>(from + at);
            Vector<Target, kLanes> target;
            for (int i = 0; i < kLanes; ++i) {
              target.lanes[i] = convert(source.lanes[i]);
            }
            *reinterpret_cast<Vector<Target, kLanes>*>(to + at) = target;
          }
          at = whole;
        }
        HVD_ROLLED
        for (at += place.thread; at < end; at += kThreads) {
          to[at] = convert(from[at]);
        }
      });
  return seen;
}

// Inspects all elements. The assignment of elements to threads does not depend
// on memory's alignment, so that ranks with the same numbers get the same bits.
template <class E>
HVD_BOTH Sighting look_thread(const CopyArguments& arguments,
                              const Place& place) {
  using Stored = typename E::Stored;
  constexpr int kLanes = static_cast<int>(kVectorBytes / sizeof(Stored));
  Sighting seen;
  for_each_tile(
      arguments, place, kTileElements,
      [&](const CopiedPiece& piece, std::int64_t begin, std::int64_t end) {
        const auto* const from = static_cast<const Stored*>(piece.from);
        const bool aligned = is_aligned(from, kVectorBytes);
        HVD_ROLLED
        for (std::int64_t at = begin + std::int64_t{place.thread} * kLanes;
             at < end; at += std::int64_t{kThreads} * kLanes) {
          if (aligned && at + kLanes <= end) {
            const auto some =
                *reinterpret_cast<const Vector<Stored, kLanes>*>(from + at);
            for (const Stored stored : some.lanes) {
              look_at(static_cast<double>(E::decode(stored)), seen);
            }
          } else {
            const std::int64_t stop = at + kLanes < end ? at + kLanes : end;
            for (std::int64_t i = at; i < stop; ++i) {
              look_at(static_cast<double>(E::decode(from[i])), seen);
            }
          }
        }
      });
  return seen;
}

// A step of adding up the sightings of a block's threads. Run it for half =
// kThreads / 2, and half of that, down to 1; seen[0] then is the sum. Each of
// the first `half` threads takes the step, after all have taken the one before.
HVD_BOTH inline void add_half(Sighting* seen, unsigned thread, unsigned half) {
  seen[thread].squares += seen[thread + half].squares;
  seen[thread].not_finite |= seen[thread + half].not_finite;
}

// The part of all sightings that one thread of a single block adds up.
HVD_BOTH inline Sighting gathered(const JudgeArguments& arguments,
                                  unsigned thread) {
  Sighting all;
  for (std::uint32_t i = thread; i < arguments.count; i += kThreads) {
    all.squares += arguments.sightings[i].squares;
    all.not_finite |= arguments.sightings[i].not_finite;
  }
  return all;
}

// As in the CPU's step (optim/distributed/distributed_step.cc).
HVD_BOTH inline void judge(const JudgeArguments& arguments,
                           const Sighting& all) {
  ClipFindings found;
  found.norm = sqrt(all.squares) * arguments.factor;
  found.not_finite = all.not_finite;
  if (all.not_finite == 0) {
    const double shrink = arguments.max_norm / (found.norm + 1e-6);
    found.factor = shrink < 1.0 ? arguments.factor * shrink : arguments.factor;
  }
  *arguments.findings = found;
}

template <class E, class Op, class Scales>
HVD_BOTH void reduce_by(const ReduceArguments& arguments, const Place& place) {
  using Stored = typename E::Stored;
  using Lane = typename E::Lane;
  constexpr int kLanes = static_cast<int>(kVectorBytes / sizeof(Stored));
  using Some = Vector<Stored, kLanes>;
  const Scales scales(arguments);
  const std::int64_t stride = std::int64_t{place.blocks} * kThreads;
  const std::int64_t me = std::int64_t{place.block} * kThreads + place.thread;
  const std::int64_t vectors = arguments.count / kLanes;
  HVD_ROLLED
  for (std::int64_t v = me; v < vectors; v += stride) {
    Lane lanes[kLanes];
    const Some first = static_cast<const Some*>(arguments.memory[0])[v];
    for (int i = 0; i < kLanes; ++i) {
      lanes[i] = scales.begin(E::decode(first.lanes[i]));
    }
    HVD_ROLLED
    for (std::uint32_t m = 1; m < arguments.members; ++m) {
      const Some next = static_cast<const Some*>(arguments.memory[m])[v];
      for (int i = 0; i < kLanes; ++i) {
        lanes[i] = Op::apply(lanes[i], scales.begin(E::decode(next.lanes[i])));
      }
    }
    Some result;
    for (int i = 0; i < kLanes; ++i) {
      result.lanes[i] = E::encode(scales.finish(lanes[i]));
    }
    HVD_ROLLED
    for (std::uint32_t o = 0; o < arguments.outputs; ++o) {
      static_cast<Some*>(arguments.memory[arguments.first_output + o])[v] =
          result;
    }
  }
  HVD_ROLLED
  for (std::int64_t at = vectors * kLanes + me; at < arguments.count;
       at += stride) {
    const auto load = [&](std::uint32_t m) {
      return scales.begin(
          E::decode(static_cast<const Stored*>(arguments.memory[m])[at]));
    };
    Lane lane = load(0);
    HVD_ROLLED
    for (std::uint32_t m = 1; m < arguments.members; ++m) {
      lane = Op::apply(lane, load(m));
    }
    HVD_ROLLED
    for (std::uint32_t o = 0; o < arguments.outputs; ++o) {
      static_cast<Stored*>(arguments.memory[arguments.first_output + o])[at] =
          E::encode(scales.finish(lane));
    }
  }
}

// Requires memory that is aligned to 16 bytes. The op is one by whose Combine
// others, or itself, combine such elements.
template <class E, unsigned kRow = 0>
HVD_BOTH void reduce_thread(const ReduceArguments& arguments,
                            const Place& place) {
  using Scales = std::conditional_t<std::is_floating_point_v<typename E::Lane>,
                                    Scaling<typename E::Lane>, Unscaled>;
  if constexpr (kRow < std::size(kReduceOps)) {
    constexpr ReduceOp kOp = kReduceOps[kRow].op;
    if constexpr (is_combined(kKind<E>, kOp)) {
      if (arguments.op == kOp) {
        return reduce_by<E, Combine<kOp>, Scales>(arguments, place);
      }
    }
    reduce_thread<E, kRow + 1>(arguments, place);
  }
}

}  // namespace hvd::device::kernels
