/* SPDX-License-Identifier: MIT */
#ifndef LOADGEN_PROMPT_H
#define LOADGEN_PROMPT_H

#include "options.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes the bodies of requests. */
struct prompts;

/* NULL after a message. */
struct prompts *prompts_new(const struct options *options);

/* The body of request number i, with input_tokens words or from a line of the file, whose
 * number of words is then put there. The caller frees it; NULL: no memory. */
char *prompts_body(struct prompts *prompts, uint64_t i, int64_t *input_tokens,
                   int64_t output_tokens);

void prompts_free(struct prompts *prompts);

#endif
