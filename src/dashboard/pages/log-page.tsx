/** @module The tenant's log: its size, its signatures, its growth, and the checkpoint to keep outside the ledger. */
import type { Child } from 'hono/jsx'
import { z } from 'zod'
import { CheckpointSigned } from '../../../schemas/events/checkpoint-signed.ts'
import { READ_TENANT, READ_TENANT_RECORDED_BEHIND } from '../../access/access.ts'
import type { IntegrityState } from '../../ledger/integrity/integrity.ts'
import type { LedgerStats } from '../../ledger/ledger-stats.ts'
import type { LogState, TimestampedCheckpoint } from '../../ledger/log/tenant-logs.ts'
import { toBase64 } from '../../merkle/base64.ts'
import { parseCheckpoint } from '../../merkle/checkpoint.ts'
import { parseNote } from '../../merkle/signed-note.ts'
import { sha256Hex } from '../../signing/digests.ts'
import { count, plural } from '../format.ts'
import { numberIn } from '../item-members.ts'
import { type Page, pageRoute, type View } from '../page.ts'
import { Data, Time } from '../parts/data.tsx'
import { Fact } from '../parts/fact.tsx'
import { IntegrityCard } from '../parts/integrity.tsx'
import { CHECK_CHECKPOINT, downloadPath } from '../paths.ts'
import { type CheckpointVerdict, holdPastedAgainst } from '../saved-checkpoint.ts'
import { auditOf, queryAudit } from './audit-query.ts'

/** Number of checkpoints in the chart and the table, newest last. */
const CHECKPOINTS = 50

export const logPage = pageRoute({
  path: '/log',
  access: READ_TENANT_RECORDED_BEHIND,
  query: z.object({}),
  handle: (view) => logShown(view),
})

/** The same page with the result of comparing a saved checkpoint with the log. */
export const checkCheckpoint = pageRoute({
  method: 'post',
  path: '/log/check',
  access: READ_TENANT,
  query: z.object({}),
  handle: (view) => logShown(view, view.form.get('note') ?? ''),
})

async function logShown(view: View, pasted?: string): Promise<Page> {
  const { deps, caller, session } = view
  const { logs } = deps.ledger
  const compared = logs && pasted !== undefined ? await holdPastedAgainst(logs, caller.tenant, pasted) : undefined
  const stamp = await logs?.timestamp(caller.tenant)
  const points = logs === undefined ? [] : await checkpointsOf(view)
  const note = logs?.checkpoint(caller.tenant)
  const body =
    logs === undefined ? (
      <div class="empty">
        <p class="empty-title">This ledger keeps no log</p>
      </div>
    ) : (
      <LogBody
        state={logs.state(caller.tenant)}
        note={note?.ok === true ? note.value : undefined}
        verifierKey={logs.verifierKey(caller.tenant)}
        points={points}
        stamps={{ stamp: stamp?.ok === true ? stamp.value : undefined, stamping: deps.ledger.stats().stamping }}
        integrity={deps.ledger.integrity.state(caller)}
      >
        <SavedCheckpoint csrf={session.csrf} pasted={pasted ?? ''} verdict={compared} />
      </LogBody>
    )
  return { title: 'Log', nav: 'log', body }
}

/** The newest recorded checkpoints, with their bodies. */
async function checkpointsOf(view: View): Promise<readonly GrowthPoint[]> {
  const filter = { types: ['CheckpointSigned'] }
  const page = await queryAudit(view, { name: 'events', filter }, { limit: CHECKPOINTS, newestFirst: true })
  const oldest = page.items.at(-1)
  if (oldest === undefined) return []
  const points: GrowthPoint[] = []
  const range = { asOf: page.asOf, afterLeaf: (numberIn(oldest, 'leaf') ?? 0) - 1 }
  for await (const events of auditOf(view).matching(view.caller, filter, range)) {
    for (const { header, data } of events) {
      const body = CheckpointSigned.schema.safeParse(data)
      if (body.success) points.push({ time: header.time, size: body.data.size, root: body.data.root })
    }
  }
  return points
}

interface BodyProps {
  readonly state: LogState
  readonly note: string | undefined
  readonly verifierKey: string
  readonly points: readonly GrowthPoint[]
  readonly stamps: StampCardProps
  readonly integrity: IntegrityState
  readonly children: Child
}

function LogBody({ state, note, verifierKey, points, stamps, integrity, children }: BodyProps) {
  const signed = note === undefined ? undefined : parseNote(note)
  const checkpoint = signed === undefined ? undefined : parseCheckpoint(signed.text)
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Log</h1>
          <p class="muted">
            Every event of the tenant is a leaf of one Merkle tree. A checkpoint that you keep elsewhere shows later
            that nothing was cut or rewritten.
          </p>
        </div>
        <div class="deeds">
          <a class="button" href={downloadPath('log/checkpoint')} download="checkpoint.txt">
            Download checkpoint
          </a>
          <a class="button" href={downloadPath('log/key')} download="verifier-key.txt">
            Verifier key
          </a>
        </div>
      </div>
      {state.stopped !== undefined && (
        <div class="notice notice-bad" role="alert">
          <h2>The log has stopped</h2>
          <p>A record does not verify ({state.stopped}). Nothing after it is signed: run countersign verify.</p>
        </div>
      )}
      <dl class="facts">
        <Fact label="Events">{count(state.size)}</Fact>
        <Fact label="Covered by a checkpoint">{count(state.published)}</Fact>
        <Fact label="Waiting for the next">{count(Math.max(0, state.size - state.published))}</Fact>
        <Fact label="Signatures">{signed === undefined ? 'none yet' : plural(signed.signatures.length, 'key')}</Fact>
        {checkpoint !== undefined && (
          <Fact label="Root">
            <code>{toBase64(checkpoint.root)}</code>
          </Fact>
        )}
      </dl>
      <div class="columns columns-even">
        <div class="stack">
          <IntegrityCard state={integrity} />
          <StampCard {...stamps} />
        </div>
        {children}
      </div>
      <section aria-labelledby="growth-title">
        <h2 id="growth-title">Growth</h2>
        {points.length === 0 ? <p class="muted">No checkpoint was signed yet.</p> : <Growth points={points} />}
      </section>
      <div class="columns columns-even">
        <section class="card" aria-labelledby="note-title">
          <h2 id="note-title">The last checkpoint</h2>
          {note === undefined ? (
            <p class="muted">It comes within the delay that the ledger was started with.</p>
          ) : (
            <pre class="json" tabindex={0}>
              <Data text={note} />
            </pre>
          )}
          <p class="muted">Verifier key</p>
          <pre class="json" tabindex={0}>
            <Data text={verifierKey} />
          </pre>
        </section>
        <Checkpoints points={points} />
      </div>
    </>
  )
}

const ROWS = 12

/** In the same form as in a checkpoint's text, so that the two can be compared. */
const rootAsSigned = (digest: string): string => toBase64(Buffer.from(digest.slice('sha256:'.length), 'hex'))

function Checkpoints({ points }: { readonly points: readonly GrowthPoint[] }) {
  return (
    <section class="card" aria-labelledby="checkpoints-title">
      <h2 id="checkpoints-title">Recorded checkpoints</h2>
      <div class="table-scroll">
        <table class="listed">
          <thead>
            <tr>
              <th scope="col">Signed</th>
              <th scope="col" class="number">
                Events
              </th>
              <th scope="col">Root</th>
            </tr>
          </thead>
          <tbody>
            {points
              .slice(-ROWS)
              .reverse()
              .map(({ time, size, root }) => (
                <tr>
                  <td data-label="Signed">
                    <Time time={time} />
                  </td>
                  <td class="number" data-label="Events">
                    {count(size)}
                  </td>
                  <td data-label="Root">
                    <code>{rootAsSigned(root)}</code>
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

// The form for a checkpoint that was saved outside the ledger, and the result of comparing it with the log.

const KINDS = { same: 'good', altered: 'bad', unknown: 'warn' } as const
const HEADS = {
  same: 'The log is the one that was signed then',
  altered: 'The log is not the one that was signed then',
  unknown: 'This says nothing about the log',
} as const

interface SavedCheckpointProps {
  readonly csrf: string
  readonly pasted: string
  readonly verdict: CheckpointVerdict | undefined
}

function SavedCheckpoint({ csrf, pasted, verdict }: SavedCheckpointProps) {
  return (
    <section class="card" aria-labelledby="saved-title" id="saved">
      <h2 id="saved-title">Check a saved checkpoint</h2>
      {verdict !== undefined && (
        <div class={`notice notice-${KINDS[verdict.verdict]}`} role="status">
          <p>
            <strong>{HEADS[verdict.verdict]}.</strong> <Data text={verdict.text} />
          </p>
        </div>
      )}
      <form method="post" action={CHECK_CHECKPOINT}>
        <input type="hidden" name="csrf" value={csrf} />
        <label for="saved-note">
          Paste a checkpoint that you saved, with its signature lines, or a time-stamp: the ledger compares it with its
          log
        </label>
        <textarea id="saved-note" name="note" rows={6} maxlength={30_000} required spellcheck={false} class="mono">
          {pasted}
        </textarea>
        <button type="submit" class="button">
          Check it
        </button>
      </form>
      <p class="muted">
        Here the ledger vouches for itself. To check without trusting it, run{' '}
        <code>countersign verify --checkpoint FILE</code> over the store or a bundle.
      </p>
    </section>
  )
}

// The growth of the log, checkpoint by checkpoint; a table on the page has the same data.

interface GrowthPoint {
  readonly time: string
  readonly size: number
  readonly root: string
}

const WIDTH = 1_200
const HEIGHT = 180
const PAD = { left: 6, right: 6, top: 8, bottom: 8 }

function Growth({ points }: { readonly points: readonly GrowthPoint[] }) {
  const placed = placedPoints(points)
  const last = points.at(-1)
  const first = points[0]
  if (last === undefined || first === undefined) return null
  const bottom = HEIGHT - PAD.bottom
  const line = placed.map(({ x, y }) => `${x},${y}`).join(' ')
  const area = `${placed[0]?.x},${bottom} ${line} ${placed.at(-1)?.x},${bottom}`
  const label = `The log grew from ${count(first.size)} to ${count(last.size)} events between ${first.time} and ${last.time}.`
  return (
    <figure class="growth card">
      <p>{plural(last.size, 'event')} at the top, 0 at the bottom; a dot is a checkpoint</p>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        <line class="growth-axis" x1={PAD.left} y1={bottom} x2={WIDTH - PAD.right} y2={bottom} />
        <polygon class="growth-area" points={area} />
        <polyline class="growth-line" points={line} />
        {placed.map(({ x, y }) => (
          <line class="growth-point" x1={x} y1={y} x2={x} y2={y} />
        ))}
      </svg>
      <figcaption>
        <Time time={first.time} />
        <Time time={last.time} />
      </figcaption>
    </figure>
  )
}

/** By time from left to right; a single moment is at the left. */
function placedPoints(points: readonly GrowthPoint[]): readonly { readonly x: number; readonly y: number }[] {
  const times = points.map(({ time }) => Date.parse(time))
  const start = times[0] ?? 0
  const lengthMs = Math.max(1, (times.at(-1) ?? 0) - start)
  const most = Math.max(1, points.at(-1)?.size ?? 1)
  const [width, height] = [WIDTH - PAD.left - PAD.right, HEIGHT - PAD.top - PAD.bottom]
  return points.map(({ size }, index) => ({
    x: Math.round(PAD.left + (width * ((times[index] ?? start) - start)) / lengthMs),
    y: Math.round(PAD.top + height * (1 - size / most)),
  }))
}

// The last time-stamp of the log's checkpoints: the authority, the time and the size that it attests, and the state of time-stamping.

interface StampCardProps {
  /** Undefined if no checkpoint that this log continues was time-stamped. */
  readonly stamp: TimestampedCheckpoint | undefined
  readonly stamping: LedgerStats['stamping']
}

function StampCard({ stamp, stamping }: StampCardProps) {
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
