/** @module The ledger's information about events that do not verify, and about the scrub. */
import type { Caller } from '../../access/caller.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { SealFault } from '../identity/sealer.ts'
import type { LedgerEvent } from '../ledger-event.ts'

/** An event that is recorded as broken. */
export interface IntegrityFault {
  readonly stream: string
  readonly revision: number
  /** The run of the stream, if it belongs to a run. */
  readonly run?: string
  readonly code: string
  /** When it was recorded; RFC 3339, UTC. */
  readonly foundAt: string
  /** When a later complete scrub pass ended without meeting any broken event; RFC 3339, UTC. */
  readonly pastSince?: string
  /** Its loss is acknowledged: the log continued past it. */
  readonly acknowledged?: true
}

/** Events whose loss is acknowledged. */
export interface AcknowledgedEvents {
  readonly stream: string
  /** The first of them. */
  readonly revision: number
  /** The last of them; absent if this process only reads, and knows the first. */
  readonly to?: number
  readonly run?: string
}

export interface IntegrityState {
  /** At most 1,000 recorded faults, in order of stream and revision, and those that could not be recorded. */
  readonly faults: readonly IntegrityFault[]
  /** The losses that were acknowledged, oldest first. */
  readonly acknowledged: readonly AcknowledgedEvents[]
  readonly scrub: {
    /** Maximum duration of a complete pass in days; 0: this process does not scrub. */
    readonly days: number
    /** When the current pass began. */
    readonly passSince?: string
    /** The last pass that read the whole store; `leaves`: number of events of the tenant that it met. */
    readonly lastPass?: { readonly startedAt: string; readonly endedAt: string; readonly leaves: number }
  }
}

/** The tenant of a reader, and the run to which its token is bound. */
interface Reader {
  readonly tenant: string
  readonly run?: string | undefined
}

export interface Integrity {
  /** Reports an event that did not verify in another thread that reads the store. */
  reported(fault: SealFault): void
  state(reader: Reader): IntegrityState
  /**
   * To be called before `state`. A read-only store: reads the recorded faults; a serving ledger follows its store on its own. Rejects with
   * `StoreUnavailableError` while the store cannot be read, since nothing is known of its events then.
   */
  reached(): Promise<void>
  /** Number of events recorded as broken, without repaired ones, plus the losses of the log; without acknowledged ones. Called for every page. */
  broken(reader: Reader): number
  /**
   * Events of a run as they are in the store, each with the result of its own seal check, at most 500 from `from` on; `revision` is that of the last
   * stored event. For people who examine a run that the ledger refuses to read; the events are not verified beyond that.
   */
  eventsAsStored(
    caller: Caller,
    runId: string,
    range: { readonly from: number; readonly to: number },
  ): Promise<
    | { readonly ok: true; readonly value: readonly LedgerEvent[]; readonly revision: number }
    | { readonly ok: false; readonly refusal: Refusal }
  >
  /** Reads the whole store now. Resolves once it has been read and the faults found are recorded. */
  scrub(): Promise<void>
  /** Resolves once the faults that readers found so far are recorded, or could not be. */
  settled(): Promise<void>
}
