/** @module Rows of an answer that are events, each by itself. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { Header } from '../../../schemas/header.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import {
  type AskedFacts,
  type CallClaim,
  CLAIM,
  factIn,
  factsOf,
  fitsFilter,
  onlyText,
  REJECTED,
  REWOUND,
} from './event-facts.ts'
import { MIB } from './file-text.ts'
import { type BundleEvent, hasBody, type LoggedEvent } from './gathered.ts'
import { hexDigest, leafHash } from './hashes.ts'
import { NameTable } from './name-table.ts'
import { Stop } from './verdict.ts'
import { hasPhrases, isSearched, type Phrases, phrasesOf } from './words.ts'

/** A row of an answer, as far as it is made here: what is undefined has no member in its text. */
export type Row = { readonly [name: string]: unknown }

/** An event as an answer lists it. */
export function listedRow({ header, data, beside }: BundleEvent, leaf: number, facts: AskedFacts): Row {
  const { run, type, time, actor, kid, principal: _, ...said } = facts
  const { stream, revision, id, principal, via, clock } = header
  return {
    ...{ leaf, run, revision, type, time, actor, kid, ...said },
    ...(run === undefined && { stream }),
    ...{ event: id, principal, via, clock, digest: hexDigest(leafHash(JSON.stringify(header))) },
    detail: detailOf(data),
    ...beside,
  }
}

const DETAIL_MAX_CHARS = 512
/** What agents and tools wrote stands in events.jsonl. */
const CONTENT = [
  ...['payload', 'args', 'result', 'input', 'output', 'context', 'restored', 'manifest', 'policy', 'evidence'],
  ...['note', 'signature', 'entries', 'snapshot'],
]

function detailOf(data: JsonObject): JsonObject {
  const shownOf = ([name, value]: readonly [name: string, value: Json]): (readonly [string, Json])[] => {
    if (name === 'v') return []
    if (Array.isArray(value) && value.some(isJsonObject)) return [[name, value.length]]
    return !CONTENT.includes(name) && JSON.stringify(value).length <= DETAIL_MAX_CHARS ? [[name, value]] : []
  }
  return Object.fromEntries(Object.entries(data).flatMap(shownOf))
}

/** What claims say of calls, in a bounded number of bytes: names of agents and tools are few, and stand for themselves by number. */
export class Claims {
  #calls = new NameTable(64 * MIB)
  #names = ['']
  #numbers = new Map<string, number>()

  take({ header, data }: BundleEvent): void {
    if (header.type !== CLAIM || onlyText(data.callId) === undefined) return
    const number = (name: string | undefined) => (name === undefined ? 0 : this.#numberOf(name))
    const [agent, tool] = [number(factIn(data.agent, 'agent')), number(factIn(data.tool, 'tool'))]
    this.#calls.set(callName(header, data), agent + 1, tool)
    if (!this.#calls.isWhole || this.#names.length > CLAIM_NAMES_MAX) throw new Stop('UNVERIFIABLE', 'too-large', LARGE)
  }

  of({ header, data }: BundleEvent): CallClaim {
    if (header.type === CLAIM || onlyText(data.callId) === undefined) return {}
    const [agent, tool] = this.#calls.get(callName(header, data)) ?? [1, 0]
    return { agent: this.#names[agent - 1] || undefined, tool: this.#names[tool] || undefined }
  }

  #numberOf(name: string): number {
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    this.#numbers.set(name, this.#names.push(name) - 1)
    return this.#names.length - 1
  }
}

const CLAIM_NAMES_MAX = 100_000
const LARGE =
  'the answer leans on more calls than can be remembered at once: ask of one run, or for types that name no call'
const callName = ({ stream }: Header, { callId }: JsonObject): string => `${callId} ${stream}`

/** How the events of a question are taken. */
export interface EventRowsKind {
  readonly fixed?: EventQuery
  readonly clocked?: boolean
  readonly mark?: string
  readonly rewinds?: boolean
}

interface Waiting {
  readonly row: Row & { rewind?: unknown }
  next?: { readonly stream: string; readonly revision: number } | undefined
}

/** Rows that are events, each by itself. */
export class EventRows {
  #filter: EventQuery
  #phrases: Phrases | undefined
  #words: AnswerQuestion['words']
  #claims = new Claims()
  #isClocked: boolean
  #mark: string | undefined
  #hasRewind: boolean
  /** Rows behind one whose next event of its run has not come yet. */
  #waiting: Waiting[] = []

  constructor(
    { filter, words }: AnswerQuestion,
    { fixed = {}, clocked = false, mark, rewinds = false }: EventRowsKind,
  ) {
    const { text, ...rest } = filter
    this.#filter = { ...rest, ...fixed }
    this.#phrases = text === undefined ? undefined : phrasesOf(text)
    this.#words = words
    this.#isClocked = clocked
    this.#mark = mark
    this.#hasRewind = rewinds
  }

  rows(event: LoggedEvent, leaf: number): Row[] {
    this.#settle(event)
    if (hasBody(event)) {
      this.#claims.take(event)
      const facts = factsOf(event, this.#claims.of(event))
      if (this.#isAnswer(event, facts)) this.#waiting.push(this.#rowOf(event, leaf, facts))
    }
    return this.#ready()
  }

  /** What a row waits for may come behind the last event of the answer. */
  rowsBeyond(event: LoggedEvent): Row[] {
    this.#settle(event)
    return this.#ready()
  }

  #ready(): Row[] {
    const ready = this.#waiting.findIndex(({ next }) => next !== undefined)
    return this.#waiting.splice(0, ready < 0 ? this.#waiting.length : ready).map(({ row }) => row)
  }

  rest(): Row[] {
    return this.#waiting.map(({ row }) => row)
  }

  #isAnswer(event: BundleEvent, facts: AskedFacts): boolean {
    const { header } = event
    if (!fitsFilter(facts, this.#filter) || (this.#isClocked && header.clock === undefined)) return false
    if (this.#mark !== undefined && !facts.marks?.includes(this.#mark)) return false
    return this.#phrases === undefined || (isSearched(header) && hasPhrases(this.#phrases, event, this.#words))
  }

  #rowOf(event: BundleEvent, leaf: number, facts: AskedFacts): Waiting {
    const row = listedRow(event, leaf, facts)
    if (!this.#hasRewind) return { row }
    const { stream, revision, type } = event.header
    return { row: { ...row, rewind: null }, ...(type === REJECTED && { next: { stream, revision: revision + 1 } }) }
  }

  /** What the run's event after a rejection is: it stands right behind, or, where stores interleave, a little later. */
  #settle({ header, data }: LoggedEvent): void {
    const { stream, revision, type, id } = header
    const rejected = this.#waiting.find(({ next }) => next?.stream === stream && next.revision === revision)
    if (rejected === undefined) return
    rejected.next = undefined
    if (type !== REWOUND || data === undefined) return
    const { fromStep = 0, toStep = 0, snapshot = 0 } = data
    rejected.row.rewind = { revision, event: id, fromStep, toStep, snapshot }
  }
}
