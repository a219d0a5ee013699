/** @module All data about a refused handoff, read together. */
import type { ExtendPolicy } from '../../projections/extend.ts'
import { applyMode } from '../../projections/merge.ts'
import { EVENTS, type EventBody } from '../../schemas/events.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { type ContextDiff, diffContexts } from './diff/context-diff.ts'
import { PROVENANCE_EVENTS_MAX, ProvenanceSearch } from './diff/provenance.ts'
import { type Moment, type MomentQuery, runThen, within } from './moment.ts'
import { orRefused, Refused, type View } from './page.ts'
import { readEvents } from './read-event.ts'
import type { Run } from './run-row.ts'
import { storyFor } from './story/story-cache.ts'
import type { RunStory } from './story/story-parts.ts'

export interface RefusedHandoff {
  readonly run: Run
  readonly moment: Moment | undefined
  /** Revision of the last event of the run now. */
  readonly last: number
  readonly event: LedgerEvent
  readonly envelope: EventBody<'EnvelopeRejected'>
  readonly rewind: { readonly revision: number; readonly body: EventBody<'RunRewound'> } | undefined
  readonly diff: ContextDiff
  readonly before: JsonObject
  /** The step whose context was established before. */
  readonly standing: { readonly step: number; readonly agent: string }
  readonly provenance: ProvenanceSearch | undefined
  readonly story: RunStory
  readonly faults: readonly { readonly code: string; readonly message: string }[]
}

export async function readRefusal(view: View<MomentQuery>, revision: number): Promise<RefusedHandoff> {
  const { deps, caller, run: runId } = view
  const { run, moment, last } = await runThen(view)
  within(moment, revision)
  const [event, after] = await readEvents(deps.ledger, caller, { run: runId, from: revision, to: revision + 1 })
  const envelope = EVENTS.EnvelopeRejected.schema.safeParse(event?.data)
  if (event?.header.type !== 'EnvelopeRejected' || !envelope.success) {
    throw new Refused({ code: 'unknown-step', detail: `Event ${revision} of the run is no refused handoff.` })
  }
  const context = orRefused(await deps.ledger.context(caller, runId, { revision: revision - 1 }))
  const before = context.context
  const rewound =
    run.revision > revision && after?.header.type === 'RunRewound'
      ? EVENTS.RunRewound.schema.safeParse(after.data)
      : undefined
  const { findings } = envelope.data
  const window = { from: Math.max(0, revision - 1_000), to: Math.min(run.revision, revision + 1_000) }
  return {
    run,
    moment,
    last,
    event,
    envelope: envelope.data,
    before,
    rewind: rewound?.success === true ? { revision: revision + 1, body: rewound.data } : undefined,
    diff: diffContexts(before, proposed(before, envelope.data, run.policy), {
      findings,
      supersedes: envelope.data.supersedes,
    }),
    standing: { step: context.step, agent: context.agent },
    provenance: await searchProvenance(view, { before, revision, findings, policy: run.policy }),
    story: await storyFor(deps, caller, { run: runId, revision: run.revision, window, isPast: moment !== undefined }),
    faults: orRefused(await deps.ledger.checkEvent(caller, runId, revision)).faults,
  }
}

/** The context that the handoff would have established. */
function proposed(
  context: JsonObject,
  { payload, mode, add }: EventBody<'EnvelopeRejected'>,
  policy: ExtendPolicy,
): JsonObject {
  return applyMode({ context, payload, mode, policy, add })
}

interface Search {
  readonly before: JsonObject
  readonly revision: number
  readonly findings: readonly { readonly path: string }[]
  readonly policy: ExtendPolicy
}

async function searchProvenance(view: View, search: Search): Promise<ProvenanceSearch | undefined> {
  const { before, revision, findings, policy } = search
  if (revision > PROVENANCE_EVENTS_MAX) return undefined
  const found = new ProvenanceSearch(
    before,
    findings.map(({ path }) => path),
    policy,
  )
  const pages = orRefused(await view.deps.ledger.runEvents(view.caller, view.run, { from: 0, to: revision - 1 }))
  for await (const page of pages) for (const event of page) found.take(event)
  return found
}
