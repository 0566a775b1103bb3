// SPDX-License-Identifier: Apache-2.0
// What finds something by a key. None of it keeps keys of its own: they lie in
// requests, of which a job has as many as it has tensors, on every rank. A key is
// hashed once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "horovodpp/coordinator/request.h"

namespace hvd::coordinator {

// Of a table whose entries know their keys and the hashes of these.
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

// A key to look for, in more than one table.
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

// A request as an entry of such a table, which keeps it.
class NamedRequest {
 public:
  // Of something.
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

// The NameTable finds the id of a key. It points into the requests that were
// agreed on, which its user keeps alive.
class NameTable {
 public:
  // `request`, which outlives its entry, has the id `id` from now on. Takes the
  // place of another request of the same key, and returns that one's id.
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

  // Forgets `key`, if it stands for `id`.
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
