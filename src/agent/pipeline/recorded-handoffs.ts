/** @module The recorded handoffs and rewinds of a run, with the place in the code that requested each. A pure fold. */
import type { ExtendPolicy } from '../../../projections/extend.ts'
import type { EventBody, RunEventType } from '../../../schemas/events.ts'
import { budgetRefusal } from '../history/budget-refusal.ts'
import type { Problem, RunEvent } from '../runtime/connection.ts'

interface Placed {
  /** Number of events of the run up to and including this one: its revision plus one. */
  readonly index: number
  readonly scope: string | undefined
  /** Undefined if the request did not come from this runtime. */
  readonly occurrence: number | undefined
}

export type HandoffFact = Placed &
  (
    | { readonly kind: 'accepted'; readonly body: EventBody<'EnvelopeAccepted'> }
    | { readonly kind: 'rejected'; readonly body: EventBody<'EnvelopeRejected'> }
    | { readonly kind: 'rewound'; readonly body: EventBody<'RunRewound'> }
  )

export interface RefusedHandoff {
  /** Number of events of the run up to and including this one. */
  readonly index: number
  readonly agent: string
  readonly scope: string | undefined
  readonly occurrence: number | undefined
  /** Digest of the content of the handoff. */
  readonly content: string
  readonly refusal: Problem
}

export interface RecordedHandoffs {
  policy: ExtendPolicy
  readonly facts: HandoffFact[]
  /** Handoffs that the budget refused. */
  readonly refusals: RefusedHandoff[]
  /** Steps with a recorded judgement. */
  readonly judged: Set<number>
  /** Hash of the latest registered manifest, by agent. */
  readonly manifests: Map<string, string>
}

export function noHandoffs(policy: ExtendPolicy): RecordedHandoffs {
  return { policy, facts: [], refusals: [], judged: new Set(), manifests: new Map() }
}

const KINDS = { EnvelopeAccepted: 'accepted', EnvelopeRejected: 'rejected', RunRewound: 'rewound' } as const satisfies {
  readonly [T in RunEventType]?: HandoffFact['kind']
}

export function foldHandoffs(recorded: RecordedHandoffs, { type, data }: RunEvent, index: number): void {
  if (type === 'RunStarted') recorded.policy = (data as unknown as EventBody<'RunStarted'>).policy
  if (type === 'JudgementRecorded') recorded.judged.add(Number(data.step))
  if (type === 'ManifestRegistered') recorded.manifests.set(String(data.agent), String(data.hash))
  if (type === 'BudgetExceeded') foldRefusal(recorded, data as unknown as EventBody<'BudgetExceeded'>, index)
  if (!(type in KINDS)) return
  const kind = KINDS[type as keyof typeof KINDS]
  const { scope, occurrence } = data as { scope?: string; occurrence?: number }
  recorded.facts.push({ index, scope, occurrence, kind, body: data } as unknown as HandoffFact)
}

function foldRefusal(recorded: RecordedHandoffs, body: EventBody<'BudgetExceeded'>, index: number): void {
  if (body.handoff === undefined) return
  const { content, scope, occurrence } = body.handoff
  recorded.refusals.push({ index, agent: body.agent, scope, occurrence, content, refusal: budgetRefusal(body) })
}
