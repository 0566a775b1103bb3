// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_cuda/kernels.h"

#include <cstring>
#include <functional>
#include <map>
#include <memory>

#include "horovodpp/device/kernels/bodies.h"
#include "horovodpp/device/kernels/names.h"
#include "horovodpp/device/kernels/tensor_bodies.h"
#include "horovodpp/device/kernels/tensor_names.h"

namespace fake_cuda {
namespace {

using namespace hvd::device::kernels;

template <typename Arguments>
std::unique_ptr<Arguments> copy_of(const void* parameter) {
  auto arguments = std::make_unique<Arguments>();
  std::memcpy(arguments.get(), parameter, sizeof(Arguments));
  return arguments;
}

template <typename F>
void for_each_thread(unsigned blocks, F f) {
  for (unsigned block = 0; block < blocks; ++block) {
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      f(Place{block, blocks, thread});
    }
  }
}

// Replaces addresses by pointers to the visible memory.
bool resolve(CopyArguments& arguments, std::size_t from_bytes,
             std::size_t to_bytes, unsigned blocks, const Reach& reach) {
  for (std::uint32_t i = 0; i < arguments.piece_count; ++i) {
    CopiedPiece& piece = arguments.pieces[i];
    const auto count = static_cast<std::size_t>(piece.count);
    piece.from = reach(piece.from, count * from_bytes);
    piece.to = reach(piece.to, count * to_bytes);
    if (piece.from == nullptr || piece.to == nullptr) return false;
  }
  if (arguments.factor != nullptr) {
    arguments.factor = reinterpret_cast<const double*>(
        reach(arguments.factor, sizeof(double)));
    if (arguments.factor == nullptr) return false;
  }
  if (arguments.sightings == nullptr) return true;
  arguments.sightings = reinterpret_cast<Sighting*>(
      reach(arguments.sightings, blocks * sizeof(Sighting)));
  return arguments.sightings != nullptr;
}

bool copy(const void* parameter, unsigned blocks, const Reach& reach) {
  const auto arguments = copy_of<CopyArguments>(parameter);
  if (!resolve(*arguments, 1, 1, blocks, reach)) return false;
  for_each_thread(blocks,
                  [&](const Place& place) { copy_thread(*arguments, place); });
  return true;
}

// Runs the threads' joint sum step by step. The sum ends in seen[0].
void add_up(Sighting* seen) {
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    for (unsigned thread = 0; thread < half; ++thread) {
      add_half(seen, thread, half);
    }
  }
}

template <class From, class To>
bool convert(const void* parameter, unsigned blocks, const Reach& reach) {
  const auto arguments = copy_of<CopyArguments>(parameter);
  if (!resolve(*arguments, sizeof(typename From::Stored),
               sizeof(typename To::Stored), blocks, reach)) {
    return false;
  }
  Sighting seen[kThreads];
  for_each_thread(blocks, [&](const Place& place) {
    seen[place.thread] = convert_thread<From, To>(*arguments, place);
    if (place.thread + 1 < kThreads || arguments->sightings == nullptr) return;
    add_up(seen);
    arguments->sightings[place.block] = seen[0];
  });
  return true;
}

template <class E>
bool look(const void* parameter, unsigned blocks, const Reach& reach) {
  const auto arguments = copy_of<CopyArguments>(parameter);
  const std::size_t bytes = sizeof(typename E::Stored);
  // The kernel writes no elements, so `to` is unused.
  for (std::uint32_t i = 0; i < arguments->piece_count; ++i) {
    CopiedPiece& piece = arguments->pieces[i];
    piece.to = const_cast<void*>(piece.from);
  }
  if (!resolve(*arguments, bytes, bytes, blocks, reach)) return false;
  Sighting seen[kThreads];
  for_each_thread(blocks, [&](const Place& place) {
    seen[place.thread] = look_thread<E>(*arguments, place);
    if (place.thread + 1 < kThreads) return;
    add_up(seen);
    arguments->sightings[place.block] = seen[0];
  });
  return true;
}

bool judge_all(const void* parameter, unsigned, const Reach& reach) {
  const auto arguments = copy_of<JudgeArguments>(parameter);
  arguments->sightings = reinterpret_cast<const Sighting*>(
      reach(arguments->sightings, arguments->count * sizeof(Sighting)));
  arguments->findings = reinterpret_cast<hvd::ClipFindings*>(
      reach(arguments->findings, sizeof(hvd::ClipFindings)));
  if (arguments->findings == nullptr ||
      (arguments->count > 0 && arguments->sightings == nullptr)) {
    return false;
  }
  Sighting seen[kThreads];
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    seen[thread] = gathered(*arguments, thread);
  }
  add_up(seen);
  judge(*arguments, seen[0]);
  return true;
}

template <class E>
bool reduce(const void* parameter, unsigned blocks, const Reach& reach) {
  const auto arguments = copy_of<ReduceArguments>(parameter);
  const auto bytes =
      static_cast<std::size_t>(arguments->count) * sizeof(typename E::Stored);
  for (std::uint32_t m = 0; m < arguments->members; ++m) {
    arguments->memory[m] = reach(arguments->memory[m], bytes);
    if (arguments->memory[m] == nullptr) return false;
  }
  for_each_thread(
      blocks, [&](const Place& place) { reduce_thread<E>(*arguments, place); });
  return true;
}

// Replaces the address of tensor `k`, whose elements have `bytes`, by a pointer
// to visible memory. Strides may be negative.
bool resolve_elements(ElementsArguments& arguments, std::size_t k,
                      std::size_t bytes, const Reach& reach) {
  auto* const memory = static_cast<std::byte*>(arguments.memory[k]);
  if (memory == nullptr) return true;
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (std::uint32_t d = 0; d < arguments.rank; ++d) {
    const std::int64_t way = (arguments.sizes[d] - 1) * arguments.steps[d][k];
    (way < 0 ? first : last) += way;
  }
  const auto size = static_cast<std::int64_t>(bytes);
  std::byte* const begin =
      reach(memory + first * size,
            static_cast<std::size_t>(last - first + 1) * bytes);
  if (begin == nullptr) return false;
  arguments.memory[k] = begin - first * size;
  return true;
}

// Runs `thread` for all threads, on tensors whose elements have these bytes.
template <typename Thread>
bool run_elements(const void* parameter, unsigned blocks, const Reach& reach,
                  const std::function<std::size_t(const ElementsArguments&,
                                                  std::size_t)>& bytes_of,
                  Thread thread) {
  const auto arguments = copy_of<ElementsArguments>(parameter);
  if (arguments->rank < 1 || arguments->rank > ElementsArguments::kMostDims) {
    return false;
  }
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t bytes = bytes_of(*arguments, k);
    if (!resolve_elements(*arguments, k, bytes, reach)) return false;
  }
  for_each_thread(blocks,
                  [&](const Place& place) { thread(*arguments, place); });
  return true;
}

template <typename Lane>
bool apply(const void* parameter, unsigned blocks, const Reach& reach) {
  const auto bytes_of = [](const ElementsArguments& all, std::size_t) {
    return hvd::size_of(all.from);
  };
  return run_elements(parameter, blocks, reach, bytes_of, apply_thread<Lane>);
}

template <typename Lane>
bool compare_all(const void* parameter, unsigned blocks, const Reach& reach) {
  const auto bytes_of = [](const ElementsArguments& all, std::size_t k) {
    return k == ElementsArguments::kOut ? 1 : hvd::size_of(all.from);
  };
  return run_elements(parameter, blocks, reach, bytes_of, compare_thread<Lane>);
}

template <typename Word>
bool move(const void* parameter, unsigned blocks, const Reach& reach) {
  const auto bytes_of = [](const ElementsArguments&, std::size_t) {
    return sizeof(Word);
  };
  return run_elements(parameter, blocks, reach, bytes_of, move_thread<Word>);
}

bool convert_any(const void* parameter, unsigned blocks, const Reach& reach) {
  const auto bytes_of = [](const ElementsArguments& all, std::size_t k) {
    return hvd::size_of(k == ElementsArguments::kOut ? all.to : all.from);
  };
  return run_elements(parameter, blocks, reach, bytes_of,
                      convert_elements_thread);
}

}  // namespace

const Kernel* find_kernel(const std::string& name) {
  static const std::map<std::string, Kernel> all = {
      {"hvd_copy", {sizeof(CopyArguments), copy}},
      {"hvd_judge", {sizeof(JudgeArguments), judge_all}},
      {"hvd_to", {sizeof(ElementsArguments), convert_any}},
#define HVD_ENTRY(name, Lane) {#name, {sizeof(ElementsArguments), apply<Lane>}},
      HVD_APPLICATIONS(HVD_ENTRY)
#undef HVD_ENTRY
#define HVD_ENTRY(name, Lane) \
  {#name, {sizeof(ElementsArguments), compare_all<Lane>}},
          HVD_COMPARISONS(HVD_ENTRY)
#undef HVD_ENTRY
#define HVD_ENTRY(name, Word) {#name, {sizeof(ElementsArguments), move<Word>}},
              HVD_MOVES(HVD_ENTRY)
#undef HVD_ENTRY
#define HVD_ENTRY(name, From, To) \
  {#name, {sizeof(CopyArguments), convert<From, To>}},
                  HVD_CONVERSIONS(HVD_ENTRY)
#undef HVD_ENTRY
#define HVD_ENTRY(name, E) {#name, {sizeof(CopyArguments), look<E>}},
                      HVD_LOOKS(HVD_ENTRY)
#undef HVD_ENTRY
#define HVD_ENTRY(name, E) {#name, {sizeof(ReduceArguments), reduce<E>}},
                          HVD_REDUCTIONS(HVD_ENTRY)
#undef HVD_ENTRY
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace fake_cuda
