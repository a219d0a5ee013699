/** @module What each alert fires on, in the notation of Prometheus: series of samples 15 s apart, and the alert's labels some time later. */

export interface AlertCase {
  readonly title: string
  readonly alert: string
  /** Samples by metric with its labels; `_` is none, `1+2x3` is 1, 3, 5, 7. */
  readonly series: Readonly<Record<string, string>>
  /** When it is looked at. */
  readonly at: string
  /** Of the alert, beside those that every one has; undefined where it must not fire. */
  readonly labels?: Readonly<Record<string, string>>
}

const post = 'method="post", route="/v1/runs"'
const thread = '0x4 1x4 2x4 4x4'

const fires = (alert: string, title: string, series: AlertCase['series'], at: string, labels = {}): AlertCase => ({
  alert,
  title,
  series,
  at,
  labels,
})
const isQuiet = (alert: string, title: string, series: AlertCase['series'], at: string): AlertCase => ({
  alert,
  title,
  series,
  at,
})

export const ALERT_CASES: readonly AlertCase[] = [
  fires('CountersignDown', 'no answer', { 'up{job="countersign"}': '0x20' }, '3m', { job: 'countersign' }),
  fires(
    'CountersignStoreNotReady',
    'the store is away',
    { 'countersign_store_state{state="unavailable"}': '0 1x20' },
    '3m',
    { state: 'unavailable' },
  ),
  fires('CountersignDiskFull', 'the store is full', { 'countersign_store_state{state="full"}': '0 1x4' }, '1m', {
    state: 'full',
  }),
  fires('CountersignDiskLow', 'a gigabyte left', { 'countersign_disk_free_bytes{folder="data"}': '1e9x40' }, '7m', {
    folder: 'data',
  }),
  fires(
    'CountersignWritesWithoutRoom',
    'the first write without room since the start',
    { [`countersign_http_requests_total{${post}, status="507"}`]: '0x8 1x8' },
    '3m',
  ),
  fires(
    'CountersignStoreFault',
    'the first fault of its kind, whose series begins with it',
    { 'countersign_store_faults_total{operation="fsync", errno="EIO"}': '_x8 1x12' },
    '4m',
    { operation: 'fsync', errno: 'EIO' },
  ),
  fires(
    'CountersignStoreFault',
    'the second fault of its kind',
    { 'countersign_store_faults_total{operation="fsync", errno="EIO"}': '1x80 2x20' },
    '22m',
    { operation: 'fsync', errno: 'EIO' },
  ),
  isQuiet(
    'CountersignStoreFault',
    'a fault of long ago',
    { 'countersign_store_faults_total{operation="fsync", errno="EIO"}': '1x100' },
    '22m',
  ),
  fires('CountersignServerForgets', 'one stream', { countersign_store_forgetting_streams: '0 1x4' }, '1m'),
  fires('CountersignIntegrityFault', 'one broken event', { countersign_integrity_faults: '0 1x4' }, '1m'),
  isQuiet('CountersignIntegrityFault', 'no broken event', { countersign_integrity_faults: '0x4' }, '1m'),
  fires('CountersignLogStopped', 'one log stopped', { countersign_stopped_logs: '0 1x4' }, '1m'),
  isQuiet('CountersignLogStopped', 'no log stopped', { countersign_stopped_logs: '0x4' }, '1m'),
  fires('CountersignStorePositionsLost', 'events are gone', { countersign_store_positions_lost: '0 1x4' }, '1m'),
  fires(
    'CountersignScrubLate',
    'the last pass ended 15 days ago',
    { countersign_scrub_last_pass_timestamp_seconds: '-1300000x4' },
    '1m',
  ),
  fires('CountersignScrubLate', 'no pass for 15 days', { countersign_uptime_seconds: '1300000x4' }, '1m'),
  isQuiet(
    'CountersignScrubLate',
    'a pass in each week of a long life',
    { countersign_scrub_last_pass_timestamp_seconds: '-600000x4', countersign_uptime_seconds: '9000000x4' },
    '1m',
  ),
  fires(
    'CountersignFollowerLags',
    'far behind for ten minutes',
    { 'countersign_follower_lag_events{follower="audit"}': '20000x60' },
    '12m',
    { follower: 'audit' },
  ),
  fires(
    'CountersignCheckpointsLate',
    'nothing covered since 40 minutes',
    { countersign_checkpoints_current_timestamp_seconds: '0x200' },
    '40m',
  ),
  fires(
    'CountersignCheckpointsLate',
    'never covered since a start 40 minutes ago',
    { countersign_uptime_seconds: '0+15x200', countersign_checkpoint_interval_seconds: '300x200' },
    '40m',
  ),
  isQuiet(
    'CountersignCheckpointsLate',
    'no checkpoints are wanted',
    { countersign_uptime_seconds: '0+15x200', countersign_checkpoint_interval_seconds: '0x200' },
    '40m',
  ),
  fires(
    'CountersignWitnessFails',
    'refused again and again',
    { 'countersign_witness_failures_total{witness="w", code="conflict"}': '0+1x20' },
    '4m',
    { witness: 'w', code: 'conflict' },
  ),
  fires(
    'CountersignTimestampsFail',
    'an hour without one',
    { 'countersign_timestamp_failures_total{authority="a", code="unreachable"}': '0+1x300' },
    '70m',
    { authority: 'a', code: 'unreachable' },
  ),
  fires(
    'CountersignTimestampsLate',
    'due for 40 minutes',
    { countersign_timestamp_due_timestamp_seconds: '0x200' },
    '40m',
  ),
  fires('CountersignCallsInDoubt', 'a call stays in doubt', { countersign_calls_in_doubt: '1x80' }, '17m'),
  fires('CountersignCallsOverdue', 'nobody carries the runs on', { countersign_calls_overdue: '2x320' }, '70m'),
  isQuiet('CountersignCallsOverdue', 'a worker carries them on', { countersign_calls_overdue: '2x80 0x200' }, '65m'),
  fires('CountersignReaderDies', 'four ends', { countersign_reader_deaths_total: thread }, '4m'),
  fires('CountersignIndexingDies', 'four ends', { countersign_indexing_deaths_total: thread }, '4m'),
  fires(
    'CountersignMemoryShareFull',
    'refusals for a while',
    { 'countersign_memory_share_refusals{share="streams"}': '0x4 1+1x60' },
    '14m',
    { share: 'streams' },
  ),
  fires(
    'CountersignServerErrors',
    'the first 500 of a route since the start',
    { [`countersign_http_requests_total{${post}, status="500"}`]: '0x8 1x8' },
    '3m',
    { route: '/v1/runs' },
  ),
  fires(
    'CountersignSlowWrites',
    'two seconds each',
    {
      [`countersign_http_request_seconds_bucket{${post}, le="1"}`]: '0x100',
      [`countersign_http_request_seconds_bucket{${post}, le="2.5"}`]: '0+10x100',
      [`countersign_http_request_seconds_bucket{${post}, le="+Inf"}`]: '0+10x100',
    },
    '20m',
  ),
  fires(
    'CountersignTokensRefused',
    'two a second',
    { [`countersign_http_requests_total{${post}, status="401"}`]: '0+30x100' },
    '22m',
  ),
  fires(
    'CountersignWebhookBehind',
    'an event waits for 1,000 s',
    { countersign_webhook_oldest_undelivered_seconds: '1000x20' },
    '3m',
  ),
  fires(
    'CountersignWebhookGaveUp',
    'one event',
    { 'countersign_webhook_deliveries_total{outcome="given-up"}': '0x4 1x4' },
    '2m',
    { outcome: 'given-up' },
  ),
]
