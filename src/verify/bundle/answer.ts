/** @module The answer to an auditors' question: every row is made again from the events, and nothing else is a row. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import { BoundedList, type Listed } from './bounded-lists.ts'
import { ANSWER } from './bundle-files.ts'
import { eventOf, headOf } from './event-line.ts'
import type { Row } from './event-rows.ts'
import { type Bundle, jsonOf, linesOf } from './file-text.ts'
import type { LoggedEvent } from './gathered.ts'
import type { LogLine } from './log.ts'
import type { BundlePredicate } from './predicate.ts'
import { isSelected } from './query.ts'
import { AuditAnswer } from './questions.ts'
import { shown } from './shown-text.ts'
import { type About, type Fail, type Found, Stop } from './verdict.ts'

type Logged = readonly [event: LoggedEvent, leaf: number]

/** The rows that these events make, each `[event, leaf]`; `again` begins with the first event once more. */
function* rowsOf(question: AnswerQuestion, tenant: string, again: () => Iterable<Logged>): Generator<Row, void> {
  const answer = new AuditAnswer(question, tenant)
  do for (const [event, leaf] of again()) answer.gather(event, leaf)
  while (answer.nextPass())
  for (const [event, leaf] of again()) yield* answer.rows(event, leaf)
  yield* answer.rest()
}

/** Every event of the log that is not lost with its leaf, and with its body where the bundle holds it. */
function* eventsOfLog(bundle: Bundle, { tenant, complete }: BundlePredicate): Generator<Logged, void> {
  const events = linesOf(bundle, 'events.jsonl', () => {})
  if (headOf(complete) !== undefined) events.next()
  let leaf = -1
  for (const line of linesOf(bundle, 'log.jsonl', () => {})) {
    const header = jsonOf<LogLine>(line, 'log.jsonl')
    leaf += 1
    if (header.lost !== undefined) continue
    const event = isSelected(header, tenant, complete) ? eventOf(events.next().value ?? '') : undefined
    if (event === undefined ? isSelected(header, tenant, complete) : event.headerText !== line)
      throw new Stop(
        'INCOMPLETE',
        'answer-evidence',
        'the answer cannot be checked without every event that it follows from',
      )
    yield [{ header, data: event?.data }, leaf]
  }
}

/** Each line is the row that these events make, in the order of the answer: none is changed, left out, added or moved. */
export function checkAnswer(bundle: Bundle, manifest: BundlePredicate, found: Found, fail: Fail): Listed<Row> {
  const { question, rows } = manifest.answer as NonNullable<BundlePredicate['answer']>
  const lines = linesOf(bundle, ANSWER, fail)
  if (lines.next().value !== JSON.stringify({ answer: question }))
    fail('TAMPERED', 'answer-question', `${ANSWER} answers another question than the one that the manifest names`)
  const listed = new BoundedList<Row>()
  let wrong = 0
  for (const row of rowsOf(question, manifest.tenant, () => eventsOfLog(bundle, manifest))) {
    listed.add(row)
    const { value: line } = lines.next()
    if (line === JSON.stringify(row)) continue
    wrong += 1
    const place = `row ${listed.total} of ${ANSWER}`
    if (wrong > 1) continue
    if (line === undefined)
      fail('INCOMPLETE', 'row-missing', `${place} is missing: these events make one more, ${rowName(row)}`)
    else fail('TAMPERED', 'row', `${place} is not the one that these events make, ${rowName(row)}`)
  }
  if (lines.next().value !== undefined)
    fail('TAMPERED', 'row-foreign', `${ANSWER} has more rows than the ${listed.total} that these events make`)
  if (rows !== listed.total)
    fail('TAMPERED', 'count', `these events make ${listed.total} rows, the manifest counts ${rows}`)
  ;(found.about as About).answer = { question, rows: listed.total }
  return listed
}

const rowName = ({ event, run, key, currency }: Row): string =>
  shown(
    event === undefined
      ? (run ?? [key, currency ?? ''].join(' '))
      : `${event}${run === undefined ? '' : ` of run ${run}`}`,
  )
