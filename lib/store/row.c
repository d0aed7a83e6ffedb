/* SPDX-License-Identifier: MIT */
#include "store/row.h"

void twi_row_count(const twi_row *row, uint64_t count, tw_balance *balance)
{
    balance->issued += count;
    if (twi_row_in_flight(row))
        balance->in_flight += count;
    else if (row->status == TW_RECORD_OK)
        balance->ok += count;
    else if (row->status == TW_RECORD_FAILED)
        balance->failed += count;
    else
        balance->cancelled += count;
    if (row->flags & TWI_ROW_CREDIT_AFTER_START)
        balance->credit_after_start += count;
    if (row->flags & TWI_ROW_CHUNK_TOKENS_IGNORED)
        balance->chunk_tokens_ignored += count;
}
