/**
 * @module Sends an append and finds out what became of it. A lost answer is settled by reading on from the expected revision and
 * comparing headers, ids and macs with them; so is every success that was not the first attempt, since the server compares ids only.
 * The same batch at the same expected revision is exact however often it is sent.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ErrorType } from '@eventstore/db-client'
import { type Append, type AppendResult, NO_STREAM } from '../event-store.ts'
import { isAppend } from '../was-written.ts'
import { positionText } from './all-positions.ts'
import { actualRevision, isDeletedStream, isOutage, reasonOf, typeOf } from './client-errors.ts'
import type { Connection } from './connection.ts'
import { type Canonical, toEvents } from './event-form.ts'
import { readHead, readRange } from './stream-reads.ts'
import { type Appended, appendOverCall } from './wire/append-calls.ts'
import type { ServerEvent } from './wire/append-message.ts'

const RETRY_AFTER_MS = 1_000
/**
 * Sent along as a point in time by this machine's clock, and compared with the server's own: a clock that is ten seconds behind would find every
 * append late by the client's default. How long an answer is waited for is the connection's to say, and the server has a limit of its own.
 */
const SERVER_DEADLINE_MS = 3_600_000
const BACKOFF_MS = 25
const BACKOFF_MAX_MS = 400

export interface SenderOptions {
  readonly connection: Connection
  readonly canonical: Canonical
  /** Of a stream that turned out to be deleted: by the server's own refusal (`gone`), or since it counts on where it ended. */
  readonly onDeleted: (stream: string, loss: 'deleted' | 'gone') => void
  /** Whether the node that answers after an outage holds what was acknowledged before it. */
  readonly isHeld?: () => Promise<boolean>
}

/** What a look at the stream says; `absent` may still change while an attempt is under way. */
type Look = AppendResult | 'absent'

/** One attempt: an answer, or the error that leaves it open. */
type Attempt = { readonly answer: AppendResult } | { readonly open: unknown }

/** Rejects with `RangeError` or `TypeError` for what no server would take. */
export async function sendAppend(options: SenderOptions, append: Append): Promise<AppendResult> {
  const { connection } = options
  const events = toEvents(append)
  const wasAway = connection.status.state !== 'ready'
  if (!(await connection.usable()) || (wasAway && !(await isHeld(options)))) return notSent(connection)
  const first = await attempt(options, append, events)
  if ('answer' in first) return first.answer

  const deadlineMs = performance.now() + connection.timings.settleMs
  let lost = first.open
  for (let tries = 0; performance.now() < deadlineMs && !connection.closing.aborted; tries += 1) {
    await sleep(Math.min(BACKOFF_MS * 2 ** tries, BACKOFF_MAX_MS) * Math.random())
    if (!(await connection.whenReady(deadlineMs - performance.now())) || !(await isHeld(options))) break
    try {
      const found = await look(options, append)
      if (found !== 'absent') return found
      const again = await attempt(options, append, events)
      if ('open' in again) lost = again.open
      else if (again.answer.kind === 'appended') continue
      else return await lastLook(options, append, again.answer)
    } catch (error) {
      lost = error
    }
  }
  return { kind: 'unknown', detail: reasonOf(lost) }
}

async function isHeld(options: SenderOptions): Promise<boolean> {
  return (await options.isHeld?.()) ?? true
}

function notSent(connection: Connection): AppendResult {
  const { message, retryAfterMs } = connection.unavailable()
  return { kind: 'unavailable', detail: message, retryAfterMs }
}

async function attempt(options: SenderOptions, append: Append, events: readonly ServerEvent[]): Promise<Attempt> {
  const { stream, expectedRevision, records } = append
  const expected = expectedRevision === NO_STREAM ? undefined : expectedRevision
  const message = { stream, expectedRevision: expected, deadlineMs: Date.now() + SERVER_DEADLINE_MS, events }
  try {
    const result = await options.connection.call((client) => appendOverCall(client, message))
    return { answer: appended(options, result, { stream, end: expectedRevision + records.length }) }
  } catch (error) {
    return isOutage(error) ? { open: error } : { answer: refused(options, error, stream) }
  }
}

/** A stream that was deleted counts on where it ended: what was written there is no beginning, and nothing more may follow it. */
function appended(
  { onDeleted }: SenderOptions,
  { revision, position }: Appended,
  { stream, end }: { readonly stream: string; readonly end: number },
): AppendResult {
  if (position !== undefined && revision === end) {
    return { kind: 'appended', revision, position: positionText(position) }
  }
  onDeleted(stream, 'deleted')
  const detail = `${stream} ends at revision ${revision} and not at ${end}: events of it were deleted on the server`
  return { kind: 'unknown', detail }
}

/** The node's own refusals: nothing was written. */
function refused({ onDeleted }: SenderOptions, error: unknown, stream: string): AppendResult {
  const actual = actualRevision(error)
  if (actual !== undefined) return { kind: 'conflict', actual }
  if (typeOf(error) === ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED) {
    throw new RangeError('the server takes smaller appends than its default: raise its MaxAppendSize')
  }
  if (isDeletedStream(error)) onDeleted(stream, 'gone')
  const detail = isDeletedStream(error) ? deletedStream(stream) : reasonOf(error)
  return { kind: 'unavailable', detail, retryAfterMs: RETRY_AFTER_MS }
}

export function deletedStream(stream: string): string {
  return `${stream} was deleted on the server`
}

async function look({ connection, canonical }: SenderOptions, append: Append): Promise<Look> {
  const { stream, expectedRevision, records } = append
  const range = { from: expectedRevision + 1, to: expectedRevision + records.length }
  const found = await readRange({ connection, canonical }, stream, range)
  if (found.length === 0) return 'absent'
  const last = found.at(-1)
  if (isAppend(found, records) && last !== undefined)
    return { kind: 'appended', revision: last.revision, position: last.position }
  return { kind: 'conflict', actual: await readHead(connection, stream) }
}

/** A later attempt that is refused may be so because an earlier one was written. */
async function lastLook(options: SenderOptions, append: Append, answer: AppendResult): Promise<AppendResult> {
  const found = await look(options, append)
  return found === 'absent' ? answer : found
}
