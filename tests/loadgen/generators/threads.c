/* SPDX-License-Identifier: MIT */
/* Shown in doc/loadgen.md: a thread for each user, and blocking calls. */

#include <stdint.h>
#include <timeweight/timeweight.h>

struct worker {
    tw_recorder *recorder; /* its own */
    int64_t first_due_ns;
    int64_t interval_ns;
    int requests;
};

/* The generator's own. */
int64_t now_ns(void);
void sleep_until(int64_t time_ns);
int32_t send_and_receive(tw_record *record); /* fills in the arrivals */

void *work(void *argument);
int32_t report(struct worker *workers, tw_recorder **recorders, size_t count);

void *work(void *argument)
{
    struct worker *worker = argument;
    for (int i = 0; i < worker->requests; i++) {
        tw_record record;
        tw_record_init(&record, sizeof record);
        record.credit_issued_ns = worker->first_due_ns + i * worker->interval_ns;
        sleep_until(record.credit_issued_ns); /* returns at once if that is past */
        record.start_ns = now_ns();
        record.status = send_and_receive(&record);
        record.end_ns = now_ns();
        if (tw_recorder_append(worker->recorder, &record, 1, sizeof record, 0, NULL) !=
            TW_OK)
            break;
    }
    return NULL;
}

/* All of them together are the run; also while they work. */
int32_t report(struct worker *workers, tw_recorder **recorders, size_t count)
{
    tw_analysis *analysis;
    tw_summary summary = {.struct_size = sizeof summary};
    for (size_t i = 0; i < count; i++)
        recorders[i] = workers[i].recorder;
    int32_t status = tw_analyze(&analysis, recorders, count, NULL);
    if (status != TW_OK)
        return status;
    status = tw_analysis_summary(analysis, TW_EFFECTIVE_LATENCY, &summary);
    tw_analysis_free(analysis);
    return status;
}
