/**
 * @module Sends an append and determines its outcome. If an answer is lost, the outcome is determined by reading after the expected revision and comparing
 * headers, and with them ids and MACs. The same applies to every success after the first attempt, since the server compares ids only. Sending the same
 * batch at the same expected revision again is safe.
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
 * Deadline sent to the server as a point in time by this machine's clock, and compared with the server's own clock: with the client's default, a clock
 * that is ten seconds behind would make every append late. The connection limits how long an answer is waited for, and the server has its own limit.
 */
const SERVER_DEADLINE_MS = 3_600_000
const BACKOFF_MS = 25
const BACKOFF_MAX_MS = 400

export interface SenderOptions {
  readonly connection: Connection
  readonly canonical: Canonical
  /** Called for a stream that turned out to be deleted: by the server's refusal (`gone`), or because its revisions continue where it ended (`deleted`). */
  readonly onDeleted: (stream: string, loss: 'deleted' | 'gone') => void
  /** Whether the node that answers after an outage holds what was acknowledged before it. */
  readonly isHeld?: () => Promise<boolean>
}

/** Result of reading the stream; `absent` may still change while an attempt is in flight. */
type Look = AppendResult | 'absent'

/** Result of one attempt: an answer, or the error that leaves the outcome open. */
type Attempt = { readonly answer: AppendResult } | { readonly open: unknown }

/** Rejects with `RangeError` or `TypeError` for an append that no server would accept. */
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

/** The revisions of a deleted stream continue where it ended: a record written there is not the first of its run, and no append may follow it. */
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

/** Maps the node's own refusals, after which nothing was written. */
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

/** A later attempt may be refused because an earlier one was written. */
async function lastLook(options: SenderOptions, append: Append, answer: AppendResult): Promise<AppendResult> {
  const found = await look(options, append)
  return found === 'absent' ? answer : found
}
