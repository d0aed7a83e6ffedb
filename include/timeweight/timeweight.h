/* SPDX-License-Identifier: MIT */
#ifndef TIMEWEIGHT_H
#define TIMEWEIGHT_H

/** @file timeweight.h
 *  The whole public interface of libtimeweight; what is not declared here is not API.
 *
 *  Append one tw_record per request to a tw_recorder, call tw_analyze(), and read every
 *  metric of the registry with tw_analysis_summary() and tw_analysis_quantiles(), or
 *  write them all with tw_report_write().
 */

#include <timeweight/allocator.h>
#include <timeweight/analysis.h>
#include <timeweight/arrow.h>
#include <timeweight/export.h>
#include <timeweight/metric.h>
#include <timeweight/record.h>
#include <timeweight/report.h>
#include <timeweight/status.h>
#include <timeweight/version.h>

#endif
