// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/snapshot/newest_snapshot.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/memory/checksum.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/snapshot/manifest.h"
#include "horovodpp/telemetry/log.h"

namespace hvd::snapshot {
namespace {

// A snapshot as it lies in the folder.
struct Read {
  std::string manifest;
  Bytes bytes;
  std::uint64_t size = 0;
};

absl::StatusOr<Read> read_snapshot(const SnapshotFolder& folder,
                                   std::int64_t step) {
  HVD_ASSIGN_OR_RETURN(const Manifest manifest, folder.read_manifest(step));
  HVD_ASSIGN_OR_RETURN(Bytes bytes, folder.read_parts(manifest));
  return Read{.manifest = encode(manifest),
              .bytes = std::move(bytes),
              .size = manifest.bytes()};
}

// Questions about a snapshot that all ranks answer together.
class Agreement {
 public:
  Agreement(Runtime& job, std::string name)
      : job_(job), name_(std::move(name)) {}

  absl::StatusOr<std::int64_t> largest(std::int64_t value) {
    HVD_RETURN_IF_ERROR(
        job_.allreduce_async_(TensorView::of(&value, {1}),
                              {.name = name_, .op = ReduceOp::kMax})
            .wait());
    return value;
  }

  absl::StatusOr<std::int64_t> smallest(std::int64_t value) {
    HVD_ASSIGN_OR_RETURN(const std::int64_t largest_negated, largest(-value));
    return -largest_negated;
  }

  // Replaces `read` with that of rank `root`.
  absl::Status take_from(int root, Read& read) {
    std::int64_t sizes[] = {static_cast<std::int64_t>(read.manifest.size()),
                            static_cast<std::int64_t>(read.size)};
    HVD_RETURN_IF_ERROR(broadcast(sizes, sizeof(sizes), root));
    if (job_.topology().rank() != root) {
      read.manifest.resize(static_cast<std::size_t>(sizes[0]));
      read.size = static_cast<std::uint64_t>(sizes[1]);
      read.bytes.reset(new (std::nothrow) std::byte[read.size]);
      if (read.bytes == nullptr) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "no memory for the ", read.size, " bytes of a snapshot"));
      }
    }
    HVD_RETURN_IF_ERROR(
        broadcast(read.manifest.data(), read.manifest.size(), root));
    return broadcast(read.bytes.get(), read.size, root);
  }

 private:
  absl::Status broadcast(void* data, std::uint64_t size, int root) {
    return job_
        .broadcast_async_(TensorView(data, DType::kU8,
                                     Shape({static_cast<std::int64_t>(size)})),
                          root, {.name = absl::StrCat(name_, ".bytes")})
        .wait();
  }

  Runtime& job_;
  const std::string name_;
};

std::int64_t fingerprint(const Read& read) {
  return static_cast<std::int64_t>(
      checksum(read.manifest.data(), read.manifest.size()) >> 1);
}

// The newest of `steps`, which are in descending order, before `limit`; -1: none.
std::int64_t newest_before(const std::vector<std::int64_t>& steps,
                           std::int64_t limit) {
  const auto found =
      std::find_if(steps.begin(), steps.end(),
                   [&](std::int64_t step) { return step < limit; });
  return found == steps.end() ? -1 : *found;
}

absl::StatusOr<Snapshot> snapshot_of(Read read) {
  HVD_ASSIGN_OR_RETURN(Manifest manifest, decode_manifest(read.manifest));
  std::vector<Snapshot::Value> values;
  const std::byte* next = read.bytes.get();
  for (const auto& [name, size] : manifest.values) {
    values.push_back({name, next, size});
    next += size;
  }
  return Snapshot(manifest.step, std::move(manifest.note), std::move(values),
                  std::shared_ptr<const std::byte[]>(std::move(read.bytes)));
}

}  // namespace

absl::StatusOr<std::optional<Snapshot>> load_newest(
    Runtime& job, const SnapshotFolder& folder, const std::string& name) {
  Agreement agreement(job, name);
  const Topology& topology = job.topology();
  std::vector<std::int64_t> steps;
  if (topology.local_rank() == 0) steps = folder.steps();
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  while (true) {
    HVD_ASSIGN_OR_RETURN(limit, agreement.largest(newest_before(steps, limit)));
    if (limit < 0) return std::optional<Snapshot>();
    absl::StatusOr<Read> read = read_snapshot(folder, limit);
    HVD_ASSIGN_OR_RETURN(
        const std::int64_t root,
        agreement.smallest(read.ok() ? topology.rank() : topology.size()));
    if (root == topology.size()) {
      job.log().warning(
          absl::StrCat("the snapshot of step ", limit,
                       " is passed over: ", read.status().message()));
      continue;
    }
    if (!read.ok()) {
      job.log().info(absl::StrCat("the snapshot of step ", limit,
                                  " comes from rank ", root, ": ",
                                  read.status().message()));
    }
    const std::int64_t mine = read.ok() ? fingerprint(*read) : -1;
    HVD_ASSIGN_OR_RETURN(const std::int64_t least, agreement.smallest(mine));
    HVD_ASSIGN_OR_RETURN(const std::int64_t most, agreement.largest(mine));
    if (!read.ok()) read.emplace();
    if (least != most) {
      HVD_RETURN_IF_ERROR(agreement.take_from(static_cast<int>(root), *read));
    }
    HVD_ASSIGN_OR_RETURN(Snapshot snapshot, snapshot_of(*std::move(read)));
    return std::optional<Snapshot>(std::move(snapshot));
  }
}

}  // namespace hvd::snapshot
