/* SPDX-License-Identifier: MIT */
#include "arrow/import/complaint.h"

#include <string.h>

void twi_complaint_begin(twi_complaint *complaint, int32_t field, const char *place)
{
    complaint->place = place;
    complaint->fault = (twi_fault){.field = field};
    complaint->used = 0;
    complaint->text[0] = 0;
}

void twi_complaint_add(twi_complaint *complaint, const char *words)
{
    const size_t room = sizeof complaint->text - 1 - complaint->used;
    size_t length = 0;

    while (length < room && words[length])
        length++;
    if (words[length])
        while (length && ((unsigned char)words[length] & 0xc0) == 0x80)
            length--;
    memcpy(complaint->text + complaint->used, words, length);
    complaint->used += length;
    complaint->text[complaint->used] = 0;
}

int32_t twi_complain(twi_complaint *complaint, int32_t status, const char *part,
                     const char *words)
{
    twi_complaint_add(complaint, complaint->place);
    twi_complaint_add(complaint, ": ");
    if (part) {
        twi_complaint_add(complaint, part);
        twi_complaint_add(complaint, ": ");
    }
    twi_complaint_add(complaint, words);
    return status;
}
