/* SPDX-License-Identifier: MIT */
#include "places.h"

#include <stdlib.h>

void places_init(struct places *places, size_t limit)
{
    *places = (struct places){.limit = limit};
    places->last_free = &places->first_free;
}

static struct request *make(struct places *places, struct transport *transport)
{
    size_t count = places->count;
    if ((count & (count - 1)) == 0) { /* full: at powers of two */
        struct request **all = reallocarray(places->all, count ? 2 * count : 1,
                                            sizeof *all);
        if (!all)
            return NULL;
        places->all = all;
    }
    struct request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->call = transport_call(transport, request);
    if (!request->call) {
        free(request);
        return NULL;
    }
    places->all[places->count++] = request;
    return request;
}

struct request *places_take(struct places *places, struct transport *transport,
                            bool *no_memory)
{
    struct request *request = places->first_free;
    *no_memory = false;
    if (request) {
        places->first_free = request->next;
        if (!places->first_free)
            places->last_free = &places->first_free;
        request->next = NULL;
        return request;
    }
    if (places->count == places->limit)
        return NULL;
    request = make(places, transport);
    *no_memory = !request;
    if (request)
        request->free_ns = INT64_MIN; /* it was free all the time */
    return request;
}

void places_give_back(struct places *places, struct request *request, int64_t now_ns)
{
    request->free_ns = now_ns;
    *places->last_free = request;
    places->last_free = &request->next;
}

void places_clear(struct places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        transport_call_free(places->all[i]->call);
        answer_clear(&places->all[i]->answer);
        free(places->all[i]);
    }
    free(places->all);
    places_init(places, 0);
}
