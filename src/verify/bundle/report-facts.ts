/** @module What the report says, gathered while the events go by. Memory is bounded by what is open and by what a page can show. */
import type { JsonObject } from '../../../schemas/json.ts'
import { BoundedList, type Listed, NameCounts, OpenList } from './bounded-lists.ts'
import { MIB } from './file-text.ts'
import type { BundleEvent, Gathered } from './gathered.ts'
import { addMoney } from './money.ts'
import { runOf } from './query.ts'

/** What a reader of the report must not miss: types that record a failure or are notable in themselves, as the catalogue of events has it. */
const NOTABLE =
  /^(?:EnvelopeRejected|JudgementRecorded|SuspectReviewed|RunRewound|RequestRefused|BudgetExceeded|Approval.*|Wait.*|Signal.*|ToolCallFailed|ToolCallInDoubt|ToolCallResolved|Compensation.*|RunFailed|RunCompensated|ReservationExpired|RedactionChanged|RunKeyDisclosed|IntegrityFaultFound|LossAcknowledged|ErasureRequested|SubjectErased|Hold.*|ReviewSigned)$/
/** Types that are a failure unless a member of the body says otherwise; reports of earlier verifiers did not list them. */
const SUCCEEDS: Readonly<Record<string, readonly [member: string, values: readonly string[]]>> = {
  ResultNotRecorded: ['', []],
  CaptureGap: ['', []],
  ToolDefinitionsSeen: ['outcome', ['shown']],
  RunLeft: ['because', ['waiting', 'retry']],
  BranchReceived: ['status', ['merged', 'discarded', 'aborted']],
  ForkJoined: ['outcome', ['joined']],
  ExportIssued: ['outcome', ['complete']],
}
const ENDS_CALL = /^(?:ToolCallSucceeded|ToolCallFailed|ToolCallResolved|CompensationSucceeded|CompensationFailed)$/
const ENDS_RUN = /^(?:RunCompleted|RunFailed|RunCompensated)$/

/** An event as the report lists it. */
export interface ListedEvent {
  readonly time: string
  readonly type: string
  readonly eventId: string
  readonly run: string
  readonly who: string
  readonly what: string
}

type OpenRun = readonly [run: string, started: string]

export class ReportFacts implements Gathered {
  actors = new NameCounts()
  principals = new NameCounts()
  agents = new NameCounts()
  types = new NameCounts()
  ends = new NameCounts()
  notable = new BoundedList<ListedEvent>()
  /** Amount by currency. */
  costs = new Map<string, string>()
  tokens = 0
  first: string | undefined = undefined
  last: string | undefined = undefined
  #runs: OpenList<OpenRun>
  #calls: OpenList<ListedEvent>
  #isEarlier: boolean

  /** `isEarlier`: as the first verifier made its report. */
  constructor(isEarlier = false, maxBytes = MIB) {
    this.#isEarlier = isEarlier
    this.#runs = new OpenList(maxBytes)
    this.#calls = new OpenList(maxBytes)
  }

  /** Of what grows with the number of runs and calls. */
  get heldBytes(): number {
    return this.#runs.heldBytes + this.#calls.heldBytes
  }

  take(event: BundleEvent): void {
    const { header, data } = event
    const { type, time } = header
    this.first ??= time
    if (this.last === undefined || time > this.last) this.last = time
    this.types.add(type)
    this.actors.add(header.actor)
    this.principals.add(header.principal ?? header.actor)
    const agent = textOfMember(data, 'agent')
    if (agent !== undefined) this.agents.add(agent)
    if (NOTABLE.test(type) || (!this.#isEarlier && hasFailed(type, data))) this.notable.add(listed(event))
    if (type === 'UsageRecorded') this.#spend(data.usage as JsonObject)
    if (ENDS_RUN.test(type)) this.ends.add(type)
    this.takeAgain(event)
  }

  takeAgain(event: BundleEvent): void {
    const { header, data } = event
    const { type, stream, time } = header
    const call = `${stream} ${textOfMember(data, 'callId')}`
    if (type === 'RunStarted') this.#runs.open(stream, () => [runOf(stream) ?? stream, time])
    if (ENDS_RUN.test(type)) this.#runs.close(stream)
    if (type === 'ToolCallClaimed') this.#calls.open(call, () => listed(event))
    if (ENDS_CALL.test(type)) this.#calls.close(call)
  }

  /** Whether the events have to be taken again, from the first on. What is open is known when this answers false. */
  nextPass(): boolean {
    const unfinished = [this.#runs.nextPass(), this.#calls.nextPass()]
    return unfinished.includes(true)
  }

  /** Runs that were begun here and have no end, with the time of their start. */
  get openRuns(): Listed<OpenRun> {
    return this.#runs.list as Listed<OpenRun>
  }

  get openCalls(): Listed<ListedEvent> {
    return this.#calls.list as Listed<ListedEvent>
  }

  #spend(usage: JsonObject): void {
    if (typeof usage.tokens === 'number') this.tokens += usage.tokens
    const cost = textOfMember(usage, 'cost')
    if (cost === undefined) return
    const currency = textOfMember(usage, 'currency') ?? ''
    this.costs.set(currency, addMoney(this.costs.get(currency) ?? '0', cost))
  }
}

function hasFailed(type: string, data: JsonObject): boolean {
  if (!Object.hasOwn(SUCCEEDS, type)) return false
  const [member, values] = SUCCEEDS[type] as (typeof SUCCEEDS)[string]
  return !values.includes(data[member] as string)
}

function listed({ header, data }: BundleEvent): ListedEvent {
  const { time, type, id: eventId, stream, actor, principal } = header
  const who = principal === undefined ? actor : `${actor} for ${principal}`
  return { time, type, eventId, run: runOf(stream) ?? stream, who, what: summary(data) }
}

export const SUMMARY_MAX_CHARS = 300

/** The few members of a body that say what it is about. */
function summary(data: JsonObject): string {
  const error = (data.error ?? {}) as JsonObject
  const findings = (Array.isArray(data.findings) ? data.findings : []) as readonly JsonObject[]
  const parts = [
    textOfMember(data, 'agent'),
    textOfMember(data, 'tool'),
    textOfMember(data, 'code'),
    textOfMember(data, 'status'),
    textOfMember(data, 'outcome'),
    textOfMember(data, 'reason') ?? textOfMember(data, 'cause'),
    textOfMember(data, 'detail'),
    textOfMember(error, 'message'),
    ...findings.slice(0, 3).map((finding) => `${textOfMember(finding, 'rule')} at ${textOfMember(finding, 'path')}`),
  ]
  return parts
    .filter((part) => part !== undefined)
    .join(' · ')
    .slice(0, SUMMARY_MAX_CHARS)
}

function textOfMember(data: JsonObject, name: string): string | undefined {
  const value = data[name]
  return typeof value === 'string' ? value : undefined
}
