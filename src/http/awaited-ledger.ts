/** @module Placeholder for a ledger that is not open yet: the HTTP edge runs, reports that it is not ready and why, and answers 503 to everything else. */
import type { Ledger } from '../ledger/ledger.ts'
import type { LedgerStats } from '../ledger/ledger-stats.ts'
import type { Tokens } from '../ledger/tokens/tokens.ts'
import { type StoreStatus, StoreUnavailableError } from '../store/event-store.ts'

const RETRY_AFTER_MS = 1_000
const NOTHING_YET: LedgerStats = {
  appendedEvents: 0,
  appends: 0,
  conflicts: 0,
  refusals: {},
  storeFaults: [],
  inFlightAppends: 0,
  cachedRuns: 0,
  integrity: { faults: 0 },
  lagEvents: [],
  stoppedLogs: [],
  holedLogs: [],
  acknowledgedLosses: 0,
  building: [],
  witnessFailures: [],
  stampFailures: [],
}

/** Before the ledger is open, a token gives access to counters and to nothing else, whether it was revoked or not. */
const tokensOf = (unavailable: () => StoreUnavailableError): Tokens => {
  const refuse = (): never => {
    throw unavailable()
  }
  return { revoke: refuse, list: refuse, revocations: () => ({ isRevoked: () => false }) }
}

/** Everything except the status and the counters throws `StoreUnavailableError` with the status's detail. */
export function awaitedLedger(status: () => StoreStatus): Ledger {
  const unavailable = (): StoreUnavailableError => {
    const { detail = 'the ledger is not open yet' } = status()
    return new StoreUnavailableError(detail, RETRY_AFTER_MS)
  }
  const known: Partial<Ledger> = { status, stats: () => NOTHING_YET, tokens: tokensOf(unavailable) }
  return new Proxy(known, {
    get: (target, name) => {
      if (Object.hasOwn(target, name)) return Reflect.get(target, name)
      throw unavailable()
    },
  }) as Ledger
}
