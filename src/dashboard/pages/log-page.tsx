/** @module The tenant's log: its size, its signatures, its growth, and the checkpoint to keep outside the ledger. */
import type { Child } from 'hono/jsx'
import { z } from 'zod'
import { CheckpointSigned } from '../../../schemas/events/checkpoint-signed.ts'
import { READ_TENANT, READ_TENANT_RECORDED_BEHIND } from '../../access/access.ts'
import type { IntegrityState } from '../../ledger/integrity/integrity.ts'
import type { LogState } from '../../ledger/log/tenant-logs.ts'
import { toBase64 } from '../../merkle/base64.ts'
import { parseCheckpoint } from '../../merkle/checkpoint.ts'
import { parseNote } from '../../merkle/signed-note.ts'
import { count, plural } from '../format.ts'
import { numberIn } from '../item-members.ts'
import { type Page, pageRoute, type View } from '../page.ts'
import { Data, Time } from '../parts/data.tsx'
import { Fact } from '../parts/fact.tsx'
import { Growth, type GrowthPoint } from '../parts/growth.tsx'
import { IntegrityCard } from '../parts/integrity.tsx'
import { SavedCheckpoint } from '../parts/saved-checkpoint.tsx'
import { StampCard, type StampCardProps } from '../parts/stamp-card.tsx'
import { downloadPath } from '../paths.ts'
import { holdPastedAgainst } from '../saved-checkpoint.ts'
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
