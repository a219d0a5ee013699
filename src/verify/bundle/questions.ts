/** @module The questions whose answer follows from a tenant's log, and which events a bundle with the answer must hold. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import { AccessRows, type AccessRowsKind } from './access-rows.ts'
import { CLAIM, HANDED, OF_CALLS, REJECTED, RESOLVED, REWOUND, ROLLED_BACK, SAYS, UNDOINGS } from './event-facts.ts'
import { EventRows, type EventRowsKind, type Row } from './event-rows.ts'
import { type Form, isCount, isOf, isText, maybe } from './forms.ts'
import type { LoggedEvent } from './gathered.ts'
import { OpenRows, type OpenRowsKind, UndoneRows } from './open-rows.ts'
import type { BundleQuery } from './predicate.ts'
import { present, QUERY } from './query.ts'
import { RunRows, type RunRowsKind } from './run-rows.ts'
import { SpendRows } from './spend-rows.ts'
import { REVIEWED, SuspectRows } from './suspect-rows.ts'

const [BY_RUN, BY_TYPE, BY_WHO, BY_CALL] = [
  ['run', 'runContains'],
  ['types'],
  ['actor', 'actorContains', 'principal', 'principalContains', 'agent', 'agentContains', 'contains'],
  ['tool', 'toolContains', 'call', 'approval'],
]

const [BY_RULE, BY_MODEL, BY_TIME] = [
  ['rule', 'ruleContains'],
  ['provider', 'providerContains', 'model', 'modelContains'],
  ['since', 'until'],
]

const EVERY = [
  ...[...BY_RUN, ...BY_TYPE, ...BY_WHO, ...BY_CALL, ...BY_RULE, 'verdict', ...BY_MODEL, 'kid', ...BY_TIME, 'text'],
]
const RESERVED = [CLAIM, 'BudgetReserved', 'UsageRecorded', 'BudgetReleased', 'ReservationExpired']
const CHARGING = ['RunStarted', HANDED, REJECTED, 'BranchOffered', 'BranchReceived', ...RESERVED]
const CALL_ENDS = ['ToolCallSucceeded', 'ToolCallFailed', RESOLVED, 'CompensationSucceeded', 'CompensationFailed']
const OPEN_CALLS: OpenRowsKind = {
  ...{ begins: CLAIM, member: 'callId', words: ['claimed', 'in-doubt'] },
  ...{ ends: CALL_ENDS, doubts: ['ToolCallInDoubt', 'CompensationInDoubt'] },
}
const OPEN_RESERVATIONS: OpenRowsKind = {
  ...{ begins: 'BudgetReserved', member: 'reservationId', words: ['open', 'expired'] },
  ...{ ends: ['UsageRecorded', 'BudgetReleased'], doubts: ['ReservationExpired'] },
}

/** Makes the rows of one answer. What it leaves out, it has no need of. */
interface RowMaker {
  gather?(event: LoggedEvent, leaf: number): void
  nextPass?(): boolean
  rows(event: LoggedEvent, leaf: number): Iterable<Row>
  rowsBeyond?(event: LoggedEvent): Iterable<Row>
  rest(): Iterable<Row>
}

interface Question extends EventRowsKind, Partial<OpenRowsKind>, RunRowsKind, AccessRowsKind {
  readonly takes: readonly string[]
  readonly needs?: 'text' | 'seed'
  readonly of?: string[]
  readonly starts?: boolean
  readonly reads?: string[]
  readonly Rows: new (question: AnswerQuestion, kind: never, tenant: string) => RowMaker
}

/**
 * The questions whose answer follows from a tenant's log: the filters each takes, the events that its rows are made of (`of`; absent: by the
 * filter), and how.
 */
const QUESTIONS: Readonly<Record<string, Question>> = {
  events: { takes: EVERY, Rows: EventRows },
  search: { takes: EVERY, needs: 'text', Rows: EventRows },
  refusals: {
    takes: [...BY_RUN, ...BY_WHO, ...BY_RULE, 'kid', ...BY_TIME, 'text'],
    ...{ fixed: { types: ['RequestRefused', 'BudgetExceeded'] }, Rows: EventRows },
  },
  overshoots: {
    takes: [...BY_RUN, ...BY_WHO, ...BY_MODEL, ...BY_TIME],
    ...{ fixed: { types: ['UsageRecorded'], verdict: 'overshoot' }, Rows: EventRows },
  },
  'clock-regressions': {
    takes: [...BY_RUN, ...BY_TYPE, ...BY_WHO, 'kid', ...BY_TIME],
    ...{ clocked: true, Rows: EventRows },
  },
  reviews: { takes: [...BY_WHO, 'kid', ...BY_TIME], fixed: { types: ['ReviewSigned'] }, Rows: EventRows },
  rejections: {
    takes: [...BY_RUN, ...BY_WHO, ...BY_RULE, 'kid', ...BY_TIME, 'text'],
    ...{ fixed: { types: [REJECTED] }, rewinds: true, Rows: EventRows },
  },
  'would-refuse': {
    takes: [...BY_RUN, ...BY_WHO, ...BY_RULE, 'kid', ...BY_TIME, 'text'],
    ...{ fixed: { types: [HANDED] }, mark: 'would-refuse', Rows: EventRows },
  },
  suspects: {
    takes: [...BY_RUN, ...BY_WHO, ...BY_RULE, 'kid', ...BY_TIME, 'text'],
    ...{ of: [HANDED, REVIEWED, REWOUND], fixed: { types: [HANDED] }, mark: 'suspect', Rows: SuspectRows },
  },
  violations: {
    takes: [...BY_RUN, ...BY_WHO, 'kid', ...BY_TIME],
    ...{ fixed: { types: [REJECTED, HANDED], rule: 'manifest-violation' }, rewinds: true, Rows: EventRows },
  },
  'open-calls': {
    takes: [...BY_RUN, ...BY_WHO, ...BY_CALL, 'kid', ...BY_TIME],
    ...{ of: [CLAIM, ...CALL_ENDS, ...OPEN_CALLS.doubts], ...OPEN_CALLS, Rows: OpenRows },
  },
  'open-reservations': {
    takes: [...BY_RUN, ...BY_WHO, ...BY_MODEL, ...BY_TIME],
    ...{ of: RESERVED, ...OPEN_RESERVATIONS, Rows: OpenRows },
  },
  'open-compensations': {
    takes: [...BY_RUN, ...BY_WHO, ...BY_CALL, ...BY_TIME],
    ...{ of: [CLAIM, ...UNDOINGS, RESOLVED], Rows: UndoneRows },
  },
  runs: { takes: [...BY_RUN, ...BY_TIME], starts: true, Rows: RunRows },
  'open-runs': { takes: [...BY_RUN, ...BY_TIME], starts: true, isOpen: true, Rows: RunRows },
  sample: { takes: BY_TIME, needs: 'seed', starts: true, Rows: RunRows },
  access: {
    takes: ['actor', 'actorContains', ...BY_RUN, ...BY_TIME],
    ...{ reads: ['AccessRecorded', 'ExportStarted', 'ExportIssued'], Rows: AccessRows },
  },
  verifications: {
    takes: ['actor', 'actorContains', ...BY_RUN, ...BY_TIME],
    ...{ reads: ['AccessRecorded'], verdicts: true, Rows: AccessRows },
  },
  spend: { takes: [...BY_RUN, ...BY_WHO, ...BY_MODEL, ...BY_TIME], of: CHARGING, Rows: SpendRows },
}
/** Those that `AuditAnswer` takes. */
export const PROVABLE_QUESTIONS: readonly string[] = Object.keys(QUESTIONS)
const SPEND_BY = ['run', 'agent', 'model', 'day', 'month', 'tenant']
const FILTER: Form = { ...QUERY }

for (const name of ['verdict', 'rule', 'ruleContains', 'text']) FILTER[name] = maybe(isText)

const QUESTION = {
  ...{ query: isText, filter: isOf(FILTER), by: maybe((by) => SPEND_BY.includes(by as string)), seed: maybe(isText) },
  ...{ asOf: maybe(isCount), words: maybe((words) => words === 2) },
  ...{ estimates: maybe((estimates) => estimates === true), doubts: maybe((doubts) => doubts === 2) },
}

/** Whether a question is one of these, with filters that it takes. */
export function isQuestion(question: unknown): boolean {
  if (!isOf(QUESTION)(question) || !PROVABLE_QUESTIONS.includes(question.query as string)) return false
  const { query, filter, by, seed, estimates, doubts } = question as unknown as AnswerQuestion
  const { takes, needs } = QUESTIONS[query] as Question
  const isWhole = needs === undefined || ((needs === 'seed' ? seed : filter[needs]) ?? '') !== ''
  const isOwn = (query === 'spend' || (by ?? estimates) === undefined) && (query === 'sample' || seed === undefined)
  const isKnown = query === 'open-calls' || doubts === undefined
  return isWhole && isOwn && isKnown && Object.keys(filter).every((name) => takes.includes(name))
}

/**
 * Which events a bundle with the answer must hold, by their headers: those that can be rows, and with `also` whatever else a row or its
 * absence follows from, whoever wrote it and when.
 */
export function eventsBehind({ query, filter }: AnswerQuestion): BundleQuery {
  const { fixed = {}, of, starts, isOpen, reads, rewinds } = QUESTIONS[query] as Question
  const { run, runContains, actor, actorContains, principal, principalContains, kid, since, until, verdict } = filter
  if (of !== undefined) return present({ run, runContains, types: of })
  if (starts) {
    const begun = present({ run, runContains, types: ['RunStarted'], since, until })
    return isOpen ? begun : { ...begun, also: [ROLLED_BACK] }
  }
  if (reads !== undefined) return present({ types: reads, since, until })
  const types = fixed.types ?? filter.types ?? (verdict === undefined ? undefined : typesSaying(verdict))
  const who = { actor, actorContains, principal, principalContains }
  const part = present({ run, runContains, types, ...who, kid, since, until })
  const isOfCalls = types === undefined || types.some((type) => OF_CALLS.includes(type))
  const also = [...(isOfCalls ? [CLAIM] : []), ...(rewinds ? [REWOUND] : [])]
  const isAll = Object.keys(part).every((name) => name === 'run' || name === 'runContains')
  return isAll || also.length === 0 ? part : { ...part, also }
}

/** Types of which some body may say it. */
function typesSaying(verdict: string): string[] {
  return Object.keys(SAYS).filter((type) => SAYS[type] === verdict || typeof SAYS[type] === 'function')
}

/** The answer to a question, made from all events of a log in their order, `data` being there where the bundle holds the event. */
export class AuditAnswer {
  #rows: RowMaker
  /** The answer is made from the leaves before this one. */
  #size: number

  constructor(question: AnswerQuestion, tenant: string) {
    const kind = QUESTIONS[question.query] as Question
    this.#rows = new kind.Rows(question, kind as never, tenant)
    this.#size = question.asOf ?? Number.POSITIVE_INFINITY
  }

  /** Whether rows are known only once all events were gathered. */
  get gathers(): boolean {
    return this.#rows.gather !== undefined
  }

  /** Every event, and again in each further pass. */
  gather(event: LoggedEvent, leaf: number): void {
    if (leaf < this.#size) this.#rows.gather?.(event, leaf)
  }

  /** Whether all events are to be gathered once more. */
  nextPass(): boolean {
    return this.#rows.nextPass?.() ?? false
  }

  /** Every event once more, after the last pass: the rows that are now known, in the order of the answer. */
  rows(event: LoggedEvent, leaf: number): Iterable<Row> {
    return leaf < this.#size ? this.#rows.rows(event, leaf) : (this.#rows.rowsBeyond?.(event) ?? [])
  }

  /** The rows behind the last event. */
  rest(): Iterable<Row> {
    return this.#rows.rest()
  }
}
