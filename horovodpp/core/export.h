// SPDX-License-Identifier: Apache-2.0
// HVD_EXPORT marks the namespaces whose names a program that links the library
// can reach:
//
//   namespace HVD_EXPORT hvd {
//
// Every installed header opens its namespaces this way, and no other header
// does. Everything else is compiled with -fvisibility=hidden.
#pragma once

#define HVD_EXPORT [[gnu::visibility("default")]]
