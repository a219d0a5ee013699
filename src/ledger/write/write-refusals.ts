/** @module Refusals of the write path itself: the domain was not called, or its decision could not be appended. */
import { type Refusal, refusal } from '../../domain/refusal.ts'
import { OverloadedError } from '../../resources/overloaded-error.ts'
import { ArchiveMissingError } from '../../store/archive-missing-error.ts'
import { type EventStore, StoreUnavailableError, StreamDeletedError } from '../../store/event-store.ts'
import type { Outcome } from '../ledger.ts'
import { DamagedStreamError } from '../read/verified-events.ts'

const IN_FLIGHT_RETRY_MS = 1_000
const FULL_RETRY_MS = 5_000
const CONTENDED_RETRY_MS = 1_000
const UNAVAILABLE_RETRY_MS = 1_000

export function refused(inputs: Refusal): Outcome {
  return { ok: false, refusal: inputs, replayed: false }
}

export function notAttempted(): Refusal {
  return refusal('not-attempted', 'an earlier envelope of this run in the same batch was refused')
}

export function idempotencyInFlight(): Refusal {
  return refusal('idempotency-in-flight', 'a request with this Idempotency-Key is still being carried out', {
    retryAfterMs: IN_FLIGHT_RETRY_MS,
  })
}

export function revisionConflict(expected: number, actual: number): Refusal {
  return refusal(
    'revision-conflict',
    `the run is at revision ${actual}, not ${expected}; read what came between and decide again`,
    { evidence: { expected, actual } },
  )
}

export function keyReused(): Refusal {
  return refusal(
    'idempotency-key-reused',
    'this Idempotency-Key came with another request; a new request needs a new key',
  )
}

export function contended(): Refusal {
  return refusal(
    'contended',
    'the run could not be written: other writers were faster, or the store failed in between, again and again; try once more',
    {
      retryAfterMs: CONTENDED_RETRY_MS,
    },
  )
}

export function appendTooLarge(limit: number, actual: number): Refusal {
  return refusal('append-too-large', 'the sealed events are larger than the store takes in one write', {
    evidence: { limit, actual },
  })
}

export function storeFull(detail: string): Refusal {
  return refusal('store-full', `the store's disk is full (${detail}); nothing was written`, {
    retryAfterMs: FULL_RETRY_MS,
  })
}

export function storeUnavailable(detail: string, retryAfterMs: number): Refusal {
  return refusal('store-unavailable', `the store takes no writes now: ${detail}`, { retryAfterMs })
}

/** The refusal if the store does not accept a write. A store that went backwards accepts no other write either, and waiting does not help. */
export function notTaken(store: Pick<EventStore, 'status'>, detail: string, retryAfterMs: number): Refusal {
  const { loss, detail: why = detail } = store.status()
  return loss === undefined ? storeUnavailable(detail, retryAfterMs) : refusal('store-went-back', why)
}

export function notKnownWritten(store: Pick<EventStore, 'status'>, detail: string): Refusal {
  const what = 'whether it was written is not known yet: repeat it under the same Idempotency-Key'
  return notTaken(store, `${detail}; ${what}`, UNAVAILABLE_RETRY_MS)
}

export function overloaded({ message, retryAfterMs }: OverloadedError): Refusal {
  return refusal('overloaded', message, { retryAfterMs })
}

/** The refusal for an error of the store or of its contents. Any other error is a bug and is rethrown. */
export function loadRefusal(error: unknown, store: EventStore): Refusal {
  if (error instanceof ArchiveMissingError)
    return refusal('archive-missing', error.message, { retryAfterMs: error.retryAfterMs })
  if (error instanceof DamagedStreamError) return refusal('stream-damaged', error.message)
  if (error instanceof StreamDeletedError) return refusal('stream-damaged', error.message)
  if (error instanceof StoreUnavailableError) return notTaken(store, error.message, error.retryAfterMs)
  if (error instanceof OverloadedError) return overloaded(error)
  const status = store.status()
  if (status.state === 'ready' || status.state === 'full') throw error
  return storeUnavailable(status.detail ?? 'the store is not ready', UNAVAILABLE_RETRY_MS)
}
