/** @module Open suspects: accepted changes without an explanation. Lists for the tenant and for a run, and the form for their review. Works without scripts. */
import { z } from 'zod'
import { Finding } from '../../../schemas/finding.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { ReviewSuspects } from '../../../schemas/requests.ts'
import { COMMENT_MAX_CHARS } from '../../../schemas/value-forms.ts'
import { DECIDE_APPROVALS, READ_ALL_APPROVALS, READ_APPROVALS } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import { seeOther } from '../answer.tsx'
import { plural } from '../format.ts'
import { MomentQuery, momentOf } from '../moment.ts'
import { orRefused, pageRoute, Refused } from '../page.ts'
import { AsItWas } from '../parts/as-it-was.tsx'
import { Crumbs } from '../parts/crumbs.tsx'
import { Data } from '../parts/data.tsx'
import { Item } from '../parts/findings.tsx'
import { Unreadable } from '../parts/unreadable.tsx'
import { eventPath, SUSPECTS, suspectsPath, withQuery } from '../paths.ts'

/** Number of suspects shown; the API and the command line list all. */
const SHOWN = 100

const QueueQuery = z.object({
  /** Cursor of the next page: a run, and the place in its list. */
  place: z
    .string()
    .regex(/^[^~]{1,64}~[^~]{1,256}~\d{0,16}$/, 'takes the place that a page before it named')
    .optional(),
})

export const suspectQueue = pageRoute({
  path: '/suspects',
  access: READ_ALL_APPROVALS,
  query: QueueQuery,
  handle: async ({ deps, caller, query, noted }) => {
    const [startedAt = '', runId = '', after = ''] = query.place?.split('~') ?? []
    const from =
      query.place === undefined ? {} : { from: { startedAt, runId, ...(after !== '' && { after: Number(after) }) } }
    const { items, next, unreadable } = orRefused(await deps.ledger.openSuspects(caller, { limit: SHOWN, ...from }))
    noted.count = items.length
    const place = next === undefined ? undefined : `${next.startedAt}~${next.runId}~${next.after ?? ''}`
    return {
      title: 'Suspects',
      nav: 'suspects',
      body: (
        <>
          <Unreadable runs={unreadable} />
          <Queue suspects={items.map(suspectOf)} place={place} isFirst={query.place === undefined} />
        </>
      ),
    }
  },
})

export const runSuspects = pageRoute({
  path: '/runs/:run/suspects',
  access: READ_APPROVALS,
  query: MomentQuery,
  handle: async (view) => {
    const { deps, caller, run } = view
    const moment = await momentOf(view)
    const found = orRefused(await deps.ledger.suspects(caller, run, { after: -1, limit: SHOWN, at: moment }))
    const suspects = (found.items as Parameters<typeof suspectOf>[0][]).map(suspectOf)
    const mayReview = moment === undefined && mayOpen(DECIDE_APPROVALS, caller, run)
    return {
      title: 'Suspects of a run',
      nav: 'suspects',
      body: (
        <>
          <AsItWas run={run} moment={moment} now={suspectsPath(run)} />
          <Crumbs run={{ runId: run, asOf: moment?.asOf }} here="Suspects" />
          <h1>{plural(Number(found.total), 'open suspect')}</h1>
          <p class="muted">
            Changes that were accepted, that nothing explains, and that nothing is certain of. A later handoff closes
            one by superseding it, by declaring that the place moves, or where a tool has answered the new value since.
          </p>
          <ReviewForm
            run={{ runId: run, asOf: moment?.asOf }}
            suspects={suspects}
            csrf={mayReview ? view.session.csrf : undefined}
          />
          {found.next !== undefined && <p class="muted">The first {suspects.length}; review them to see the next.</p>}
        </>
      ),
    }
  },
})

/** One decision on all marked suspects: a rejection rewinds to before the first of them. */
export const reviewSuspects = pageRoute({
  path: '/runs/:run/suspects',
  method: 'post',
  access: DECIDE_APPROVALS,
  query: z.object({}),
  handle: async ({ c, deps, caller, run, form }) => {
    const suspects = [...form.keys()].filter((name) => name.startsWith(MARK)).map((name) => name.slice(MARK.length))
    if (suspects.length === 0) throw new Refused({ code: 'invalid-body', detail: 'No suspect is marked.' })
    const body = ReviewSuspects.safeParse({
      suspects,
      decision: form.get('decision'),
      reason: form.get('reason')?.trim(),
    })
    if (!body.success) {
      const detail = `Say why, and confirm or reject: ${body.error.issues[0]?.message ?? 'the form says neither'}.`
      throw new Refused({ code: 'invalid-body', detail })
    }
    const outcome = await deps.ledger.execute(caller, run, { kind: 'review', body: body.data }, {})
    if (!outcome.ok) throw new Refused(outcome.refusal)
    return seeOther(c, suspectsPath(run))
  },
})

/** Prefix of the checkboxes' names. */
const MARK = 'suspect:'

interface ReviewFormProps {
  readonly run: { readonly runId: string; readonly asOf: string | undefined }
  readonly suspects: readonly Suspect[]
  /** Absent for a reader who may not review, and for the past. */
  readonly csrf: string | undefined
}

function ReviewForm({ run, suspects, csrf }: ReviewFormProps) {
  if (suspects.length === 0) return <Nothing />
  const list = suspects.map((suspect) => <OneSuspect run={run} suspect={suspect} mayReview={csrf !== undefined} />)
  if (csrf === undefined) return <>{list}</>
  return (
    <form method="post" action={suspectsPath(run.runId)} class="stacked">
      <input type="hidden" name="csrf" value={csrf} />
      {list}
      <div class="card decision">
        <label for="reason">Why, for the record</label>
        <textarea id="reason" name="reason" rows={3} required maxlength={COMMENT_MAX_CHARS}></textarea>
        <p class="muted">
          Your word is signed with your name. Confirmed, the new values stay. Rejected, the run goes back to the context
          before the first of them.
        </p>
        <p>
          <button type="submit" name="decision" value="confirmed" class="button primary">
            Confirm
          </button>{' '}
          <button type="submit" name="decision" value="rejected" class="button">
            Reject and rewind
          </button>
        </p>
      </div>
    </form>
  )
}

function OneSuspect({
  run,
  suspect,
  mayReview,
}: Pick<ReviewFormProps, 'run'> & { readonly suspect: Suspect; readonly mayReview: boolean }) {
  const { id, agent, step, revision, count = 1, rule = 'contradicted', path, message = '', ...said } = suspect
  const { before, after, supersede, declare } = said
  return (
    <section class="suspect" aria-label={`Suspect ${id}`}>
      <p class="check">
        {mayReview && <input type="checkbox" id={`mark-${id}`} name={`${MARK}${id}`} value="on" checked />}{' '}
        <label for={`mark-${id}`} class="strong">
          {id}
        </label>{' '}
        <span class="muted">
          handed over by <Data text={agent} /> in <a href={eventPath(run, revision)}>step {step}</a>
        </span>
      </p>
      {path === '' ? (
        <p class="card">{plural(count, 'further change')} of that handoff, not named one by one</p>
      ) : (
        <ol class="findings">
          <Item
            run={run}
            provenance={undefined}
            finding={{ rule, severity: 'warning', path, message, before, after, supersede, declare }}
          />
        </ol>
      )}
    </section>
  )
}

function Nothing() {
  return (
    <div class="empty">
      <p class="empty-title">No suspect is open</p>
    </div>
  )
}

function Queue({
  suspects,
  place,
  isFirst,
}: {
  readonly suspects: readonly Suspect[]
  readonly place: string | undefined
  readonly isFirst: boolean
}) {
  const runs = Map.groupBy(suspects, ({ runId }) => runId)
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Suspects</h1>
          <p class="muted">Changes in open runs that were accepted and that nothing explains, newest run first.</p>
        </div>
      </div>
      {suspects.length === 0 ? (
        <Nothing />
      ) : (
        <ul>
          {[...runs].map(([runId, ofRun]) => (
            <li>
              <a class="strong" href={suspectsPath(runId)}>
                <Data text={runId} />
              </a>
              {': '}
              {ofRun.map(({ path, agent }, i) => (
                <>
                  {i > 0 && ', '}
                  <code>
                    <Data text={path === '' ? 'further changes' : path} />
                  </code>{' '}
                  <span class="muted">
                    (<Data text={agent} />)
                  </span>
                </>
              ))}
            </li>
          ))}
        </ul>
      )}
      <nav class="pager" aria-label="Pages">
        {!isFirst && <a href={SUSPECTS}>Newest</a>}
        {place !== undefined && (
          <a href={withQuery(SUSPECTS, { place })} rel="next">
            Suspects of older runs
          </a>
        )}
      </nav>
    </>
  )
}

// An open suspect, parsed from the ledger's answers into the types that pages need.

const SuspectSchema = z.object({
  id: z.string(),
  runId: z.string(),
  runName: z.string(),
  step: z.number(),
  revision: z.number(),
  agent: z.string(),
  rule: Finding.shape.rule.optional(),
  path: z.string(),
  /** Number of changes that the entry represents: the unnamed ones of a handoff are combined into one. */
  count: z.number().optional(),
  message: z.string().optional(),
  before: Finding.shape.before,
  after: Finding.shape.after,
  supersede: Finding.shape.supersede,
  declare: Finding.shape.declare,
})

type Suspect = z.output<typeof SuspectSchema>

function suspectOf(item: JsonObject): Suspect {
  return SuspectSchema.parse(item)
}
