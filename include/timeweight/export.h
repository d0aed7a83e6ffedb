/* SPDX-License-Identifier: MIT */
#ifndef TIMEWEIGHT_EXPORT_H
#define TIMEWEIGHT_EXPORT_H

/** @file export.h
 *  How symbols leave the library. Nothing else lives here.
 */

#if defined(__GNUC__) && !defined(TIMEWEIGHT_STATIC)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

#ifdef __cplusplus
#define TW_BEGIN_DECLS extern "C" {
#define TW_END_DECLS }
#else
#define TW_BEGIN_DECLS
#define TW_END_DECLS
#endif

#endif
