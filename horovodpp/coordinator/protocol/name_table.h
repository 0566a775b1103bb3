// SPDX-License-Identifier: Apache-2.0
// Lookup tables by key. The tables store no keys of their own: keys live in
// requests, of which every rank has as many as the job has tensors. Each key is
// hashed once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "horovodpp/coordinator/protocol/request.h"

namespace hvd::coordinator {

// Hash for tables whose entries know their key and its hash.
struct KeyHash {
  using is_transparent = void;
  std::size_t operator()(const Key& key) const {
    return absl::Hash<Key>()(key);
  }
  std::size_t operator()(const auto& entry) const { return entry.hash(); }
};
struct KeyEqual {
  using is_transparent = void;
  static const Key& key_of(const Key& key) { return key; }
  static const Key& key_of(const auto& entry) { return entry.key(); }
  bool operator()(const auto& a, const auto& b) const {
    return key_of(a) == key_of(b);
  }
};

// A key with its hash, for lookups in several tables.
class HashedKey {
 public:
  // `key` outlives this.
  explicit HashedKey(const Key& key) : key_(&key), hash_(KeyHash()(key)) {}
  const Key& key() const { return *key_; }
  std::size_t hash() const { return hash_; }

 private:
  const Key* key_;
  std::size_t hash_;
};

// A table entry that keeps a request.
class NamedRequest {
 public:
  // `request` is not null.
  explicit NamedRequest(RequestPtr request)
      : request_(std::move(request)), hash_(KeyHash()(request_->key)) {}

  const RequestPtr& request() const { return request_; }
  const Key& key() const { return request_->key; }
  std::size_t hash() const { return hash_; }

 private:
  RequestPtr request_;
  std::size_t hash_;
};

template <typename T>
using RequestMap = absl::flat_hash_map<NamedRequest, T, KeyHash, KeyEqual>;

// A NameTable maps a key to its id. It points into agreed requests, which its
// user keeps alive.
class NameTable {
 public:
  // Maps the key of `request`, which outlives the entry, to `id`. Replaces an
  // entry of the same key and returns the replaced id.
  std::optional<std::uint32_t> set(const Request& request, std::uint32_t id) {
    const Entry entry(request.key, id);
    const auto [place, is_new] = entries_.insert(entry);
    if (is_new) return std::nullopt;
    const std::uint32_t before = place->id();
    entries_.erase(place);
    entries_.insert(entry);
    return before;
  }

  std::optional<std::uint32_t> find(const Key& key) const {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return std::nullopt;
    return found->id();
  }

  // Removes `key` if it maps to `id`.
  void erase(const Key& key, std::uint32_t id) {
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->id() == id) entries_.erase(found);
  }

 private:
  class Entry : public HashedKey {
   public:
    Entry(const Key& key, std::uint32_t id) : HashedKey(key), id_(id) {}
    std::uint32_t id() const { return id_; }

   private:
    std::uint32_t id_;
  };

  absl::flat_hash_set<Entry, KeyHash, KeyEqual> entries_;
};

}  // namespace hvd::coordinator
