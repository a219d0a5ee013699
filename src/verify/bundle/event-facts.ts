/** @module What can be asked of an event, for the answer to an auditors' question. */
import type { EventQuery } from '../../../schemas/event-query.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import type { BundleEvent } from './gathered.ts'
import { hasPart, PART_FIELDS, runOf } from './query.ts'

export const CLAIM = 'ToolCallClaimed'
/** Types that name a call by its id alone: by whom and with what tool it was made, its claim says. */
export const OF_CALLS = [
  ...['ToolCallLeaseRenewed', 'ToolCallSucceeded', 'ToolCallFailed', 'ToolCallInDoubt', 'ToolCallResolved'],
  ...['ResultNotRecorded', 'CompensationSucceeded', 'CompensationFailed', 'CompensationInDoubt', 'ChildRunStarted'],
  ...['BudgetReserved', 'UsageRecorded'],
]
export const HANDED = 'EnvelopeAccepted'
export const REJECTED = 'EnvelopeRejected'
export const REWOUND = 'RunRewound'
export const UNDONE_NOT = ['CompensationFailed', 'CompensationInDoubt']
export const UNDOINGS = [...UNDONE_NOT, 'CompensationSucceeded']
export const RESOLVED = 'ToolCallResolved'
export const ROLLED_BACK = 'RunCompensated'

type Saying = (data: JsonObject) => string | undefined

/** What an event says of what it records, by its type, or by a member of its body. */
export const SAYS: Readonly<Record<string, string | Saying>> = {
  ...{ EnvelopeAccepted: 'accepted', BranchOffered: 'accepted', EnvelopeRejected: 'rejected', RunRewound: 'rewound' },
  ...{ RequestRefused: 'refused', BudgetExceeded: 'refused', ApprovalGranted: 'granted', ApprovalDenied: 'denied' },
  ...{ ApprovalWithdrawn: 'denied', ApprovalExpired: 'expired', ReservationExpired: 'expired' },
  ...{ ToolCallClaimed: 'claimed', ToolCallSucceeded: 'succeeded', ToolCallFailed: 'failed' },
  ...{ ToolCallInDoubt: 'in-doubt', CompensationInDoubt: 'in-doubt', CompensationSucceeded: 'compensated' },
  ...{ CompensationFailed: 'compensation-failed', RunCompleted: 'completed', RunFailed: 'run-failed' },
  BranchReceived: ({ status }) => (['failed', 'refused'].includes(status as string) ? (status as string) : undefined),
  ToolCallResolved: ({ outcome }) =>
    ['executed', 'not-executed', 'compensated'].includes(outcome as string) ? (outcome as string) : undefined,
  RunCompensated: ({ status }) => (ROLLBACKS.includes(status as string) ? 'run-compensated' : undefined),
  UsageRecorded: ({ overshoot }) => (overshoot === undefined ? undefined : 'overshoot'),
}
export const ROLLBACKS = ['COMPENSATED', 'PARTLY_COMPENSATED', 'COMPENSATION_FAILED', 'IN_DOUBT']
const CODED = ['IntegrityFaultFound', 'RequestRefused']
export const onlyText = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined)
/** A member's own text, or within an object of that name the member named as the fact. */
export const factIn = (value: Json | undefined, fact: string): string | undefined =>
  onlyText(isJsonObject(value) ? value[fact] : value)

/** What the claim of a call says of its later events. */
export interface CallClaim {
  readonly agent?: string | undefined
  readonly tool?: string | undefined
}

export interface AskedFacts {
  readonly run: string | undefined
  readonly type: string
  readonly time: string
  readonly actor: string
  readonly kid: string
  readonly principal: string
  readonly agent: string | undefined
  readonly tool: string | undefined
  readonly call: string | undefined
  readonly approval: string | undefined
  readonly reservation: string | undefined
  readonly compensates: string | undefined
  readonly provider: string | undefined
  readonly model: string | undefined
  readonly verdict: string | undefined
  readonly marks: readonly string[] | undefined
  readonly rules: readonly string[]
}

/** What can be asked of an event; `claim` is what its call's claim says. */
export function factsOf({ header, data }: BundleEvent, claim: CallClaim = {}): AskedFacts {
  const { type, time, actor, kid } = header
  const says = Object.hasOwn(SAYS, type) ? SAYS[type] : undefined
  return {
    ...{ run: runOf(header.stream), type, time, actor, kid, principal: header.principal ?? actor },
    agent: factIn(data.agent, 'agent') ?? claim.agent,
    tool: factIn(data.tool, 'tool') ?? claim.tool,
    call: factIn(data.callId, 'call'),
    approval: factIn(data.approvalId, 'approval'),
    reservation: factIn(data.reservationId, 'reservation'),
    compensates: factIn(data.compensates, 'compensates'),
    provider: factIn(data.provider, 'provider') ?? factIn(data.usage, 'provider'),
    model: factIn(data.model, 'model') ?? factIn(data.usage, 'model'),
    verdict: typeof says === 'function' ? says(data) : says,
    marks: says === 'accepted' ? marksIn(data) : undefined,
    rules: rulesIn(type, data).map((rule) => rule.replaceAll('\n', ' ')),
  }
}

function rulesIn(type: string, { code, findings }: JsonObject): readonly string[] {
  if (type === 'BudgetExceeded') return ['budget-exceeded']
  if (CODED.includes(type)) return [onlyText(code) ?? '']
  return Array.isArray(findings)
    ? [...new Set(findings.flatMap((each) => (isJsonObject(each) ? (onlyText(each.rule) ?? []) : [])))]
    : []
}

/** Findings of an accepted handoff that ask for a look, in the order in which a row says them. */
function marksIn(data: JsonObject): readonly string[] | undefined {
  const findings = Array.isArray(data.findings) ? data.findings.filter(isJsonObject) : []
  const marks = []
  if (data.suspectsTotal !== undefined || findings.some(isSuspect)) marks.push('suspect')
  if (findings.some(({ wouldRefuse }) => wouldRefuse === true)) marks.push('would-refuse')
  return marks.length === 0 ? undefined : marks
}

export const isSuspect = ({ suspect, severity }: JsonObject): boolean => suspect === true && severity !== 'info'

type Compared = Exclude<keyof AskedFacts, 'type' | 'time' | 'rules' | 'marks' | 'reservation' | 'compensates'>

/** Members of a filter that are compared as they are. */
const COMPARED = 'run actor principal kid agent tool call approval provider model verdict'.split(
  ' ',
) as readonly Compared[]

/** Whether an event fits a filter, but for its words. */
export function fitsFilter(facts: AskedFacts, filter: EventQuery): boolean {
  const { types, rule, ruleContains, contains, since, until } = filter
  return (
    COMPARED.every((name) => filter[name] === undefined || filter[name] === facts[name]) &&
    PART_FIELDS.every((name) => hasPart(facts[name], filter[`${name}Contains`])) &&
    (contains === undefined || PART_FIELDS.some((name) => hasPart(facts[name], contains))) &&
    (ruleContains === undefined || facts.rules.some((each) => hasPart(each, ruleContains))) &&
    (types === undefined || types.includes(facts.type)) &&
    (rule === undefined || facts.rules.includes(rule)) &&
    (since === undefined || facts.time >= since) &&
    (until === undefined || facts.time < until)
  )
}
