// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_cuda/world.h"

#include <cstdlib>
#include <iterator>

namespace fake_cuda {

std::optional<int> device_of_pinned(std::uintptr_t memory, std::size_t bytes) {
  World& all = world();
  const std::lock_guard lock(all.mutex);
  const auto after = all.pinned.upper_bound(memory);
  if (after == all.pinned.begin()) return std::nullopt;
  const auto& [begin, pinned] = *std::prev(after);
  if (memory - begin + bytes > pinned.bytes) return std::nullopt;
  return pinned.device;
}

bool is_pinned(std::uintptr_t memory, std::size_t bytes) {
  return device_of_pinned(memory, bytes).has_value();
}

int number_from_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// A driver has an exit handler from its initialization on.
World::World() {
  std::atexit([] { world().has_gone = true; });
  for (int i = 0; i < devices; ++i) {
    contexts.push_back(std::make_unique<hvd::device::CuContextOfDriver>(
        hvd::device::CuContextOfDriver{i, std::make_shared<Stream>(i)}));
  }
}

// Never destroyed: programs use CUDA until they end.
World& world() {
  static World* const one = new World;
  return *one;
}

CuResult failure_of(const char* function) {
  World& all = world();
  CuResult result = kSuccess;
  World::During during = {};
  {
    const std::lock_guard lock(all.mutex);
    ++all.calls[function];
    const auto failure = all.failures.find(function);
    if (failure != all.failures.end()) {
      result = failure->second.result;
      if (--failure->second.times == 0) all.failures.erase(failure);
    }
    if (auto found = all.during.extract(function)) during = found.mapped();
  }
  if (during.call != nullptr) during.call(during.argument);
  return result;
}

std::shared_ptr<Stream> queue_of(CuStream stream) {
  if (stream == nullptr) {
    const CuContext context = current_context();
    return context == nullptr ? nullptr : context->default_stream;
  }
  World& all = world();
  const std::lock_guard lock(all.mutex);
  return all.streams.count(stream) > 0 ? stream->stream : nullptr;
}

std::shared_ptr<Event> event_of(CuEvent event) {
  World& all = world();
  const std::lock_guard lock(all.mutex);
  return all.events.count(event) > 0 ? event->event : nullptr;
}

std::byte* place_of(CuAddress address, std::size_t bytes) {
  const DeviceMemory& memory = world().memory;
  if (!memory.knows(address)) return reinterpret_cast<std::byte*>(address);
  const auto place = memory.find(address, bytes);
  return place ? place->visible : nullptr;
}

std::byte* reach(int device, const void* memory, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  World& all = world();
  if (!all.memory.knows(address)) {
    return is_pinned(address, bytes) ? reinterpret_cast<std::byte*>(address)
                                     : nullptr;
  }
  const auto place = all.memory.find(address, bytes);
  if (!place) return nullptr;
  if (place->device == device || place->opened) return place->visible;
  if (place->kind != DeviceMemory::Kind::kPlain) return nullptr;
  const std::lock_guard lock(all.mutex);
  return all.peers.count({device, place->device}) > 0 ? place->visible
                                                      : nullptr;
}

}  // namespace fake_cuda
