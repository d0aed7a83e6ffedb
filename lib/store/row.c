/* SPDX-License-Identifier: MIT */
#include "store/row.h"

void twi_row_count(const twi_row *row, tw_balance *balance)
{
    balance->issued++;
    if (twi_row_in_flight(row))
        balance->in_flight++;
    else if (row->status == TW_RECORD_OK)
        balance->ok++;
    else if (row->status == TW_RECORD_FAILED)
        balance->failed++;
    else
        balance->cancelled++;
    if (row->flags & TWI_ROW_CREDIT_AFTER_START)
        balance->credit_after_start++;
    if (row->flags & TWI_ROW_CHUNK_TOKENS_IGNORED)
        balance->chunk_tokens_ignored++;
}
