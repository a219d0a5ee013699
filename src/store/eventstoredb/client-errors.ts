/**
 * @module Classifies errors by the client's `type`: its names and messages are not reliable, and its batching path throws bare gRPC errors. Any error that
 * is not known to be an answer counts as an outage, during which writes may have succeeded.
 */
import { ErrorType, WrongExpectedVersionError } from '@eventstore/db-client'
import { NO_STREAM, StreamDeletedError } from '../event-store.ts'

/** No answer before the deadline. */
export class NoAnswerError extends Error {
  readonly code = 'no-answer'

  constructor(ms: number) {
    super(`no answer within ${ms} ms`)
    this.name = 'NoAnswerError'
  }
}

const GRPC_UNKNOWN = 2
const GRPC_UNAVAILABLE = 14

/** A call ended before its answer arrived. Another call may be made over the same channel. */
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

/** The node did not answer, or answered that it cannot now. Its own refusals are not an outage. */
export function isOutage(error: unknown): boolean {
  return !(error instanceof StreamDeletedError) && !ANSWERS.has(typeOf(error))
}

export function isUnavailable(error: unknown): boolean {
  return typeOf(error) === ErrorType.UNAVAILABLE || codeOf(error) === GRPC_UNAVAILABLE
}

/** Of gRPC. */
function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

/**
 * Only after these errors does the client open a new channel on its own, to the leader if a follower named it. A new client would start at the follower
 * again, indefinitely.
 */
export function reconnectsByItself(error: unknown): boolean {
  const type = typeOf(error)
  return isUnavailable(error) || type === ErrorType.NOT_LEADER || type === ErrorType.CANCELLED
}

/**
 * A write that waits too long for its quorum, or a reader too slow for the server's buffer: the client reports both with the same error. The node is
 * reachable, and concurrent calls are unaffected.
 */
export function isTimeout(error: unknown): boolean {
  return typeOf(error) === ErrorType.TIMEOUT
}

/** The server reported an error that no client has a type for. The client says the same of a call that broke off, which is no answer. */
export function isUnknown(error: unknown): boolean {
  return typeOf(error) === ErrorType.UNKNOWN && codeOf(error) === GRPC_UNKNOWN
}

export function isMissingStream(error: unknown): boolean {
  return typeOf(error) === ErrorType.STREAM_NOT_FOUND
}

export function isDeletedStream(error: unknown): boolean {
  return typeOf(error) === ErrorType.STREAM_DELETED
}

/** The stream's actual revision when an append was refused; undefined if it was refused for another reason. */
export function actualRevision(error: unknown): number | undefined {
  if (!(error instanceof WrongExpectedVersionError)) return undefined
  return typeof error.actualVersion === 'bigint' ? Number(error.actualVersion) : NO_STREAM
}

export function reasonOf(error: unknown): string {
  const message = error instanceof Error && error.message !== '' ? error.message : undefined
  return message ?? String(typeOf(error) ?? 'no reason given')
}
