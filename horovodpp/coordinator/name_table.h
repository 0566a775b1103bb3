// SPDX-License-Identifier: Apache-2.0
// The NameTable finds the id of a key. It keeps no keys of its own but points
// into the requests that were agreed on, which its user keeps alive: a job may
// have as many names as it has tensors, on every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "horovodpp/coordinator/request.h"

namespace hvd::coordinator {

class NameTable {
 public:
  // `request`, which outlives its entry, has the id `id` from now on. Takes the
  // place of another request of the same key.
  void set(const Request& request, std::uint32_t id) {
    entries_.erase(request.key);
    entries_.insert({&request.key, id});
  }

  std::optional<std::uint32_t> find(const Key& key) const {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return std::nullopt;
    return found->id;
  }

  // Forgets `key`, if it stands for `id`.
  void erase(const Key& key, std::uint32_t id) {
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->id == id) entries_.erase(found);
  }

 private:
  struct Entry {
    const Key* key = nullptr;
    std::uint32_t id = 0;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const {
      return absl::Hash<Key>()(key);
    }
    std::size_t operator()(const Entry& entry) const {
      return (*this)(*entry.key);
    }
  };
  struct Equal {
    using is_transparent = void;
    static const Key& key_of(const Key& key) { return key; }
    static const Key& key_of(const Entry& entry) { return *entry.key; }
    bool operator()(const auto& a, const auto& b) const {
      return key_of(a) == key_of(b);
    }
  };

  absl::flat_hash_set<Entry, Hash, Equal> entries_;
};

}  // namespace hvd::coordinator
