/** @module What the report of a bundle says, gathered while its events go by. Memory is bounded by what is open and by what a page can show. */
import { sayingOf } from '../../../projections/event-facts.ts'
import type { EventType } from '../../../schemas/event-type.ts'
import { declarationOf } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { addMoney } from '../../../schemas/money.ts'
import type { LedgerEvent } from '../../ledger/ledger.ts'
import { textOf } from '../format.ts'
import { runOf } from '../run-of.ts'

/** Longer lists end in a count of the rest. */
const LISTED_MAX = 200

export interface ListedEvent {
  readonly time: string
  readonly run: string
  readonly type: string
  readonly who: string
  readonly what: string
  readonly eventId: string
}

export class BoundedList<T> {
  readonly items: T[] = []
  total = 0

  add(item: T): void {
    this.total += 1
    if (this.items.length < LISTED_MAX) this.items.push(item)
  }
}

/** Names with how often each was met. Beyond a bound, new names are counted together. */
export class NameCounts {
  readonly #counts = new Map<string, number>()
  others = 0

  add(name: string): void {
    if (this.#counts.has(name) || this.#counts.size < LISTED_MAX)
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
    else this.others += 1
  }

  entries(): readonly (readonly [name: string, count: number])[] {
    return [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))
  }
}

export class ReportFacts {
  readonly actors = new NameCounts()
  readonly principals = new NameCounts()
  readonly agents = new NameCounts()
  readonly types = new NameCounts()
  readonly ends = new NameCounts()
  readonly notable = new BoundedList<ListedEvent>()
  /** Amount by currency. */
  readonly costs = new Map<string, string>()
  tokens = 0
  first: string | undefined
  last: string | undefined
  readonly #openRuns = new Map<string, string>()
  readonly #openCalls = new Map<string, ListedEvent>()

  take(event: LedgerEvent): void {
    const { header, data } = event
    const { type, stream, time } = header
    this.first ??= time
    if (this.last === undefined || time > this.last) this.last = time
    this.types.add(type)
    this.actors.add(header.actor)
    this.principals.add(header.principal ?? header.actor)
    const agent = textOf(data, 'agent')
    if (agent !== undefined) this.agents.add(agent)
    const declared = declarationOf(type)
    if (isNotable(declared, data)) this.notable.add(listed(event))
    const { run, call } = declared?.changes ?? {}
    if (type === 'UsageRecorded') this.#spend(data.usage as JsonObject)
    if (run === 'open') this.#openRuns.set(stream, time)
    else if (run !== undefined) {
      this.ends.add(type)
      this.#openRuns.delete(stream)
    }
    const key = `${stream} ${textOf(data, 'callId')}`
    if (call === 'claimed') this.#openCalls.set(key, listed(event))
    if (call === 'settled') this.#openCalls.delete(key)
  }

  /** Runs that were begun here and have no end, with the time of their start. */
  get openRuns(): BoundedList<readonly [run: string, start: string]> {
    const list = new BoundedList<readonly [string, string]>()
    for (const [stream, start] of this.#openRuns) list.add([runOf(stream) ?? stream, start])
    return list
  }

  get openCalls(): BoundedList<ListedEvent> {
    const list = new BoundedList<ListedEvent>()
    for (const call of this.#openCalls.values()) list.add(call)
    return list
  }

  #spend(usage: JsonObject): void {
    if (typeof usage.tokens === 'number') this.tokens += usage.tokens
    const cost = textOf(usage, 'cost')
    if (cost === undefined) return
    const currency = textOf(usage, 'currency') ?? ''
    this.costs.set(currency, addMoney(this.costs.get(currency) ?? '0', cost))
  }
}

/** What a reader of the report must not miss: what failed, and what its type says is notable. */
function isNotable(declared: EventType | undefined, data: JsonObject): boolean {
  return declared !== undefined && (declared.notable === true || sayingOf(declared, data).outcome === 'failure')
}

function listed({ header, data }: LedgerEvent): ListedEvent {
  const { time, type, id: eventId, stream, actor, principal } = header
  const who = principal === undefined ? actor : `${actor} for ${principal}`
  return { time, type, eventId, run: runOf(stream) ?? stream, who, what: summary(data) }
}

const SUMMARY_MAX_CHARS = 300

/** The few members of a body that say what it is about. */
function summary(data: JsonObject): string {
  const error = (data.error ?? {}) as JsonObject
  const findings = Array.isArray(data.findings) ? (data.findings as readonly JsonObject[]) : []
  const parts = [
    textOf(data, 'agent'),
    textOf(data, 'tool'),
    textOf(data, 'code'),
    textOf(data, 'status'),
    textOf(data, 'outcome'),
    textOf(data, 'reason') ?? textOf(data, 'cause'),
    textOf(data, 'detail'),
    textOf(error, 'message'),
    ...findings.slice(0, 3).map((finding) => `${textOf(finding, 'rule')} at ${textOf(finding, 'path')}`),
  ]
  return parts
    .filter((part) => part !== undefined)
    .join(' · ')
    .slice(0, SUMMARY_MAX_CHARS)
}
