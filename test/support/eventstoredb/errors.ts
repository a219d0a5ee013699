/** @module The errors of a node as its client knows them: a gRPC status and, where the client looks for one, an `exception` beside it. */
import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js'
import { MAX_APPEND_BYTES } from './log.ts'

export type CallError = Partial<StatusObject> & Pick<ServiceError, 'name' | 'message'>

export function callError(code: status, details: string, exception: Readonly<Record<string, string>> = {}): CallError {
  const metadata = new Metadata()
  for (const [key, value] of Object.entries(exception)) metadata.set(key, value)
  return { name: 'Error', message: details, code, details, metadata }
}

export function unavailable(): CallError {
  return callError(status.UNAVAILABLE, 'the node is told to be unavailable')
}

export function streamDeleted(stream: string): CallError {
  return callError(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  })
}

export function tooLarge(): CallError {
  return callError(status.INVALID_ARGUMENT, `Maximum Append Size of ${MAX_APPEND_BYTES} Exceeded.`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(MAX_APPEND_BYTES),
  })
}

/** A follower names the leader where it knows one. */
export function notLeader(leader: number | undefined): CallError {
  if (leader === undefined) return callError(status.UNKNOWN, 'No leader info available in response')
  return callError(status.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': '127.0.0.1',
    'leader-endpoint-port': String(leader),
  })
}

export function invalid(message: string): CallError {
  return callError(status.INVALID_ARGUMENT, message)
}
