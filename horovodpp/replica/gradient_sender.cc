// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_sender.h"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/memory/fnv1a.h"
#include "horovodpp/core/reduce_arithmetic.h"
#include "horovodpp/core/status.h"

namespace hvd::replica {
namespace {

// Groups that differ between ranks must not match: gradients of different
// parameters would be reduced together. So the name contains all keys, as a
// hash that is the same everywhere.
std::string group_name(const std::vector<Outgoing>& gradients) {
  Fnv1a hash;
  for (const Outgoing& outgoing : gradients) {
    hash.add(outgoing.key);
    // Keys end with a zero, so that "a", "bc" is not "ab", "c".
    hash.add(std::string_view("\0", 1));
  }
  return absl::StrCat(gradients.front().key, "+", gradients.size() - 1, ".",
                      absl::Hex(hash.value, absl::kZeroPad16));
}

}  // namespace

Sent GradientCall::start(Runtime& runtime, const TensorView& gradient,
                         std::shared_ptr<const void> owner) {
  // Use a Prepared only for borrowed gradients: its destructor waits, and an
  // owned gradient must not cause a wait.
  if (owner == nullptr && has_same_address(gradient)) {
    if (!prepared_) {
      StatusOr<Prepared> made = runtime.prepare_allreduce_(gradient, options_);
      if (made.ok()) prepared_ = *std::move(made);
    }
    if (prepared_) {
      prepared_->start();
      return Sent(*prepared_);
    }
  }
  prepared_.reset();
  last_ = gradient;
  AllreduceOptions options = options_;
  options.keep_alive = std::move(owner);
  return Sent(runtime.allreduce_async_(gradient, std::move(options)));
}

GradientSender::GradientSender(Runtime& runtime, ReducerOptions options)
    : membership_(runtime.membership()), options_(std::move(options)) {
  const double factor = options_.gradient_predivide_factor;
  if (!(factor > 0) || !std::isfinite(factor) || !std::isfinite(1 / factor)) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("gradient_predivide_factor is ", factor,
                     "; it must be a positive number, and so must 1 by it")));
  }
  if (!reduce_op_from_wire(static_cast<std::uint8_t>(options_.op))) {
    throw Error(absl::InvalidArgumentError(absl::StrCat(
        "a reducer of gradients, '", options_.name, "': there is no ",
        hvd::name_of(options_.op), "; use an enumerator of ReduceOp")));
  }
  if (factor != 1.0 && !describe(options_.op).divides) {
    throw Error(absl::InvalidArgumentError(absl::StrCat(
        "gradient_predivide_factor goes with op average, not with op ",
        hvd::name_of(options_.op), "; leave it at 1")));
  }
  if (!(options_.scale > 0) || !std::isfinite(options_.scale)) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("a reducer's scale is ", options_.scale,
                     "; it must be a positive number")));
  }
  if (options_.compressor != nullptr && !describe(options_.op).linear) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("compression goes with op average or sum, not with op ",
                     hvd::name_of(options_.op))));
  }
  throw_if_error(job().status());
  const absl::StatusOr<int> rank = runtime.rank_in(options_.process_set);
  throw_if_error(
      annotate(rank.status(),
               absl::StrCat("a reducer of gradients, '", options_.name, "'")));
  rank_ = *rank;
  num_ranks_ = static_cast<int>(
      value_or_throw(runtime.ranks_of(options_.process_set)).size());
}

StatusOr<std::shared_ptr<Runtime>> GradientSender::job() const {
  auto job = membership_.enter();
  if (job.ok()) return job;
  return annotate(job.status(), absl::StrCat("a reducer of gradients, '",
                                             options_.name, "'"));
}

AllreduceOptions GradientSender::call_options(const std::string& key) const {
  const double factor = options_.gradient_predivide_factor;
  return {.name = absl::StrCat(options_.name, ".", key),
          .op = options_.op,
          .prescale_factor = options_.scale / factor,
          .postscale_factor = factor,
          .process_set = options_.process_set};
}

Sent GradientSender::send(Runtime& runtime, Outgoing gradient,
                          std::optional<GradientCall>& call) {
  if (compresses(gradient) || options_.observer != nullptr) {
    std::vector<Outgoing> one;
    one.push_back(std::move(gradient));
    return send(runtime, std::move(one));
  }
  const std::size_t bytes = gradient.gradient.bytes();
  ++stats_.gradients;
  stats_.bytes += bytes;
  stats_.sent_bytes += bytes;
  if (!call) call.emplace(call_options(gradient.key));
  return call->start(runtime, gradient.gradient, std::move(gradient.owner));
}

Sent GradientSender::send(Runtime& runtime, std::vector<Outgoing> gradients) {
  std::uint64_t bytes = 0;
  bool all_compressed = true;
  for (const Outgoing& outgoing : gradients) {
    bytes += outgoing.gradient.bytes();
    all_compressed = all_compressed && compresses(outgoing);
  }
  stats_.gradients += gradients.size();
  stats_.bytes += bytes;
  AllreduceOptions options = call_options(
      gradients.size() == 1 ? gradients.front().key : group_name(gradients));
  if (!all_compressed) {
    stats_.sent_bytes += bytes;
    std::vector<std::string> keys;
    if (options_.observer != nullptr) {
      for (const Outgoing& outgoing : gradients) keys.push_back(outgoing.key);
    }
    report_sent(keys);
    return watched(reduced(runtime, std::move(gradients), std::move(options)),
                   std::move(keys));
  }
  const std::uint64_t before = options_.compressor->stats().sent_bytes;
  Sent sent(compressed(runtime, std::move(gradients), options));
  stats_.sent_bytes += options_.compressor->stats().sent_bytes - before;
  return sent;
}

Sent GradientSender::send(Runtime& runtime, const ScatteredGroup& group) {
  stats_.gradients += group.keys.size();
  stats_.bytes += group.buffer.bytes();
  stats_.sent_bytes += group.buffer.bytes();
  const AllreduceOptions options = call_options(group.name);
  report_sent(group.keys);
  Future<void> reduced = runtime.reducescatter_into_async(
      group.buffer, group.share,
      {.name = options.name,
       .op = options.op,
       .prescale_factor = options.prescale_factor,
       .postscale_factor = options.postscale_factor,
       .process_set = options.process_set});
  return watched(std::move(reduced), group.keys);
}

Sent GradientSender::send(Runtime& runtime, const std::string& key,
                          const Rows& rows,
                          std::shared_ptr<GatheredRows> result) {
  const std::uint64_t bytes = rows.rows.bytes() + rows.values.bytes();
  ++stats_.gradients;
  stats_.bytes += bytes;
  stats_.sent_bytes += bytes;
  result->factor = describe(options_.op).divides ? options_.scale / num_ranks_
                                                 : options_.scale;
  report_sent({key});
  return Sent(std::make_unique<RowsExchange>(
      runtime, rows,
      AllgatherOptions{.name = absl::StrCat(options_.name, ".", key),
                       .process_set = options_.process_set},
      std::move(result)));
}

void GradientSender::report_sent(const std::vector<std::string>& keys) const {
  if (options_.observer == nullptr) return;
  for (const std::string& key : keys) options_.observer->sent(key);
}

Sent GradientSender::watched(Future<void> reduced,
                             std::vector<std::string> keys) const {
  if (options_.observer != nullptr) {
    reduced.then(
        [keys = std::move(keys), observer = options_.observer](const Status&) {
          for (const std::string& key : keys) observer->reduced(key);
        });
  }
  return Sent(std::move(reduced));
}

Future<void> GradientSender::reduced(Runtime& runtime,
                                     std::vector<Outgoing> gradients,
                                     AllreduceOptions options) {
  if (gradients.size() == 1) {
    options.keep_alive = std::move(gradients.front().owner);
    return runtime.allreduce_async_(gradients.front().gradient,
                                    std::move(options));
  }
  std::vector<TensorView> views;
  auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  bool all_owned = true;
  for (Outgoing& outgoing : gradients) {
    views.push_back(outgoing.gradient);
    all_owned = all_owned && outgoing.owner != nullptr;
    owners->push_back(std::move(outgoing.owner));
  }
  // If one gradient is borrowed, the future's destructor waits for it.
  if (all_owned) options.keep_alive = std::move(owners);
  return runtime.grouped_allreduce_async_(std::move(views), std::move(options));
}

std::unique_ptr<compression::Exchange> GradientSender::compressed(
    Runtime& runtime, std::vector<Outgoing> gradients,
    const AllreduceOptions& options) {
  std::vector<compression::Gradient> batch;
  for (const Outgoing& outgoing : gradients) {
    batch.push_back({outgoing.key, outgoing.gradient});
  }
  const auto begin = std::chrono::steady_clock::now();
  auto exchange =
      options_.compressor->start(runtime, std::move(batch),
                                 {.name = options.name,
                                  .op = options.op,
                                  .prescale_factor = options.prescale_factor,
                                  .postscale_factor = options.postscale_factor,
                                  .process_set = options.process_set,
                                  .num_ranks = num_ranks_});
  const std::chrono::nanoseconds took =
      std::chrono::steady_clock::now() - begin;
  options_.compressor->count_start(static_cast<std::uint64_t>(took.count()));
  return exchange;
}

}  // namespace hvd::replica
