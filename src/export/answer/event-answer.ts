/**
 * @module The rows of a signed answer, produced from the events alone: each event is read and checked by its seal and its leaf of the log, and lost events are
 * named. No index is involved.
 */
import { type Phrases, parsePhrases, snippetOf } from '../../../projections/search-text.ts'
import type { Header } from '../../../schemas/header.ts'
import { isJsonObject, type JsonObject } from '../../../schemas/json.ts'
import type { Loss } from '../../../schemas/loss.ts'
import { runStream } from '../../../schemas/names.ts'
import { linksOf } from '../../ledger/audit/audit-events.ts'
import type { PlannedQuestion } from '../../ledger/audit/audit-reads.ts'
import type { LeafReading } from '../../ledger/integrity/event-reading.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import { isOfItsType } from '../../ledger/read/parse-record.ts'
import type { Row } from '../../verify/bundle/event-rows.ts'
import type { LoggedEvent } from '../../verify/bundle/gathered.ts'
import { completePart, isSelected } from '../../verify/bundle/query.ts'
import { eventsBehind } from '../../verify/bundle/questions.ts'
import { PAGE_ROWS, questionOf } from './answer-question.ts'
import { type LogAgain, madeRows } from './made-rows.ts'
import { turned } from './turned-rows.ts'

/** One pass over a tenant's history, and the object that checks it. */
export interface JudgedHistory {
  readonly pages: AsyncIterable<readonly LedgerEvent[]>
  readonly reading: LeafReading
}

export interface EventAnswer {
  readonly pages: AsyncIterable<readonly JsonObject[]>
  /** Lost events that were found so far. */
  readonly losses: () => readonly Loss[]
}

/** `history`: returns the history from its first event on, for each call; undefined for an empty log. */
export function eventAnswer(history: () => JudgedHistory | undefined, planned: PlannedQuestion): EventAnswer {
  const { tenant, asOf, newestFirst } = planned
  const { text, run } = planned.question.filter
  const phrases = text === undefined ? undefined : parsePhrases(text)
  const found = new Map<string, Loss>()
  const isAsked = ({ stream }: Loss): boolean =>
    run === undefined || stream === undefined || stream === runStream(tenant, run)
  const question = { ...questionOf(planned), asOf: asOf.treeSize }
  const behind = completePart(eventsBehind(question))
  const log: LogAgain = async function* () {
    const judged = history()
    if (judged === undefined) return
    const { pages, reading } = judged
    for await (const page of pages) {
      for (const event of page) {
        const leaf = reading.take(event)
        if (leaf === undefined) continue
        const { header } = event
        yield [isSelected(header, tenant, behind) ? new ShownEvent(event, phrases) : { header, data: undefined }, leaf]
      }
    }
    reading.end()
    for (const loss of reading.losses.filter(isAsked)) found.set(`${loss.stream} ${loss.revision}`, loss)
  }
  const rows = () => madeRows(log, question, tenant)
  return { pages: inPages(newestFirst ? turned(rows) : rows()), losses: () => [...found.values()] }
}

/** An event whose body no longer fits its type, and whose seal is not valid: it keeps its place but contributes no body, and is named as lost. */
class ShownEvent implements LoggedEvent {
  readonly #event: LedgerEvent
  readonly #phrases: Phrases | undefined

  constructor(event: LedgerEvent, phrases: Phrases | undefined) {
    this.#event = event
    this.#phrases = phrases
  }

  get header(): Header {
    return this.#event.header
  }

  get data(): JsonObject | undefined {
    const { seal, header, data } = this.#event
    return seal === 'valid' || isOfItsType(header.type, data) ? data : undefined
  }

  get beside(): JsonObject {
    const { seal, data, digest } = this.#event
    const snippet = this.#phrases && snippetOf(this.#phrases, data)
    return { digest, ...(seal && { seal }), ...(snippet && { snippet: { ...snippet } }) }
  }
}

/** Yields at least one page, which may be empty. */
async function* inPages(rows: AsyncIterable<Row>): AsyncGenerator<readonly JsonObject[], void> {
  let page: JsonObject[] = []
  for await (const row of rows) {
    page.push(withLinks(row))
    if (page.length < PAGE_ROWS) continue
    yield page
    page = []
  }
  yield page
}

/** Adds links into the API; a bundle's rows do not have them. */
function withLinks(row: Row): JsonObject {
  const { event, run, rewind } = row as JsonObject
  const links = typeof event === 'string' ? linksOf(event) : typeof run === 'string' ? runLinks(run) : undefined
  const back = rewind !== undefined &&
    isJsonObject(rewind) && { rewind: { ...rewind, links: linksOf(String(rewind.event)) } }
  return { ...row, ...back, ...(links && { links }) } as JsonObject
}

const runLinks = (run: string): JsonObject => ({ run: `/v1/runs/${run}`, events: `/v1/runs/${run}/events` })
