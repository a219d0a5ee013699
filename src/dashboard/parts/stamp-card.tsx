/** @module The last time-stamp of the log's checkpoints: the authority, the time and the size that it attests, and the state of time-stamping. */

import type { LedgerStats } from '../../ledger/ledger-stats.ts'
import type { TimestampedCheckpoint } from '../../ledger/log/tenant-logs.ts'
import { sha256Hex } from '../../signing/digests.ts'
import { plural } from '../format.ts'
import { downloadPath } from '../paths.ts'
import { Data, Time } from './data.tsx'
import { Fact } from './fact.tsx'

export interface StampCardProps {
  /** Undefined if no checkpoint that this log continues was time-stamped. */
  readonly stamp: TimestampedCheckpoint | undefined
  readonly stamping: LedgerStats['stamping']
}

export function StampCard({ stamp, stamping }: StampCardProps) {
  return (
    <section class="card" aria-labelledby="stamp-title" id="stamp">
      <h2 id="stamp-title">The last time-stamp</h2>
      {stamping?.late === true && stamping.dueSinceMs !== undefined && (
        <p class="notice notice-warn" role="status">
          A time-stamp has been due since <Time time={timeOf(stamping.dueSinceMs)} />, and none is recorded.
        </p>
      )}
      {stamp === undefined ? (
        <p class="muted">
          {stamping === undefined
            ? 'No authority time-stamps these checkpoints: the times of events rest on the ledger\u2019s own clock (set one with serve --timestamp-url).'
            : 'None is recorded yet: it follows a checkpoint.'}
        </p>
      ) : (
        <Stamp stamp={stamp} />
      )}
      {stamping?.lastFailure !== undefined && (
        <p class="muted">
          The authority last gave no token at <Time time={timeOf(stamping.lastFailure.atMs)} /> (
          {stamping.lastFailure.code}).
        </p>
      )}
    </section>
  )
}

function Stamp({ stamp: { authority, time, size, text, serial } }: { readonly stamp: TimestampedCheckpoint }) {
  return (
    <>
      <dl class="facts">
        <Fact label="Authority">
          <Data text={authority} />
        </Fact>
        <Fact label="Says by">
          <Time time={time} />
        </Fact>
        <Fact label="The log had">{plural(size, 'event')}</Fact>
        <Fact label="Serial number">
          <Data text={serial} />
        </Fact>
        <Fact label="SHA-256 that was stamped">
          <code>{sha256Hex(text)}</code>
        </Fact>
      </dl>
      <p>
        <a href={downloadPath('log/timestamp')} download="timestamp.json">
          Time-stamp to keep
        </a>
      </p>
    </>
  )
}

const timeOf = (ms: number): string => new Date(ms).toISOString()
