// SPDX-License-Identifier: Apache-2.0
// Which names a program that links the library can reach: those of a namespace
// that is opened as
//
//   namespace HVD_EXPORT hvd {
//
// which every header that is installed does, and no other. Everything else is
// compiled with -fvisibility=hidden.
#pragma once

#define HVD_EXPORT __attribute__((visibility("default")))
