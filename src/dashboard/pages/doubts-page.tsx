/** @module Calls in doubt of the whole tenant: only a person can decide how they ended. */
import { z } from 'zod'
import type { JsonObject } from '../../../schemas/json.ts'
import { READ_OWN_PAYLOADS, READ_TENANT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import { seeOther } from '../answer.tsx'
import { orRefused, pageRoute } from '../page.ts'
import { Data, Time } from '../parts/data.tsx'
import { type Taken, TakenAnswer } from '../parts/taken-answer.tsx'
import { Unreadable } from '../parts/unreadable.tsx'
import { DOUBTS, resolvePath, runPath, withQuery } from '../paths.ts'
import { clipped } from '../visible.ts'

const PAGE_ROWS = 50
const ARGS_CHARS = 200
/** Each row of it has its status. */
const TAKEN: readonly Taken[] = [
  { name: 'open-calls', label: 'Calls without an outcome, with their status: claimed or in-doubt' },
]

const Place = z.string().regex(/^[^~]{1,64}~[^~]{1,256}~\d{1,16}$/, 'takes the place that a page before it named')

const DoubtsQuery = z.object({ after: Place.optional(), resolved: z.string().max(64).optional() })

export const doubtsPage = pageRoute({
  path: '/doubts',
  access: READ_OWN_PAYLOADS,
  query: DoubtsQuery,
  handle: async (view) => {
    const { c, deps, caller, query } = view
    if (caller.run !== undefined) return seeOther(c, runPath(caller.run))
    const [startedAt = '', runId = '', claim = ''] = query.after?.split('~') ?? []
    const after = query.after === undefined ? {} : { after: { startedAt, runId, claim: Number(claim) } }
    const { items, next, unreadable } = orRefused(
      await deps.ledger.openCalls(caller, { inDoubt: true, limit: PAGE_ROWS, ...after }),
    )
    const place = next === undefined ? undefined : `${next.startedAt}~${next.runId}~${next.claim}`
    return {
      title: 'Calls in doubt',
      nav: 'doubts',
      body: (
        <>
          <Unreadable runs={unreadable} />
          <Doubts items={items} next={place} isFirst={query.after === undefined} resolved={query.resolved} />
          {mayOpen(READ_TENANT, caller) && (
            <TakenAnswer
              view={view}
              question="Calls in doubt: nobody can tell whether they were executed"
              answers={TAKEN}
            />
          )}
        </>
      ),
    }
  },
})

interface DoubtsProps {
  readonly items: readonly JsonObject[]
  readonly next: string | undefined
  readonly isFirst: boolean
  /** A call that was resolved just before. */
  readonly resolved: string | undefined
}

function Doubts({ items, next, isFirst, resolved }: DoubtsProps) {
  return (
    <>
      <div class="page-head">
        <h1>Calls in doubt</h1>
      </div>
      {resolved !== undefined && (
        <p class="notice notice-good" role="status">
          The resolution of call <Data text={resolved} /> is recorded. Nothing was run: the run goes on when its program
          resumes it, and a rollback is carried on by <code>recover()</code>.
        </p>
      )}
      <p class="muted">
        Nobody can tell whether these were executed, and they are never run again silently. Find out, then say what you
        found.
      </p>
      {items.length === 0 ? <None isFirst={isFirst} isLast={next === undefined} /> : <DoubtTable items={items} />}
      <nav class="pager" aria-label="Pages">
        {!isFirst && <a href={DOUBTS}>Newest</a>}
        {next !== undefined && (
          <a href={withQuery(DOUBTS, { after: next })} rel="next">
            Calls of older runs
          </a>
        )}
      </nav>
    </>
  )
}

function None({ isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean }) {
  return (
    <div class="empty">
      <p class="empty-title">{isFirst && isLast ? 'No call is in doubt' : 'None among these runs'}</p>
    </div>
  )
}

function DoubtTable({ items }: { readonly items: readonly JsonObject[] }) {
  return (
    <div class="table-scroll">
      <table class="listed">
        <thead>
          <tr>
            <th scope="col">Since</th>
            <th scope="col">Tool</th>
            <th scope="col">Arguments</th>
            <th scope="col">Run</th>
            <th scope="col">
              <span class="visually-hidden">Resolve</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <DoubtRow item={item} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function DoubtRow({ item }: { readonly item: JsonObject }) {
  const { runId, run, callId, tool, args = null, since, phase, agent } = item
  return (
    <tr>
      <td>
        <Time time={String(since)} />
      </td>
      <th scope="row">
        <Data text={String(tool)} />
        {phase === 'compensation' && <span class="muted"> (undoes a call)</span>}
        {typeof agent === 'string' && (
          <span class="muted">
            {' '}
            of <Data text={agent} />
          </span>
        )}
      </th>
      <td>
        <code>
          <Data text={clipped(JSON.stringify(args), ARGS_CHARS)} />
        </code>
      </td>
      <td>
        <a href={runPath(String(runId))}>
          <Data text={String(runId)} />
        </a>{' '}
        {run !== runId && (
          <span class="muted">
            <Data text={String(run)} />
          </span>
        )}
      </td>
      <td>
        <a class="button" href={resolvePath(String(runId), String(callId))}>
          Resolve
          <span class="visually-hidden">
            {' '}
            the call of <Data text={String(tool)} />
          </span>
        </a>
      </td>
    </tr>
  )
}
