// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/reduction/parameter_shards.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/accumulate_grad.h"
#include "horovodpp/autograd/graph/autograd_meta.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/optim/reduction/arena_gradients.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::optim {
namespace {

using autograd::Ref;
using autograd::Storage;

// A bucket is sent when backward has completed it. Smaller buckets overlap
// better, larger ones need fewer calls.
constexpr std::size_t kBucketBytes = std::size_t{16} << 20;
// Parameters, and the ranks' shares, begin on their own cache lines.
constexpr std::int64_t kLine = 64;
constexpr std::align_val_t kBlockAlignment{64};

std::int64_t rounded_up(std::int64_t count, std::int64_t to) {
  return (count + to - 1) / to * to;
}

// Zeros, in the arena if it has room.
std::shared_ptr<void> block_of(Runtime& job, std::size_t bytes) {
  if (auto block = arena_block(job, bytes)) return block;
  void* const memory = ::operator new(bytes, kBlockAlignment);
  std::memset(memory, 0, bytes);
  return {memory, [](void* gone) { ::operator delete(gone, kBlockAlignment); }};
}

}  // namespace

ParameterShards::ParameterShards(Runtime& job,
                                 const std::vector<nn::NamedTensor>& parameters,
                                 std::string name, const ProcessSet& set)
    : parameters_(parameters),
      name_(std::move(name)),
      set_(set),
      membership_(job.membership()),
      rank_(value_or_throw(job.rank_in(set))),
      num_ranks_(static_cast<int>(value_or_throw(job.ranks_of(set)).size())),
      places_(parameters.size()),
      homes_(parameters.size()) {
  lay_out();
  allocate(job);
}

ParameterShards::~ParameterShards() {
  for (std::size_t i = 0; i < homes_.size(); ++i) {
    if (homes_[i]) autograd::set_gradient_home(parameters_[i].tensor, nullptr);
  }
}

// Closes a bucket when it is long enough, or when the next parameter has
// another type.
void ParameterShards::lay_out() {
  for (const std::size_t i : order_of_gradients(parameters_, {})) {
    const Tensor& parameter = parameters_[i].tensor;
    if (!parameter.requires_grad() || parameter.num_elements() == 0) continue;
    const auto is_open = [&] {
      const Bucket& last = buckets_.back();
      return last.dtype == parameter.dtype() &&
             static_cast<std::size_t>(last.elements) * size_of(last.dtype) <
                 kBucketBytes;
    };
    if (buckets_.empty() || !is_open()) {
      buckets_.push_back({.dtype = parameter.dtype()});
    }
    Bucket& bucket = buckets_.back();
    places_[i] = {.is_in = true,
                  .bucket = buckets_.size() - 1,
                  .offset = bucket.elements};
    bucket.members.push_back(i);
    bucket.elements += rounded_up(parameter.num_elements(), kLine);
  }
  for (Bucket& bucket : buckets_) {
    bucket.elements = rounded_up(bucket.elements, kLine * num_ranks_);
  }
}

void ParameterShards::allocate(Runtime& job) {
  for (Bucket& bucket : buckets_) {
    const std::size_t bytes = all(bucket, nullptr).bytes();
    bucket.parameters = block_of(job, bytes);
    bucket.gradients = block_of(job, bytes);
  }
}

void ParameterShards::move_in() {
  for (const Bucket& bucket : buckets_) {
    for (const std::size_t i : bucket.members) {
      const auto& [name, tensor] = parameters_[i];
      const autograd::AutogradMeta* const meta = tensor.impl()->meta.get();
      if (meta != nullptr && meta->base.defined()) {
        throw InvalidArgument(absl::StrCat(
            "the update of '", name, "' cannot be sharded: it is a view"));
      }
      if (autograd::existing_grad_accumulator(tensor)) {
        throw Error(absl::FailedPreconditionError(absl::StrCat(
            "the update of '", name,
            "' cannot be sharded: a graph that depends on it is alive")));
      }
    }
  }
  for (const Bucket& bucket : buckets_) {
    for (const std::size_t i : bucket.members) {
      const Tensor& tensor = parameters_[i].tensor;
      const std::size_t offset =
          static_cast<std::size_t>(places_[i].offset) * size_of(bucket.dtype);
      auto* const place =
          static_cast<std::byte*>(bucket.parameters.get()) + offset;
      autograd::TensorImpl& impl = *tensor.impl();
      const autograd::Dims strides = autograd::gradient_strides(tensor);
      {
        NoGrad no_grad;
        const Tensor moved =
            Tensor(Ref<autograd::TensorImpl>::adopt(new autograd::TensorImpl(
                Storage::borrow(place, tensor.bytes(), Device::cpu(),
                                [kept = bucket.parameters](void*) {}),
                bucket.dtype, impl.shape, strides, 0)));
        moved.copy_(tensor.detach());
        impl.storage = moved.impl()->storage;
      }
      impl.offset = 0;
      impl.strides = strides;
      impl.contiguous = autograd::is_contiguous(impl.shape, strides);
      homes_[i] = home_in(bucket.gradients, offset, tensor);
      autograd::set_gradient_home(tensor, homes_[i]);
    }
  }
  // The memory that the parameters have left is now in the allocator's cache.
  autograd::release_cached_memory();
}

std::vector<replica::ScatteredGroup> ParameterShards::groups() const {
  std::vector<replica::ScatteredGroup> groups;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const Bucket& bucket = buckets_[b];
    replica::ScatteredGroup& group = groups.emplace_back();
    group.name = absl::StrCat("(shard ", b, ")");
    group.buffer = all(bucket, bucket.gradients);
    group.share = share(bucket, bucket.gradients);
    for (const std::size_t i : bucket.members) {
      group.keys.push_back(parameters_[i].name);
    }
  }
  return groups;
}

std::vector<ElementRange> ParameterShards::parts() const {
  std::vector<ElementRange> parts;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::int64_t count = parameters_[i].tensor.num_elements();
    const Place& place = places_[i];
    if (!place.is_in) {
      parts.push_back({0, count});
      continue;
    }
    const std::int64_t share = share_of(buckets_[place.bucket]);
    const auto inside = [&](std::int64_t at) {
      return std::clamp(at - place.offset, std::int64_t{0}, count);
    };
    parts.push_back({inside(rank_ * share), inside((rank_ + 1) * share)});
  }
  return parts;
}

Tensor ParameterShards::gradient_in_place(std::size_t parameter) const {
  const auto& [name, tensor] = parameters_[parameter];
  const Tensor grad = tensor.grad();
  if (homes_[parameter]->holds(grad)) return grad;
  NoGrad no_grad;
  const Tensor there = homes_[parameter]->take();
  if (!there.defined()) {
    throw Error(absl::FailedPreconditionError(
        absl::StrCat("an earlier gradient of '", name,
                     "' is still held; where updates are sharded all gradients "
                     "of a parameter "
                     "have the same memory: drop it, or keep a clone()")));
  }
  if (grad.defined()) {
    there.copy_(grad.detach());
  } else {
    there.zero_();
  }
  tensor.set_grad(there);
  return there;
}

void ParameterShards::check_in_place() const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i].is_in) continue;
    const Bucket& bucket = buckets_[places_[i].bucket];
    const auto* const place =
        static_cast<const std::byte*>(bucket.parameters.get()) +
        static_cast<std::size_t>(places_[i].offset) * size_of(bucket.dtype);
    const Tensor& tensor = parameters_[i].tensor;
    if (tensor.raw_data() == place && tensor.dtype() == bucket.dtype) continue;
    throw Error(absl::FailedPreconditionError(absl::StrCat(
        "the memory of '", parameters_[i].name,
        "' has been replaced, as by Module::to(); make optimizers after it")));
  }
}

void ParameterShards::gather_gradients() {
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    buckets_[b].gathered = gather(b, "gradients", buckets_[b].gradients);
    buckets_[b].is_gathering = true;
  }
  wait_for_all();
}

void ParameterShards::start_gathering() {
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    for (const std::size_t i : buckets_[b].members) {
      parameters_[i].tensor.bump_version();
    }
  }
  // The first layers of the next forward lie in the last buckets.
  for (std::size_t b = buckets_.size(); b-- > 0;) {
    buckets_[b].gathered = gather(b, "parameters", buckets_[b].parameters);
    buckets_[b].is_gathering = true;
  }
}

void ParameterShards::wait_for(std::size_t parameter) {
  if (has(parameter)) wait_for(buckets_[places_[parameter].bucket]);
}

void ParameterShards::wait_for_all() {
  for (Bucket& bucket : buckets_) wait_for(bucket);
}

void ParameterShards::wait_for(Bucket& bucket) {
  if (!bucket.is_gathering) return;
  bucket.is_gathering = false;
  throw_if_error(bucket.gathered.wait());
}

nn::StateDict ParameterShards::whole_state(
    const StatefulOptimizer& optimizer,
    const replica::GradientReducer& reducer) const {
  const std::size_t kinds = optimizer.slot_kinds().size();
  const std::vector<ElementRange> mine = parts();
  // One number for each slot: -1 if this rank has no part, 0 if the slot is
  // empty, else 1, or a count plus 1.
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    for (std::size_t k = 0; k < kinds; ++k) {
      const Tensor& slot = optimizer.slot(i, k);
      const bool counts = optimizer.slot_kinds()[k].is_count;
      numbers.push_back(mine[i].count() == 0 ? -1
                        : !slot.defined()    ? 0
                        : counts             ? 1 + slot.item<std::int64_t>()
                                             : 1);
    }
  }
  const std::vector<std::int64_t> of_all = reducer.gather("(state)", numbers);
  nn::StateDict state;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    for (std::size_t k = 0; k < kinds; ++k) {
      std::int64_t least = INT64_MAX;
      std::int64_t most = 0;
      for (std::size_t at = i * kinds + k; at < of_all.size();
           at += numbers.size()) {
        if (of_all[at] < 0) continue;
        least = std::min(least, of_all[at]);
        most = std::max(most, of_all[at]);
      }
      const std::string name = absl::StrCat(parameters_[i].name, ".",
                                            optimizer.slot_kinds()[k].name);
      if (least != most && most > 0) {
        throw Error(absl::FailedPreconditionError(absl::StrCat(
            "the ranks do not remember the same of '", name,
            "', of which each has a part; load_state_dict() on all of them")));
      }
      if (most == 0) continue;
      state.push_back({name, optimizer.slot_kinds()[k].is_count
                                 ? nn::count_tensor(most - 1)
                                 : whole_slot(optimizer, i, k)});
    }
  }
  return state;
}

Tensor ParameterShards::whole_slot(const StatefulOptimizer& optimizer,
                                   std::size_t parameter,
                                   std::size_t kind) const {
  const Tensor& slot = optimizer.slot(parameter, kind);
  if (!has(parameter)) return slot;
  const Tensor& like = parameters_[parameter].tensor;
  const std::int64_t count = parts()[parameter].count();
  Future<Buffer> done = job()->allgather_async(
      ConstTensorView(count == 0 ? nullptr : slot.raw_data(), like.dtype(),
                      Shape({count})),
      {.name = absl::StrCat(name_, ".(state)"), .process_set = set_});
  const Buffer whole = value_or_throw(done.take());
  const Tensor result =
      autograd::empty_strided(like.shape(), like.strides(), like.dtype());
  std::memcpy(result.raw_data(), whole.view().data(), result.bytes());
  return result;
}

TensorView ParameterShards::share(const Bucket& bucket,
                                  const std::shared_ptr<void>& of) const {
  const std::int64_t count = share_of(bucket);
  return {static_cast<std::byte*>(of.get()) +
              static_cast<std::size_t>(rank_ * count) * size_of(bucket.dtype),
          bucket.dtype, Shape({count})};
}

TensorView ParameterShards::all(const Bucket& bucket,
                                const std::shared_ptr<void>& of) {
  return {of.get(), bucket.dtype, Shape({bucket.elements})};
}

std::shared_ptr<Runtime> ParameterShards::job() const {
  return value_or_throw(membership_.enter());
}

Future<void> ParameterShards::gather(std::size_t bucket, const char* what,
                                     const std::shared_ptr<void>& of) {
  return job()->allgather_into_async(
      share(buckets_[bucket], of), all(buckets_[bucket], of),
      {.name = absl::StrCat(name_, ".(", what, " ", bucket, ")"),
       .process_set = set_,
       .keep_alive = of});
}

}  // namespace hvd::optim
