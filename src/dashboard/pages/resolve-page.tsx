/** @module One call in doubt: the known facts, and a form to state how it ended. Works without scripts. */
import { z } from 'zod'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { ResolveCall } from '../../../schemas/requests.ts'
import { READ_PAYLOADS, WRITE_RUNS } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import { parseStrictText } from '../../signing/strict-json.ts'
import { seeOther } from '../answer.tsx'
import { openChildren } from '../open-child.ts'
import { orRefused, type Page, pageRoute, type View } from '../page.ts'
import { Crumbs } from '../parts/crumbs.tsx'
import { Data } from '../parts/data.tsx'
import { Fact } from '../parts/fact.tsx'
import { JsonView } from '../parts/json-view.tsx'
import { DOUBTS, resolvePath, runPath, withQuery } from '../paths.ts'

const PATH = '/runs/:run/calls/:call/resolve'
const NO_QUERY = z.object({})
const REASON_MAX_CHARS = 4_000

export const resolvePage = pageRoute({
  path: PATH,
  access: READ_PAYLOADS,
  query: NO_QUERY,
  handle: (view) => shown(view),
})

export const resolveForm = pageRoute({
  method: 'post',
  path: PATH,
  access: WRITE_RUNS,
  query: NO_QUERY,
  handle: async (view) => {
    const { c, deps, caller, run, form } = view
    const resolution = resolutionIn(form)
    if (typeof resolution === 'string') return shown(view, { status: 422, text: resolution })
    const callId = c.req.param('call') ?? ''
    const outcome = await deps.ledger.execute(caller, run, { kind: 'resolve', callId, body: resolution }, {})
    if (outcome.ok) return seeOther(c, withQuery(DOUBTS, { resolved: callId }))
    const { status, remedy } = deps.explain(outcome.refusal.code)
    return shown(view, { status, text: `${outcome.refusal.detail}. ${remedy}` })
  },
})

/** The resolution in the form; an error message if the form is incomplete. */
function resolutionIn(form: ReadonlyMap<string, string>): z.output<typeof ResolveCall> | string {
  const [outcome, reason = '', text = ''] = ['outcome', 'reason', 'result'].map((name) => form.get(name)?.trim())
  if (outcome !== 'executed' && outcome !== 'not-executed') return 'Say whether the call was executed.'
  if (reason === '') return 'Say how you know: it is recorded.'
  if (reason.length > REASON_MAX_CHARS) return `The reason takes at most ${REASON_MAX_CHARS} characters.`
  if (outcome === 'not-executed' && text !== '') return 'What was not executed has no result: leave it empty.'
  const result = text === '' ? { ok: true as const, value: null } : parseStrictText(text)
  if (!result.ok) return 'The result is not JSON: put text in double quotes, such as "p-7".'
  const body = { outcome, evidence: { reason }, ...(outcome === 'executed' && { result: result.value }) }
  const checked = ResolveCall.safeParse(body)
  return checked.success ? checked.data : 'The result cannot be recorded as it is.'
}

interface Fault {
  readonly status: number
  readonly text: string
}

async function shown(view: View, fault?: Fault): Promise<Page> {
  const { c, deps, caller, run } = view
  const callId = c.req.param('call') ?? ''
  const mayRead = mayOpen(READ_PAYLOADS, caller, run)
  const call: JsonObject = mayRead ? orRefused(await deps.ledger.call(caller, run, callId)) : { callId }
  const within = (await openChildren(view, [call])).get(callId)
  return {
    title: 'Resolve a call in doubt',
    nav: 'doubts',
    status: fault?.status ?? 200,
    body: <Body view={view} call={call} fault={fault?.text} within={within} />,
  }
}

function Body({
  view,
  call,
  fault,
  within,
}: {
  readonly view: View
  readonly call: JsonObject
  readonly fault: string | undefined
  /** The open run that does the work of the call. */
  readonly within: string | undefined
}) {
  const { run, caller } = view
  const { callId, tool, args, status, overdue, unknown, resolved } = call
  const isUnsettled = status === undefined || status === 'in-doubt' || overdue === true
  const isOpen = isUnsettled && within === undefined
  return (
    <>
      <Crumbs run={run} here="A call in doubt" />
      <h1>
        <Data text={String(tool ?? 'A call')} />
      </h1>
      {fault !== undefined && (
        <p class="notice notice-bad" role="alert">
          <Data text={fault} />
        </p>
      )}
      <dl class="facts">
        <Fact label="Call">{String(callId)}</Fact>
        {status !== undefined && <Fact label="Status">{overdue === true ? 'its lease is over' : String(status)}</Fact>}
        {unknown !== undefined && <Fact label="Why">{whyOf(unknown)}</Fact>}
      </dl>
      {args !== undefined && (
        <section aria-labelledby="args-title">
          <h2 id="args-title">Arguments</h2>
          <JsonView value={args} />
        </section>
      )}
      {resolved !== undefined && (
        <section aria-labelledby="resolved-title">
          <h2 id="resolved-title">How it was resolved</h2>
          <JsonView value={resolved} />
        </section>
      )}
      {isUnsettled && within !== undefined && (
        <p class="notice">
          The run{' '}
          <a href={runPath(within)}>
            <Data text={within} />
          </a>{' '}
          does the work of this call and is open: its end decides how the call ended. End that run instead.
        </p>
      )}
      {isOpen && mayOpen(WRITE_RUNS, caller, run) && <ResolveForm view={view} callId={String(callId)} />}
      {isOpen && !mayOpen(WRITE_RUNS, caller, run) && (
        <p class="notice">To resolve it, sign in with a token that has the scope {WRITE_RUNS.scopes.join(' or ')}.</p>
      )}
    </>
  )
}

function whyOf(unknown: Json): string {
  const { cause = '', reason = '' } = unknown as JsonObject
  return reason === '' ? String(cause) : `${cause}: ${reason}`
}

/** Values that were typed are kept if the form has to be sent again. */
function ResolveForm({ view: { run, session, form }, callId }: { readonly view: View; readonly callId: string }) {
  const typed = (name: string): string => form.get(name) ?? ''
  const options = [
    ['executed', 'It was executed: the tool did what it was called for'],
    ['not-executed', 'It was not executed'],
  ] as const
  return (
    <form method="post" action={resolvePath(run, callId)} class="stacked">
      <input type="hidden" name="csrf" value={session.csrf} />
      <fieldset>
        <legend>What did you find?</legend>
        {options.map(([value, label]) => (
          <div class="check">
            <input
              id={`outcome-${value}`}
              type="radio"
              name="outcome"
              value={value}
              required
              checked={typed('outcome') === value}
            />
            <label for={`outcome-${value}`}>{label}</label>
          </div>
        ))}
      </fieldset>
      <div>
        <label for="result">Its result as JSON, if it was executed and the result is known</label>
        <textarea id="result" name="result" rows={4} spellcheck={false}>
          {typed('result')}
        </textarea>
      </div>
      <div>
        <label for="reason">How do you know?</label>
        <textarea id="reason" name="reason" rows={3} required maxlength={REASON_MAX_CHARS}>
          {typed('reason')}
        </textarea>
      </div>
      <p class="muted">
        It is recorded with your name, once and for good. Nothing is executed: the run goes on when its program resumes
        it.
      </p>
      <button type="submit" class="button">
        Record it
      </button>
    </form>
  )
}
