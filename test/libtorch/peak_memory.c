// SPDX-License-Identifier: Apache-2.0
/* Preloaded (LD_PRELOAD), counts the bytes that libtorch holds. libtorch allocates by
 * posix_memalign(), and little else does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { kSlots = 1 << 20 };

/* Allocations by address; open addressing. */
static void* slots[kSlots];
static long sizes[kSlots];
static long now, begun, most;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static size_t slot_of(void* memory) {
  return ((uintptr_t)memory >> 6) % kSlots;
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
  static int (*real)(void**, size_t, size_t);
  int result;
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "posix_memalign");
  result = real(memory, alignment, size);
  if (result == 0 && *memory != NULL) {
    size_t at;
    pthread_mutex_lock(&mutex);
    for (at = slot_of(*memory); slots[at] > (void*)1; at = (at + 1) % kSlots) {
    }
    slots[at] = *memory;
    sizes[at] = (long)size;
    now += sizes[at];
    if (now > most) most = now;
    pthread_mutex_unlock(&mutex);
  }
  return result;
}

void free(void* memory) {
  static void (*real)(void*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "free");
  if (memory != NULL && ((uintptr_t)memory & 63) == 0) {
    size_t at;
    pthread_mutex_lock(&mutex);
    for (at = slot_of(memory); slots[at] != NULL; at = (at + 1) % kSlots) {
      if (slots[at] != memory) continue;
      slots[at] = (void*)1; /* A free slot; others may follow. */
      now -= sizes[at];
      break;
    }
    pthread_mutex_unlock(&mutex);
  }
  real(memory);
}

long peak_memory_begin(void) {
  pthread_mutex_lock(&mutex);
  begun = most = now;
  pthread_mutex_unlock(&mutex);
  return 0;
}

/* The peak since begin(), minus the bytes at begin(). */
long peak_memory_most(void) { return most - begun; }
