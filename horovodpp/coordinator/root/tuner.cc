// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/root/tuner.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "horovodpp/coordinator/protocol/batch.h"
#include "horovodpp/coordinator/tuning/cut_neighbors.h"
#include "horovodpp/coordinator/tuning/cycle_meter.h"
#include "horovodpp/core/memory/fnv1a.h"

namespace hvd::coordinator {
namespace {

constexpr std::uint32_t kTooLate = std::numeric_limits<std::uint32_t>::max();

// A cut of the model must promise this part of a step.
constexpr double kLeastGain = 0.005;
// Neighbors are tried while steps take this part longer than the tensors take to
// arrive, and if the model expects no more than this loss of them.
constexpr double kWorthTrying = 0.01;
constexpr double kMostLoss = 0.05;
// The part of a step that fewer batches may cost.
constexpr double kSlack = 0.001;
// The part of the quartiles' distance by which medians differ by chance.
constexpr double kChance = 0.25;

constexpr int kWeight = 3;
constexpr std::size_t kMostSeen = 100'000;
constexpr std::size_t kMostModels = 4;

BatchLoad load_of(const Request& request) {
  return {.bytes = static_cast<double>(request.bytes()),
          .tensors = static_cast<double>(request.tensors.size())};
}

PathLine remembered(const TuningMemory& memory, std::size_t path) {
  return path < memory.paths.size() ? memory.paths[path] : PathLine();
}

}  // namespace

Tuner::Tuner(Options options)
    : options_(std::move(options)),
      memory_(options_.memory),
      fits_{PathFit(remembered(memory_, 0)), PathFit(remembered(memory_, 1))} {}

std::size_t Tuner::path_of(const Request& request) {
  return request.op == ReduceOp::kAdasum ? 1 : 0;
}

// An operation's first batch is unlike later ones: its memory is new.
void Tuner::ran(const Batch& batch, double seconds) {
  const Request& request = batch.request();
  if (request.kind != RequestKind::kAllreduce || !request.device.is_cpu() ||
      request.key.process_set != kGlobalSet) {
    return;
  }
  if (seen_.size() > kMostSeen) seen_.clear();
  bool is_new = false;
  BatchLoad load;
  for (const Batch::Entry& entry : batch.entries) {
    is_new = seen_.insert(entry.agreed.get()).second || is_new;
    const BatchLoad more = load_of(*entry.agreed);
    load.bytes += more.bytes;
    load.tensors += more.tensors;
  }
  if (!is_new) fits_[path_of(request)].add(load, seconds);
}

Cycle Tuner::begin(const std::vector<std::uint32_t>& ids,
                   std::span<const Candidate> step, const Cycle& usual) {
  model_ = nullptr;
  std::vector<const Request*> requests;
  for (const Candidate& candidate : step) requests.push_back(candidate.request);
  if (!is_tunable(requests)) return usual;
  describe(ids, step);
  Model& model = model_of(hash_of_operations());
  model_ = &model;
  if (!model.search.is_measured()) {
    model.usual = arrangement_of(usual);
    const TuningMemory::Model* const known = memory_.find(model.hash);
    if (known != nullptr && can_be(known->best)) model.known = known->best;
    model.found = model.known.value_or(model.usual);
    model.search.begin(model.found);
  }
  return put_in_force(model.search.best());
}

void Tuner::describe(const std::vector<std::uint32_t>& ids,
                     std::span<const Candidate> step) {
  operations_.clear();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    operations_.push_back({.id = ids[i], .candidate = step[i]});
  }
  std::sort(operations_.begin(), operations_.end(),
            [](const Operation& a, const Operation& b) {
              return a.candidate.request->key < b.candidate.request->key;
            });
  index_of_.clear();
  path_of_kind_.clear();
  std::vector<Candidate> kinds;
  for (std::uint32_t i = 0; i < operations_.size(); ++i) {
    Operation& operation = operations_[i];
    index_of_[operation.id] = i;
    const Candidate& mine = operation.candidate;
    const bool fuses = may_fuse_at_all(mine, options_.fusion);
    const auto same =
        std::find_if(kinds.begin(), kinds.end(), [&](const Candidate& kind) {
          return fuses && kind.request != nullptr && may_fuse(kind, mine);
        });
    operation.kind = static_cast<std::size_t>(same - kinds.begin());
    if (same != kinds.end()) continue;
    kinds.push_back(fuses ? mine : Candidate());
    path_of_kind_.push_back(path_of(*mine.request));
  }
}

std::uint64_t Tuner::hash_of_operations() const {
  Fnv1a hash;
  for (const Operation& operation : operations_) {
    const Request& request = *operation.candidate.request;
    hash.add(request.key.name);
    hash.add(request.tensors.size());
    for (const TensorSpec& tensor : request.tensors) {
      hash.add(static_cast<std::uint64_t>(tensor.dtype));
    }
    hash.add(request.bytes());
    hash.add(static_cast<std::uint64_t>(request.op));
  }
  return hash.value;
}

Tuner::Model& Tuner::model_of(std::uint64_t hash) {
  const auto found =
      std::find_if(models_.begin(), models_.end(),
                   [hash](const Model& model) { return model.hash == hash; });
  if (found == models_.end()) {
    models_.push_front(
        {.hash = hash,
         .search = CutSearch({.warm_ups = options_.warm_ups,
                              .max_trials = options_.max_trials})});
    if (models_.size() > kMostModels) models_.pop_back();
  } else {
    models_.splice(models_.begin(), models_, found);
  }
  return models_.front();
}

Arrangement Tuner::arrangement_of(const Cycle& cycle) const {
  Arrangement found;
  for (std::size_t i = 0; i < cycle.batches(); ++i) {
    for (const std::uint32_t id : cycle.ids_of(i)) {
      found.order.push_back(index_of_.at(id));
    }
    found.cuts.push_back(found.order.size());
  }
  return found;
}

Cycle Tuner::cycle_of(const Arrangement& arrangement) const {
  Cycle cycle;
  auto cut = arrangement.cuts.begin();
  for (std::size_t i = 0; i < arrangement.order.size(); ++i) {
    const bool ends = i + 1 == *cut;
    cycle.add(operations_[arrangement.order[i]].id, ends);
    if (ends) ++cut;
  }
  return cycle;
}

// Whether each batch is of one kind and within the limits.
bool Tuner::can_be(const Arrangement& arrangement) const {
  if (!arrangement.is_of(operations_.size())) return false;
  std::size_t first = 0;
  for (const std::size_t cut : arrangement.cuts) {
    std::vector<Candidate> batch;
    for (; first < cut; ++first) {
      batch.push_back(operations_[arrangement.order[first]].candidate);
    }
    if (plan_fusion(batch, options_.fusion).size() != 1) return false;
  }
  return true;
}

CutPiece Tuner::piece(std::uint32_t operation, double arrival) const {
  const Operation& one = operations_[operation];
  return {.arrival = arrival,
          .load = load_of(*one.candidate.request),
          .kind = one.kind};
}

std::vector<PathCurve> Tuner::paths() const {
  std::vector<PathCurve> paths;
  for (const std::size_t path : path_of_kind_) {
    paths.push_back(fits_[path].curve());
  }
  return paths;
}

// Until the end of the last batch. `arrivals`: of each operation.
double Tuner::predicted(const Arrangement& arrangement,
                        const std::vector<double>& arrivals) const {
  std::vector<CutPiece> pieces;
  for (const std::uint32_t one : arrangement.order) {
    pieces.push_back(piece(one, arrivals[one]));
  }
  return end_of_cut(pieces, paths(), arrangement.cuts);
}

Arrangement Tuner::best_for(const std::vector<double>& arrivals) const {
  std::vector<std::uint32_t> order = now_.order;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return arrivals[a] < arrivals[b];
                   });
  std::vector<CutPiece> pieces;
  for (const std::uint32_t one : order) {
    pieces.push_back(piece(one, arrivals[one]));
  }
  return arranged(
      order,
      cut_batches(pieces, paths(),
                  {.bytes = static_cast<double>(options_.fusion.threshold),
                   .pieces = options_.fusion.max_batch,
                   .slack = kSlack}));
}

// `order` with `cuts`, and with more where operations may not be in one batch.
Arrangement Tuner::arranged(const std::vector<std::uint32_t>& order,
                            const std::vector<std::size_t>& cuts) const {
  Arrangement found;
  std::size_t first = 0;
  for (const std::size_t cut : cuts) {
    std::vector<Candidate> part;
    for (std::size_t i = first; i < cut; ++i) {
      part.push_back(operations_[order[i]].candidate);
    }
    for (const auto& batch : plan_fusion(part, options_.fusion)) {
      for (const std::size_t i : batch) found.order.push_back(order[first + i]);
      found.cuts.push_back(found.order.size());
    }
    first = cut;
  }
  return found;
}

std::vector<Arrangement> Tuner::neighbors_of(
    const Arrangement& arrangement) const {
  std::vector<double> bytes;
  for (const std::uint32_t one : arrangement.order) {
    bytes.push_back(piece(one, 0).load.bytes);
  }
  return {arranged(arrangement.order, halve_batches(bytes, arrangement.cuts)),
          arranged(arrangement.order, join_batches(arrangement.cuts))};
}

Cycle Tuner::put_in_force(Arrangement arrangement) {
  now_ = std::move(arrangement);
  Cycle cycle = cycle_of(now_);
  hash_ = cycle.hash();
  return cycle;
}

std::optional<Cycle> Tuner::measured(const Measured& found) {
  const std::size_t operations = operations_.size();
  if (model_ == nullptr || found.cycle != hash_ || found.step == 0 ||
      found.arrivals.size() != operations ||
      found.ends.size() != now_.cuts.size()) {
    return std::nullopt;
  }
  const auto is_late = [](std::uint32_t value) { return value == kTooLate; };
  if (is_late(found.step) ||
      std::any_of(found.arrivals.begin(), found.arrivals.end(), is_late)) {
    return std::nullopt;
  }
  std::vector<double> arrivals(operations);
  for (std::size_t i = 0; i < operations; ++i) {
    arrivals[now_.order[i]] = kSecondsPerUnit * found.arrivals[i];
  }
  learn(found, arrivals);
  TuningSample sample{.step_seconds = kSecondsPerUnit * found.step,
                      .batches = now_.cuts.size()};
  std::size_t first = 0;
  for (const std::size_t cut : now_.cuts) {
    double bytes = 0;
    for (; first < cut; ++first)
      bytes += piece(now_.order[first], 0).load.bytes;
    sample.bytes += bytes;
    sample.largest_batch = std::max(sample.largest_batch, bytes);
  }
  if (options_.on_sample) options_.on_sample(sample);
  std::optional<Arrangement> next =
      judge(sample, arrivals, kSecondsPerUnit * found.spread);
  if (next) return put_in_force(*std::move(next));
  note_found();
  return std::nullopt;
}

// A batch lasts from its last arrival, or from the end of the batch before it.
// So the time includes that of waking the thread that executes it.
void Tuner::learn(const Measured& found, const std::vector<double>& arrivals) {
  double begin = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < now_.cuts.size(); ++i) {
    BatchLoad load;
    std::size_t path = 0;
    for (; first < now_.cuts[i]; ++first) {
      const std::uint32_t one = now_.order[first];
      const CutPiece part = piece(one, arrivals[one]);
      begin = std::max(begin, part.arrival);
      load.bytes += part.load.bytes;
      load.tensors += part.load.tensors;
      path = path_of_kind_[part.kind];
    }
    const double end = kSecondsPerUnit * found.ends[i];
    // It is a mean over several steps.
    for (int j = 0; j < kWeight; ++j) fits_[path].add(load, end - begin);
    begin = end;
  }
}

std::optional<Arrangement> Tuner::judge(const TuningSample& sample,
                                        const std::vector<double>& arrivals,
                                        double spread) {
  CutSearch& search = model_->search;
  if (auto next = search.measured(now_, sample)) return next;
  if (auto next = new_cut(sample.step_seconds, arrivals, spread)) {
    return search.try_new(*std::move(next));
  }
  return search.try_close_one();
}

// The cut in force is the best so far.
std::optional<Arrangement> Tuner::new_cut(double step,
                                          const std::vector<double>& arrivals,
                                          double spread) const {
  const CutSearch& search = model_->search;
  const double now = predicted(now_, arrivals);
  Arrangement cut = best_for(arrivals);
  if (now - predicted(cut, arrivals) >=
          std::max(kLeastGain * step, kChance * spread) &&
      search.may_try(cut)) {
    return cut;
  }
  const double last = *std::max_element(arrivals.begin(), arrivals.end());
  if (step <= (1 + kWorthTrying) * last || now_ == model_->known) {
    return std::nullopt;
  }
  std::optional<Arrangement> best;
  double least = (1 + kMostLoss) * now;
  for (Arrangement& neighbor : neighbors_of(now_)) {
    const double end = predicted(neighbor, arrivals);
    if (end > least || !search.may_try(neighbor)) continue;
    least = end;
    best = std::move(neighbor);
  }
  return best;
}

void Tuner::note_found() {
  Model& model = *model_;
  if (!options_.on_found || model.found == model.search.best()) return;
  model.found = model.search.best();
  options_.on_found(memory());
}

std::optional<Cycle> Tuner::could_not_follow() {
  if (model_ == nullptr) return std::nullopt;
  std::optional<Arrangement> next =
      model_->search.could_not_follow(now_, model_->usual);
  if (!next) return std::nullopt;
  return put_in_force(*std::move(next));
}

const TuningMemory& Tuner::memory() {
  memory_.paths.clear();
  for (const PathFit& fit : fits_) memory_.paths.push_back(fit.line());
  for (auto model = models_.rbegin(); model != models_.rend(); ++model) {
    const CutSearch& search = model->search;
    if (search.is_measured()) memory_.remember({model->hash, search.best()});
  }
  return memory_;
}

std::optional<TuningSample> Tuner::best() const {
  if (models_.empty()) return std::nullopt;
  return models_.front().search.best_sample();
}

}  // namespace hvd::coordinator
