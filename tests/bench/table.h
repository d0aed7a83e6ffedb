/* SPDX-License-Identifier: MIT */
#ifndef TABLE_H
#define TABLE_H

#include "harness.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What the benchmark found, as a table for people and as JSON. */

enum { TABLE_ROUNDS = 32 }; /* at most */

/* A figure, and what it is to be. */
typedef struct goal {
    const char *what;
    const char *group;  /* on which workload */
    double must, reach; /* 0: there is none */
    bool at_least;      /* else at most */
    const char *unit;   /* "x", "B", "" */
} goal;

typedef struct figure {
    goal goal;
    double values[TABLE_ROUNDS];
    size_t rounds;       /* 0: it was not measured */
    const char *missing; /* why */
    /* The same of the least times of all rounds, which a busy machine disturbs less. */
    double least;
} figure;

/* Seconds of one contender in one group. */
typedef struct timing {
    char name[48];
    const char *group;
    size_t items; /* records, gaps or bytes */
    double seconds[TABLE_ROUNDS];
    size_t rounds;
} timing;

typedef struct fact {
    const char *name;
    char value[512];
} fact;

typedef struct table {
    figure *figures;
    size_t figure_count;
    timing *times;
    size_t times_count;
    const fact *facts; /* about the machine and the programs */
    size_t fact_count;
} table;

/* "OK", "MISSED"; "-" without a must or without a value. */
const char *table_verdict(const figure *f);

void table_print(const table *t, FILE *file);
void table_write_json(const table *t, FILE *file);

#endif
