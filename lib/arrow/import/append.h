/* SPDX-License-Identifier: MIT */
#ifndef TWI_ARROW_IMPORT_APPEND_H
#define TWI_ARROW_IMPORT_APPEND_H

/* From Arrow data to one append of a recorder, whose error they set on failure. Nothing is
 * released here but what the stream gives out. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <timeweight/arrow.h>

int32_t twi_arrow_append(tw_recorder *recorder, const struct ArrowSchema *schema,
                         const struct ArrowArray *array, bool skip_invalid,
                         size_t *accepted);
int32_t twi_arrow_append_stream(tw_recorder *recorder, struct ArrowArrayStream *stream,
                                bool skip_invalid, size_t *accepted);

#endif
