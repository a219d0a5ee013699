/**
 * @module What went wrong, by the client's `type`: its names and messages say nothing, and its batching path throws bare gRPC errors.
 * Whatever is not known to be an answer is an outage, whose writes may have happened.
 */
import { ErrorType, WrongExpectedVersionError } from '@eventstore/db-client'
import { NO_STREAM, StreamDeletedError } from '../event-store.ts'

/** No answer in time. */
export class NoAnswerError extends Error {
  readonly code = 'no-answer'

  constructor(ms: number) {
    super(`no answer within ${ms} ms`)
    this.name = 'NoAnswerError'
  }
}

const GRPC_UNAVAILABLE = 14

/** A call that was over before its answer came. Another one may be made over the same channel. */
export class CallEndedError extends Error {
  readonly code = GRPC_UNAVAILABLE

  constructor() {
    super('the event store ended the call')
    this.name = 'CallEndedError'
  }
}

const ANSWERS: ReadonlySet<unknown> = new Set([
  ErrorType.STREAM_NOT_FOUND,
  ErrorType.STREAM_DELETED,
  ErrorType.WRONG_EXPECTED_VERSION,
  ErrorType.ACCESS_DENIED,
  ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED,
  ErrorType.INVALID_ARGUMENT,
])

export function typeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined
}

/** The node did not answer, or answered that it cannot now. Its own refusals are no outage. */
export function isOutage(error: unknown): boolean {
  return !(error instanceof StreamDeletedError) && !ANSWERS.has(typeOf(error))
}

export function isUnavailable(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeOf(error) === ErrorType.UNAVAILABLE || code === GRPC_UNAVAILABLE
}

/**
 * After these, and no others, the client opens a new channel by itself: to the leader, where a follower named it. A new client would begin
 * at the follower again, for ever.
 */
export function reconnectsByItself(error: unknown): boolean {
  const type = typeOf(error)
  return isUnavailable(error) || type === ErrorType.NOT_LEADER || type === ErrorType.CANCELLED
}

/**
 * A write that waits too long for its quorum, or a reader too slow for the server's buffer: the client says the same of both. The node is
 * there, and so are the calls beside this one.
 */
export function isTimeout(error: unknown): boolean {
  return typeOf(error) === ErrorType.TIMEOUT
}

/** The server found something that no client knows a word for. */
export function isUnknown(error: unknown): boolean {
  return typeOf(error) === ErrorType.UNKNOWN
}

export function isMissingStream(error: unknown): boolean {
  return typeOf(error) === ErrorType.STREAM_NOT_FOUND
}

export function isDeletedStream(error: unknown): boolean {
  return typeOf(error) === ErrorType.STREAM_DELETED
}

/** The revision that a refused append met; undefined where it was refused for another reason. */
export function actualRevision(error: unknown): number | undefined {
  if (!(error instanceof WrongExpectedVersionError)) return undefined
  return typeof error.actualVersion === 'bigint' ? Number(error.actualVersion) : NO_STREAM
}

export function reasonOf(error: unknown): string {
  const message = error instanceof Error && error.message !== '' ? error.message : undefined
  return message ?? String(typeOf(error) ?? 'no reason given')
}
