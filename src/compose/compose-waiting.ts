/** @module Opens a ledger whose store may be away at the start, or go away in the middle of it: again and again, until it stands or cannot. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../ledger/ports.ts'
import type { Settings } from '../settings/config.ts'
import { isOnServer } from '../settings/places.ts'
import { reasonOf } from '../settings/reason-of.ts'
import { StoreOpenError, StoreUnavailableError } from '../store/event-store.ts'
import { type OpenLedger, openLedger } from './compose.ts'

const AGAIN_MS = 200
const AGAIN_MAX_MS = 5_000
/** Of somebody who asks over HTTP: an index that takes longer is reported instead. */
const AUDIT_WAIT_MS = 5_000

export interface Opening {
  /** Rejects for what no waiting mends, such as keys that did not found this ledger, and once it is stopped. */
  readonly opened: Promise<OpenLedger>
  /** Resolves as soon as the store is found to be away. */
  readonly away: Promise<void>
  /** Why it is not open yet. */
  readonly reason: () => string
  readonly stop: () => void
}

/** Everything that `openLedger` does is done again at each try: another process may have founded the ledger meanwhile. */
export function startOpening(settings: Settings, log: Log): Opening {
  const stopping = new AbortController()
  let reason = ''
  let markAway: () => void = () => undefined
  const away = new Promise<void>((resolve) => {
    markAway = resolve
  })
  const onAway = (cause: string): void => {
    if (reason === '') log.warn({ reason: cause }, 'the store does not answer; the ledger waits for it')
    reason = cause
    markAway()
  }
  const patience = { signal: stopping.signal, onAway }

  const open = async (): Promise<OpenLedger> => {
    for (let tries = 0; ; tries += 1) {
      try {
        const opened = await openLedger(served(settings), log, patience)
        if (reason !== '') log.info({}, 'the store answers')
        return opened
      } catch (error) {
        if (stopping.signal.aborted || !isOnServer(settings.store) || !isAway(error)) throw error
        onAway(reasonOf(error))
      }
      const waitMs = Math.min(AGAIN_MS * 2 ** tries, AGAIN_MAX_MS) * (0.5 + Math.random() / 2)
      await sleep(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  return { opened: open(), away, reason: () => reason, stop: () => stopping.abort() }
}

function served(settings: Settings): Settings {
  return { auditWaitMs: AUDIT_WAIT_MS, ...(settings.readThreads > 1 && { upkeepThread: {} }), ...settings }
}

function isAway(error: unknown): boolean {
  return error instanceof StoreUnavailableError || (error instanceof StoreOpenError && error.code === 'store-away')
}
