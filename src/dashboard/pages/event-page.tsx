/** @module One event: its signed content, its author, its checks, and its proof. */
import { z } from 'zod'
import { Finding } from '../../../schemas/finding.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { Redacted } from '../../../schemas/redaction.ts'
import { READ_PAYLOADS, READ_TENANT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import { PAGE_HEADERS } from '../headers.ts'
import { type Moment, MomentQuery, momentOf, within } from '../moment.ts'
import { orRefused, pageRoute, type View } from '../page.ts'
import { AsItWas } from '../parts/as-it-was.tsx'
import { Crumbs } from '../parts/crumbs.tsx'
import { Actor, Data, Time } from '../parts/data.tsx'
import { Remarks } from '../parts/findings.tsx'
import { JsonView } from '../parts/json-view.tsx'
import { ProofPanel } from '../parts/proof-panel.tsx'
import { eventPath, refusalPath, runPath } from '../paths.ts'
import { readEvent } from '../read-event.ts'
import { describeEvent, type ToolNames } from '../story/describe.ts'

const NoQuery = z.object({})

/** A revision from the path; for text that is no number, a revision that no run has. */
export function revisionOf({ c }: View): number {
  const text = c.req.param('revision') ?? ''
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.MAX_SAFE_INTEGER
}

export const eventPage = pageRoute({
  path: '/runs/:run/events/:revision',
  access: READ_PAYLOADS,
  query: MomentQuery,
  handle: async (view) => {
    const { caller, deps, run } = view
    const revision = revisionOf(view)
    const moment = await momentOf(view)
    within(moment, revision)
    const { event } = await readEvent(deps.ledger, caller, { run, revision })
    const checked = await deps.ledger.checkEvent(caller, run, revision)
    return {
      title: `${run} event ${revision}`,
      nav: 'runs',
      scripts: ['proof.js', 'zones.js'],
      body: (
        <EventBody
          view={view}
          moment={moment}
          tools={await toolOf(view, event)}
          event={event}
          faults={orRefused(checked).faults}
          last={checked.ok ? checked.revision : revision}
        />
      ),
    }
  },
})

/** An outcome names its call only by id: the call names the tool. */
async function toolOf({ deps, caller, run }: View, { data: { callId } }: LedgerEvent): Promise<ToolNames> {
  const found = typeof callId === 'string' ? await deps.ledger.call(caller, run, callId) : undefined
  const tool = found?.ok === true ? found.value.tool : undefined
  return { spanOf: new Map(typeof tool === 'string' && typeof callId === 'string' ? [[callId, { tool }]] : []) }
}

interface BodyProps {
  readonly view: View
  readonly moment: Moment | undefined
  readonly event: LedgerEvent
  readonly tools: ToolNames
  readonly faults: readonly { readonly code: string; readonly message: string }[]
  readonly last: number
}

function EventBody({ view: { run: runId, caller, deps }, moment, event, tools, faults, last }: BodyProps) {
  const { header, data } = event
  const run = { runId, asOf: moment?.asOf }
  return (
    <>
      <AsItWas run={runId} moment={moment} last={last} now={eventPath(runId, header.revision)} />
      <Crumbs run={run} here={`Event ${header.revision}`} />
      <div class="page-head">
        <div>
          <h1>
            <Data text={describeEvent(event, tools)} />
          </h1>
          <p class="muted">
            {header.type}, event {header.revision} of {runId}
          </p>
          <LeftOut redacted={data.redacted} />
        </div>
        <nav class="pager" aria-label="Neighbouring events">
          {header.revision > 0 && <a href={eventPath(run, header.revision - 1)}>Event {header.revision - 1}</a>}
          {header.revision < (moment?.revision ?? last) && (
            <a href={eventPath(run, header.revision + 1)}>Event {header.revision + 1}</a>
          )}
          {header.type === 'EnvelopeRejected' && (
            <a class="strong" href={refusalPath(run, header.revision)}>
              See why it was refused
            </a>
          )}
          <a href={runPath({ runId, asOf: `event-${header.revision}` })}>The run as it was then</a>
        </nav>
      </div>
      <div class="columns">
        <div>
          <Remarks run={run} findings={remarksOf(event)} />
          <section class="card" aria-labelledby="body-title">
            <h2 id="body-title">Body</h2>
            <JsonView value={data} />
          </section>
        </div>
        <div>
          <ProofPanel
            run={runId}
            revision={header.revision}
            eventId={header.id}
            verifierKey={deps.ledger.logs?.verifierKey(caller.tenant)}
            caller={caller}
            faults={faults}
            kid={header.kid}
          />
          <HeaderCard event={event} />
        </div>
      </div>
    </>
  )
}

/** Findings of an accepted handoff or an offered branch; those of a refused handoff have a separate page. */
function remarksOf({ header, data }: LedgerEvent): readonly Finding[] {
  if (header.type !== 'EnvelopeAccepted' && header.type !== 'BranchOffered') return []
  const { findings } = data
  return Array.isArray(findings) ? findings.flatMap((each) => Finding.safeParse(each).data ?? []) : []
}

/** Members in the order in which they are shown. */
const SHOWN = [
  'id',
  'stream',
  'revision',
  'type',
  'clock',
  'tenant',
  'causation',
  'traceparent',
  'dataDigest',
  'prev',
  'kid',
  'mac',
] as const

function HeaderCard({ event: { header, digest } }: { readonly event: LedgerEvent }) {
  const { actor, principal, via } = header
  const members = header as unknown as JsonObject
  return (
    <section class="card" aria-labelledby="header-title">
      <h2 id="header-title">Header</h2>
      <dl class="members">
        <dt>time</dt>
        <dd>
          <Time time={header.time} />
        </dd>
        <dt>actor</dt>
        <dd>
          <Actor actor={actor} {...(principal !== undefined && { principal })} {...(via !== undefined && { via })} />
        </dd>
        {SHOWN.flatMap((name) => {
          const value = members[name]
          return value === undefined ? [] : [<dt>{name}</dt>, <Member value={String(value)} />]
        })}
        {header.request !== undefined && [<dt>request</dt>, <Member value={header.request.id} />]}
        <dt>digest</dt>
        <Member value={digest} />
      </dl>
    </section>
  )
}

function Member({ value }: { readonly value: string }) {
  return (
    <dd class="mono">
      <Data text={value} />
    </dd>
  )
}

/** The signed texts and the proof, for scripts and for tools that read JSON. */
export const evidenceRoute = pageRoute({
  path: '/runs/:run/events/:revision/evidence',
  access: READ_PAYLOADS,
  query: NoQuery,
  handle: async (view) => {
    const { caller, deps, run } = view
    const { event, before } = await readEvent(deps.ledger, caller, { run, revision: revisionOf(view) })
    const { texts, header } = event
    const logs = mayOpen(READ_TENANT, caller) ? deps.ledger.logs : undefined
    const proof = logs?.proofFile(caller.tenant, header.id)
    const evidence = {
      header: texts.header,
      salt: texts.salt,
      data: texts.data,
      ...(before !== undefined && { before: before.texts.header }),
      ...(proof?.ok === true && { proofFile: proof.value }),
      ...(logs !== undefined && { verifierKey: logs.verifierKey(caller.tenant) }),
    }
    const headers = { ...PAGE_HEADERS, 'content-type': 'application/json' }
    return new Response(JSON.stringify(evidence), { headers })
  },
})

/** Values that a policy left out of an event: their number per rule (RUN-94). */
function LeftOut({ redacted }: { readonly redacted: unknown }) {
  const known = Redacted.safeParse(redacted).data
  if (known === undefined) return null
  return (
    <ul class="chips" aria-label="Left out of the record">
      {Object.entries(known.counts).map(([rule, count]) => (
        <li>
          <span class="chip" title={placesOf(known, rule)}>
            {count === 1 ? '1 value' : `${count} values`} left out by rule <Data text={rule} />
          </span>
        </li>
      ))}
    </ul>
  )
}

const SHOWN_MAX = 10

function placesOf({ values }: Redacted, rule: string): string {
  const places = values.flatMap(({ at, rule: by }) => (by === rule ? [at] : []))
  return `${places.slice(0, SHOWN_MAX).join('\n')}${places.length > SHOWN_MAX ? '\n…' : ''}`
}
