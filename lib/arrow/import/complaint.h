/* SPDX-License-Identifier: MIT */
#ifndef TWI_ARROW_IMPORT_COMPLAINT_H
#define TWI_ARROW_IMPORT_COMPLAINT_H

/* What is wrong with an array: a field, and a line of words of bounded length. */

#include <stddef.h>
#include <stdint.h>

#include "store/append.h"

typedef struct twi_complaint {
    const char *place; /* what is looked at: "stream", or the name of a column */
    twi_fault fault;
    size_t used;
    char text[TWI_DETAIL_SIZE];
} twi_complaint;

/* Nothing is wrong; something of this field is looked at. */
void twi_complaint_begin(twi_complaint *complaint, int32_t field, const char *place);
/* Adds words, cut where there is no room, between two characters of UTF-8. */
void twi_complaint_add(twi_complaint *complaint, const char *words);
/* "place: part: words" (a part of NULL left out), and a status to be returned. */
int32_t twi_complain(twi_complaint *complaint, int32_t status, const char *part,
                     const char *words);

#endif
