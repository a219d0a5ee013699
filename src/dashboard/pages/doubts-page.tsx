/** @module Calls of the whole tenant that are not settled: in doubt, and overdue. A person can find out how they ended, and say so. */
import { z } from 'zod'
import type { JsonObject } from '../../../schemas/json.ts'
import { READ_OWN_PAYLOADS, READ_TENANT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import type { OpenCalls, Unsettled } from '../../ledger/ledger.ts'
import { seeOther } from '../answer.tsx'
import { plural } from '../format.ts'
import { openChildren } from '../open-child.ts'
import { orRefused, pageRoute, type View } from '../page.ts'
import { Data, Time } from '../parts/data.tsx'
import { type Taken, TakenAnswer } from '../parts/taken-answer.tsx'
import { Unreadable } from '../parts/unreadable.tsx'
import { DOUBTS, resolvePath, runPath, withQuery } from '../paths.ts'
import { clipped } from '../visible.ts'

const PAGE_ROWS = 50
const ARGS_CHARS = 200
/** Each row of it has its status. */
const TAKEN: readonly Taken[] = [
  { name: 'open-calls', label: 'Calls without an outcome, with their status: claimed, in-doubt or unanswered' },
]

const Place = z.string().regex(/^[^~]{1,64}~[^~]{1,256}~\d{1,16}$/, 'takes the place that a page before it named')

/** `of`: which of the two lists `after` is a place of; without it, that of the calls in doubt. */
const DoubtsQuery = z.object({
  of: z.enum(['in-doubt', 'overdue']).optional(),
  after: Place.optional(),
  resolved: z.string().max(64).optional(),
})

interface ListText {
  readonly id: string
  /** Completes a heading that begins with the number of calls. */
  readonly what: string
  readonly title: string
  readonly about: string
  readonly none: string
}

const LISTS: Readonly<Record<Unsettled, ListText>> = {
  'in-doubt': {
    id: 'in-doubt',
    what: 'in doubt',
    title: 'In doubt',
    about:
      'It is not known whether these calls were executed, and the record says so. Calls that may be made again are marked; any other is never run again silently. Find out, then say what you found.',
    none: 'No call is in doubt',
  },
  overdue: {
    id: 'overdue',
    what: 'overdue',
    title: 'Overdue',
    about:
      'The lease of these calls is over, and no outcome is recorded. The process that claimed one may still report its outcome; the next command that meets the call puts it in doubt. If you know how a call ended, say so.',
    none: 'No call is overdue',
  },
}

export const doubtsPage = pageRoute({
  path: '/doubts',
  access: READ_OWN_PAYLOADS,
  query: DoubtsQuery,
  handle: async (view) => {
    const { c, caller, query } = view
    if (caller.run !== undefined) return seeOther(c, runPath(caller.run))
    const { after, of = after === undefined ? undefined : 'in-doubt', resolved } = query
    const shown: readonly Unsettled[] = of === undefined ? ['in-doubt', 'overdue'] : [of]
    const lists: Listed[] = []
    for (const each of shown) {
      const list = await readList(view, each, after)
      lists.push({ of: each, ...list, within: await openChildren(view, list.items as readonly JsonObject[]) })
    }
    const unreadable = new Map(lists.flatMap((list) => list.unreadable ?? []).map((run) => [run.runId, run]))
    return {
      title: 'Calls in doubt or overdue',
      nav: 'doubts',
      body: (
        <>
          <Unreadable runs={[...unreadable.values()]} />
          <Doubts lists={lists} isFirst={after === undefined} resolved={resolved} />
          {mayOpen(READ_TENANT, caller) && (
            <TakenAnswer
              view={view}
              question="Calls in doubt or overdue: it is not known whether they were executed"
              answers={TAKEN}
            />
          )}
        </>
      ),
    }
  },
})

interface Listed extends OpenCalls {
  readonly of: Unsettled
  /** Open runs that do the work of a call, by the id of the call. */
  readonly within: ReadonlyMap<string, string>
}

async function readList(
  { deps, caller }: Pick<View, 'deps' | 'caller'>,
  of: Unsettled,
  place: string | undefined,
): Promise<OpenCalls> {
  const [startedAt = '', runId = '', claim = ''] = place?.split('~') ?? []
  const after = place === undefined ? {} : { after: { startedAt, runId, claim: Number(claim) } }
  return orRefused(await deps.ledger.openCalls(caller, { of, limit: PAGE_ROWS, ...after }))
}

interface DoubtsProps {
  readonly lists: readonly Listed[]
  readonly isFirst: boolean
  /** A call that was resolved just before. */
  readonly resolved: string | undefined
}

function Doubts({ lists, isFirst, resolved }: DoubtsProps) {
  return (
    <>
      <div class="page-head">
        <h1>Calls in doubt or overdue</h1>
      </div>
      {resolved !== undefined && (
        <p class="notice notice-good" role="status">
          The resolution of call <Data text={resolved} /> is recorded. Nothing was run: the run goes on when its program
          resumes it, and a rollback is carried on by <code>recover()</code>.
        </p>
      )}
      {lists.map((list) => (
        <CallList list={list} isFirst={isFirst} />
      ))}
    </>
  )
}

function CallList({ list, isFirst }: { readonly list: Listed; readonly isFirst: boolean }) {
  const { of, items, next, total } = list
  const { id, what, title, about, none } = LISTS[of]
  const place = next === undefined ? undefined : `${next.startedAt}~${next.runId}~${next.claim}`
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        {total === undefined
          ? title
          : `${total.isLeast === true ? 'At least ' : ''}${plural(total.calls, 'call')} ${what}`}
      </h2>
      <p class="muted">{about}</p>
      {items.length > 0 && <DoubtTable items={items} within={list.within} />}
      {items.length === 0 && (
        <div class="empty">
          <p class="empty-title">{isFirst && place === undefined ? none : 'None among these runs'}</p>
        </div>
      )}
      <nav class="pager" aria-label={`Pages of calls ${what}`}>
        {!isFirst && <a href={DOUBTS}>Newest</a>}
        {place !== undefined && (
          <a href={withQuery(DOUBTS, { of, after: place })} rel="next">
            Calls of older runs
          </a>
        )}
      </nav>
    </section>
  )
}

function DoubtTable({ items, within }: Pick<Listed, 'items' | 'within'>) {
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
            <DoubtRow item={item} within={within.get(String(item.callId))} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function DoubtRow({ item, within }: { readonly item: JsonObject; readonly within: string | undefined }) {
  const { runId, run, callId, tool, args = null, since, phase, agent, onUnknown } = item
  return (
    <tr>
      <td>
        <Time time={String(since)} />
      </td>
      <th scope="row">
        <Data text={String(tool)} />
        {phase === 'compensation' && <span class="muted"> (undoes a call)</span>}
        {onUnknown === 'retry' && <span class="muted"> (may be made again)</span>}
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
        {within === undefined ? (
          <a class="button" href={resolvePath(String(runId), String(callId))}>
            Resolve
            <span class="visually-hidden">
              {' '}
              the call of <Data text={String(tool)} />
            </span>
          </a>
        ) : (
          <>
            ends with{' '}
            <a href={runPath(within)}>
              <Data text={within} />
            </a>
            , the run within it, which is open
          </>
        )}
      </td>
    </tr>
  )
}
