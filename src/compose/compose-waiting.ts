/**
 * @module Opens a ledger whose start may take long: a store that is or becomes unavailable is retried until it opens or fails for good, and logs may have to be
 * rebuilt from the whole store.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { IndexProgress } from '../ledger/audit/index-building.ts'
import type { Log } from '../ledger/ports.ts'
import type { Settings } from '../settings/config.ts'
import { isOnServer } from '../settings/places.ts'
import { reasonOf } from '../settings/reason-of.ts'
import { StoreOpenError, StoreUnavailableError } from '../store/event-store.ts'
import { type OpenLedger, openLedger } from './compose.ts'

const AGAIN_MS = 200
const AGAIN_MAX_MS = 5_000
/** For a request over HTTP, in milliseconds: an index that takes longer is reported as being built instead. */
const AUDIT_WAIT_MS = 5_000

export interface Opening {
  /** Rejects for an error that a retry does not fix, such as keys that did not found this ledger, and after `stop`. */
  readonly opened: Promise<OpenLedger>
  /** Resolves as soon as it is known that the start takes long. */
  readonly delayed: Promise<void>
  /** Why the ledger is not open yet: a sentence without its full stop. */
  readonly reason: () => string
  readonly stop: () => void
}

/** Each try repeats all of `openLedger`: another process may have founded the ledger in the meantime. */
export function startOpening(settings: Settings, log: Log, opener: typeof openLedger = openLedger): Opening {
  const stopping = new AbortController()
  let [reason, wasAway] = ['', false]
  let markDelayed: () => void = () => undefined
  const delayed = new Promise<void>((resolve) => {
    markDelayed = resolve
  })
  const onAway = (cause: string): void => {
    if (!wasAway) log.warn({ reason: cause }, 'the store does not answer; the ledger waits for it')
    reason = `the event store does not answer: ${cause}`
    wasAway = true
    markDelayed()
  }
  const onCatchUp = (progress?: IndexProgress): void => {
    const { percent, indexedEvents } = progress ?? { percent: 0, indexedEvents: 0 }
    reason = `the logs are being made from the store: ${percent} %, ${indexedEvents} events so far`
    markDelayed()
  }
  const waiting = { signal: stopping.signal, onAway, onCatchUp }

  const open = async (): Promise<OpenLedger> => {
    for (let tries = 0; ; tries += 1) {
      try {
        const opened = await opener(served(settings), log, waiting)
        if (wasAway) log.info({}, 'the store answers')
        return opened
      } catch (error) {
        if (stopping.signal.aborted || !isOnServer(settings.store) || !isAway(error)) throw error
        onAway(reasonOf(error))
      }
      const waitMs = Math.min(AGAIN_MS * 2 ** tries, AGAIN_MAX_MS) * (0.5 + Math.random() / 2)
      await sleep(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  return { opened: open(), delayed, reason: () => reason, stop: () => stopping.abort() }
}

function served(settings: Settings): Settings {
  return { auditWaitMs: AUDIT_WAIT_MS, ...(settings.readThreads > 1 && { indexingThread: {} }), ...settings }
}

function isAway(error: unknown): boolean {
  return error instanceof StoreUnavailableError || (error instanceof StoreOpenError && error.code === 'store-away')
}
