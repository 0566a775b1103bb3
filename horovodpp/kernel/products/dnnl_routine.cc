// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/products/dnnl_routine.h"

#include <algorithm>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/kernel/intra_op.h"
#include "horovodpp/kernel/scratch.h"

namespace hvd::autograd {
namespace {

constexpr std::size_t kArenaAlignment = 64;

dnnl::stream& this_threads_stream() {
  static thread_local dnnl::stream stream(dnnl_engine());
  return stream;
}

dnnl::memory at(const dnnl::memory::desc& description, void* memory) {
  return dnnl::memory(description, dnnl_engine(), memory);
}

}  // namespace

const dnnl::engine& dnnl_engine() {
  // Never destroyed: threads may outlive main().
  static const auto& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

const dnnl::primitive_attr& dnnl_attributes() {
  static const auto& attributes = *[] {
    auto* made = new dnnl::primitive_attr;
    made->set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return made;
  }();
  return attributes;
}

std::optional<dnnl::memory::data_type> dnnl_type(DType dtype) {
  if (dtype == DType::kF32) return dnnl::memory::data_type::f32;
  if (dtype != DType::kBF16) return std::nullopt;
  // The instruction set is a bit mask; newer processors have more bits.
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto fast = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  if ((isa & fast) != fast) return std::nullopt;
  return dnnl::memory::data_type::bf16;
}

DnnlRoutine::DnnlRoutine(const dnnl::primitive& primitive,
                         const dnnl::memory::desc& scratchpad,
                         std::span<const Argument> arguments)
    : primitive_(primitive), scratchpad_(scratchpad) {
  // Reorders run before or after the primitive, so they share its scratchpad.
  std::size_t scratch_bytes = scratchpad.get_size();
  for (const Argument& argument : arguments) {
    Slot& slot = slots_.emplace_back();
    slot.argument = argument;
    if (argument.given == argument.wanted) continue;
    const bool out = argument.is_result;
    const dnnl::reorder::primitive_desc reorder(
        dnnl_engine(), out ? argument.wanted : argument.given, dnnl_engine(),
        out ? argument.given : argument.wanted, dnnl_attributes());
    slot.reorder.emplace(reorder);
    slot.scratchpad = reorder.scratchpad_desc();
    slot.offset = place(argument.wanted.get_size());
    scratch_bytes = std::max(scratch_bytes, slot.scratchpad.get_size());
  }
  scratchpad_offset_ = place(scratch_bytes);
}

std::size_t DnnlRoutine::place(std::size_t bytes) {
  const std::size_t offset = arena_bytes_;
  arena_bytes_ +=
      (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  return offset;
}

void DnnlRoutine::execute(std::span<void* const> memory,
                          std::byte* arena) const {
  dnnl::stream& stream = this_threads_stream();
  void* const scratch = arena + scratchpad_offset_;
  const auto reorder = [&](const Slot& slot, const dnnl::memory& from,
                           const dnnl::memory& to) {
    slot.reorder->execute(
        stream, {{DNNL_ARG_FROM, from},
                 {DNNL_ARG_TO, to},
                 {DNNL_ARG_SCRATCHPAD, at(slot.scratchpad, scratch)}});
  };
  std::unordered_map<int, dnnl::memory> arguments;
  arguments.emplace(DNNL_ARG_SCRATCHPAD, at(scratchpad_, scratch));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    void* place = slot.reorder ? arena + slot.offset : memory[i];
    const auto wanted = at(slot.argument.wanted, place);
    if (slot.reorder && !slot.argument.is_result) {
      reorder(slot, at(slot.argument.given, memory[i]), wanted);
    }
    arguments.emplace(slot.argument.name, wanted);
  }
  primitive_.execute(stream, arguments);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (!slot.reorder || !slot.argument.is_result) continue;
    reorder(slot, arguments.at(slot.argument.name),
            at(slot.argument.given, memory[i]));
  }
  stream.wait();
}

void DnnlRoutine::run(std::span<void* const> memory) const {
  apply_threads_to_openmp();
  const Scratch arena(arena_bytes_);
  try {
    execute(memory, arena.as<std::byte>());
  } catch (const dnnl::error& error) {
    throw Error(
        absl::InternalError(absl::StrCat("oneDNN failed: ", error.what())));
  }
}

std::optional<DnnlCache::Routine> DnnlCache::find(const Key& key) {
  MutexLock lock(mutex_);
  const auto found = routines_.find(key);
  if (found == routines_.end()) return std::nullopt;
  return found->second;
}

void DnnlCache::keep(const Key& key, const Routine& routine) {
  MutexLock lock(mutex_);
  if (routines_.size() >= kMost) routines_.clear();
  routines_.emplace(key, routine);
}

}  // namespace hvd::autograd
