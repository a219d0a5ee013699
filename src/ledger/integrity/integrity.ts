/** @module What the ledger says of events that do not verify, and of the scrub. */
import type { Caller } from '../../access/caller.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { SealFault } from '../identity/sealer.ts'
import type { LedgerEvent } from '../ledger-event.ts'

/** An event on record as broken. */
export interface IntegrityFault {
  readonly stream: string
  readonly revision: number
  /** The run of the stream, where it is a run's. */
  readonly run?: string
  readonly code: string
  /** When it was recorded; RFC 3339, UTC. */
  readonly foundAt: string
  /** When a whole pass of the scrub that began later ended without meeting any broken event; RFC 3339, UTC. */
  readonly pastSince?: string
}

export interface IntegrityState {
  /** At most 1,000, in order of stream and revision. */
  readonly faults: readonly IntegrityFault[]
  readonly scrub: {
    /** A whole pass takes so many days at most; 0: nothing is scrubbed here. */
    readonly days: number
    /** When the pass that is under way began. */
    readonly passSince?: string
    /** The last pass that read the whole store; `leaves`: events of the tenant that it met. */
    readonly lastPass?: { readonly startedAt: string; readonly endedAt: string; readonly leaves: number }
  }
}

/** Its tenant, or the run that its token is bound to. */
interface Reader {
  readonly tenant: string
  readonly run?: string | undefined
}

export interface Integrity {
  /** For whoever reads the store in another thread: an event that did not verify there. */
  reported(fault: SealFault): void
  state(reader: Reader): IntegrityState
  /** Of a store that is only read: what is on record is read before `state` is asked. A ledger that serves follows its store by itself. */
  reached(): Promise<void>
  /** How many events are on record as broken, but for past ones, and where the log stopped: every page asks. */
  broken(reader: Reader): number
  /**
   * Events of a run as they lie in the store, each with what its own seal says, at most 500 from the first one on; `revision` is that of the last
   * one there is. For people who look into a run that the ledger refuses to read: what is made of it rests on nothing.
   */
  eventsAsStored(
    caller: Caller,
    runId: string,
    range: { readonly from: number; readonly to: number },
  ): Promise<
    | { readonly ok: true; readonly value: readonly LedgerEvent[]; readonly revision: number }
    | { readonly ok: false; readonly refusal: Refusal }
  >
  /** Reads the whole store now, and resolves once it is read and what was found is on record. */
  scrub(): Promise<void>
  /** Resolves once what readings found so far is on record, or could not be put there. */
  settled(): Promise<void>
}
