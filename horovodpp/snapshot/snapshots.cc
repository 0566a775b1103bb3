// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/snapshot/snapshots.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/memory/checksum.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/core/trace/span.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/snapshot/manifest.h"
#include "horovodpp/snapshot/newest_snapshot.h"
#include "horovodpp/snapshot/snapshot_folder.h"
#include "horovodpp/snapshot/snapshot_writer.h"
#include "horovodpp/telemetry/log.h"

namespace hvd::snapshot {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Positive, so that it stays the maximum when ranks agree.
std::int64_t random_nonce() {
  std::random_device source;
  const std::uint64_t high = source();
  return static_cast<std::int64_t>((high << 31 ^ source()) >> 1 | 1);
}

// The bytes [range.begin, range.end) of the values.
void copy_range(const std::vector<NamedBytes>& values, const ByteRange& range,
                std::byte* out) {
  std::uint64_t at = 0;
  for (const auto& [name, data, size] : values) {
    const std::uint64_t begin = std::max(at, range.begin);
    const std::uint64_t end = std::min(at + size, range.end);
    if (begin < end) {
      std::memcpy(out + (begin - range.begin),
                  static_cast<const std::byte*>(data) + (begin - at),
                  end - begin);
    }
    at += size;
  }
}

// A number of what is to be saved, which is equal on all ranks.
std::int64_t layout_of(std::int64_t step,
                       const std::vector<NamedBytes>& values) {
  std::uint64_t sum = static_cast<std::uint64_t>(step);
  for (const auto& [name, data, size] : values) {
    sum = combined(sum, checksum(name.data(), name.size()));
    sum = combined(sum, size);
  }
  return static_cast<std::int64_t>(sum >> 1);
}

// The numbers that ranks agree on in a save(): the maximum of each.
enum Fact { kSkips, kHasFailed, kNonce, kLayout, kMinusLayout, kNumFacts };
using Facts = std::array<std::int64_t, kNumFacts>;

}  // namespace

struct Snapshots::State {
  State(SnapshotOptions given, SnapshotFolder opened)
      : options(std::move(given)), folder(std::move(opened)) {}

  bool is_too_early() const;
  // Whether the last save() was in this job.
  bool is_in(const Runtime& running) const {
    const auto entered = job.enter();
    return entered.ok() && entered->get() == &running;
  }
  // Waits for the writer, and takes over what it has done.
  void end_writing();
  absl::StatusOr<Facts> agree(Runtime& running, std::int64_t layout);
  absl::Status begin_writing(const Topology& topology, const Draft& draft,
                             const std::vector<NamedBytes>& values,
                             const std::string& note);

  const SnapshotOptions options;
  const SnapshotFolder folder;
  Bytes copy;  // Of this rank's part; the writer's while there is one.
  std::uint64_t capacity = 0;
  std::optional<SnapshotWriter> writer;

  Membership job;           // Of the last save().
  absl::Status outcome;     // Of the last snapshot that ended.
  bool has_failed = false;  // The other ranks do not know yet.
  std::optional<Clock::time_point> last_save;
  double last_cost = 0;  // Seconds of the last save() that began a snapshot.
  SnapshotStats stats;
};

Snapshots::Snapshots(std::unique_ptr<State> state) : state_(std::move(state)) {}

StatusOr<std::unique_ptr<Snapshots>> Snapshots::open(
    const SnapshotOptions& options) {
  if (options.directory.empty() || options.keep < 1 ||
      !(options.share_of_time > 0) || options.share_of_time > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "snapshots to '", options.directory, "', of which ", options.keep,
        " stay, in ", options.share_of_time,
        " of the time: name a folder, at least one and a share in (0, 1]"));
  }
  HVD_ASSIGN_OR_RETURN(SnapshotFolder folder,
                       SnapshotFolder::open(options.directory));
  return std::unique_ptr<Snapshots>(
      new Snapshots(std::make_unique<State>(options, std::move(folder))));
}

Snapshots::~Snapshots() { state_->end_writing(); }

bool Snapshots::State::is_too_early() const {
  return last_save && options.share_of_time < 1 &&
         last_cost > options.share_of_time * seconds_since(*last_save);
}

void Snapshots::State::end_writing() {
  if (!writer) return;
  writer->wait();
  outcome = writer->outcome();
  stats.write_seconds += writer->seconds();
  if (outcome.ok()) {
    stats.bytes += writer->size();
  } else {
    outcome = annotate(outcome, "a snapshot failed; earlier ones stay");
    ++stats.failed;
    has_failed = true;
    if (const auto running = job.enter(); running.ok()) {
      (*running)->log().warning(std::string(outcome.message()));
    }
  }
  writer.reset();
}

Status Snapshots::save(std::int64_t step, const std::vector<NamedBytes>& values,
                       const std::string& note) {
  const trace::Span span("snapshot");
  State& state = *state_;
  if (step < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a snapshot of step ", step, ", which is negative"));
  }
  HVD_ASSIGN_OR_RETURN(const std::shared_ptr<Runtime> job, find_runtime());
  HVD_ASSIGN_OR_RETURN(const Facts facts,
                       state.agree(*job, layout_of(step, values)));
  if (facts[kLayout] != -facts[kMinusLayout]) {
    return absl::InvalidArgumentError(
        "the ranks save different steps, or values with different names or "
        "sizes: save the same state on all ranks");
  }
  if (facts[kSkips] != 0) {
    ++state.stats.skipped;
    return Status();
  }
  // Without the wait for the slowest rank, which a step would have as well.
  const Clock::time_point begin = Clock::now();
  const Draft draft = {.step = step,
                       .nonce = static_cast<std::uint64_t>(facts[kNonce])};
  HVD_RETURN_IF_ERROR(
      state.begin_writing(job->topology(), draft, values, note));
  ++state.stats.begun;
  state.last_cost = seconds_since(begin);
  state.stats.save_seconds += state.last_cost;
  state.last_save = Clock::now();
  return Status();
}

// Whether the ranks begin a snapshot; afterwards no writer is left if they do.
absl::StatusOr<Facts> Snapshots::State::agree(Runtime& running,
                                              std::int64_t layout) {
  // A snapshot that another job had begun will not be complete.
  if (writer && !is_in(running)) {
    writer->cancel();
    end_writing();
  }
  job = running.membership();
  const bool is_busy = writer && writer->is_writing();
  if (!is_busy) end_writing();
  Facts facts = {};
  facts[kSkips] = is_busy || is_too_early() ? 1 : 0;
  facts[kHasFailed] = has_failed ? 1 : 0;
  facts[kNonce] = running.topology().rank() == 0 ? random_nonce() : 0;
  facts[kLayout] = layout;
  facts[kMinusLayout] = -layout;
  HVD_RETURN_IF_ERROR(
      running
          .allreduce_async_(TensorView::of(facts.data(), {kNumFacts}),
                            {.name = options.name, .op = ReduceOp::kMax})
          .wait());
  // This rank may wait for the part of the rank that has failed.
  if (facts[kHasFailed] != 0 && is_busy) writer->cancel();
  has_failed = false;
  return facts;
}

absl::Status Snapshots::State::begin_writing(
    const Topology& topology, const Draft& draft,
    const std::vector<NamedBytes>& values, const std::string& note) {
  Manifest manifest = {.step = draft.step, .note = note};
  for (const auto& [name, data, size] : values) {
    manifest.values.push_back({name, size});
  }
  const int part = options.each_host ? topology.local_rank() : topology.rank();
  const int parts = options.each_host ? topology.local_size() : topology.size();
  const ByteRange range = part_range(manifest.bytes(), part, parts);
  if (capacity < range.size()) {
    copy.reset(new std::byte[range.size()]);
    capacity = range.size();
  }
  copy_range(values, range, copy.get());
  writer.emplace(folder, SnapshotWriter::Work{.draft = draft,
                                              .part = part,
                                              .parts = parts,
                                              .bytes = copy.get(),
                                              .size = range.size(),
                                              .manifest = std::move(manifest),
                                              .kept = options.keep,
                                              .job = job});
  absl::Status started = writer->start();
  if (!started.ok()) {
    writer.reset();
    has_failed = true;
  }
  return started;
}

Status Snapshots::finish() {
  state_->end_writing();
  return state_->outcome;
}

StatusOr<std::optional<Snapshot>> Snapshots::load_newest() {
  const State& state = *state_;
  HVD_ASSIGN_OR_RETURN(const std::shared_ptr<Runtime> job, find_runtime());
  return snapshot::load_newest(*job, state.folder,
                               absl::StrCat(state.options.name, ".load"));
}

SnapshotStats Snapshots::stats() const { return state_->stats; }

}  // namespace hvd::snapshot
