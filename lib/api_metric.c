/* SPDX-License-Identifier: MIT */
/* Public entry points of metric.h. */

#include <timeweight/metric.h>

#include "base/abi.h"
#include "metric/registry.h"

size_t tw_metric_count(void)
{
    return TWI_METRIC_COUNT;
}

int32_t tw_metric_info(size_t index, tw_metric_row *row)
{
    if (index >= TWI_METRIC_COUNT || !row)
        return TW_ERR_INVAL;
    return twi_abi_write(row, &twi_metrics[index].row, sizeof *row,
                         TWI_ABI_UPTO(tw_metric_row, description));
}

int32_t tw_metric_find(const char *tag, int32_t *id)
{
    size_t index;

    if (!tag || !id)
        return TW_ERR_INVAL;
    index = twi_metric_index_of_tag(tag);
    if (index == TWI_METRIC_COUNT)
        return TW_ERR_NOTSUP;
    *id = twi_metrics[index].row.id;
    return TW_OK;
}
