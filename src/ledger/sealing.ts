/**
 * @module Who decides, seals and folds the commands of runs: this thread, or others, each for its part of the runs. What the ledger asks of
 * them, and what they report back.
 */
import type { SealFault } from './identity/sealer.ts'
import type { Ledger } from './ledger.ts'
import type { RunQueries } from './read/queries.ts'
import type { WriteCounts } from './stats.ts'
import type { WritePath } from './write/write-path.ts'

/** The way of commands into their runs. */
export type RunWrites = Pick<WritePath, 'execute' | 'executeInOrder'>

/** Every run belongs to one thread: it alone appends to the run's stream, and is asked for the run's state. */
export interface Sealing {
  readonly writes: RunWrites
  readonly queries: RunQueries
  /** A new key is on record and seals from now on. */
  keysChanged(kid: string): void
  /** Resolves when no command is under way in any thread. */
  drained(): Promise<void>
  /** Takes no more commands, waits for those under way, and ends the threads. */
  end(): Promise<void>
}

/** What belongs to the whole process, and stays with the thread that begins the others. */
export interface SealingHost {
  readonly ledgerId: Ledger['ledgerId']
  /** The key that seals now. */
  readonly kid: () => string
  readonly counts: WriteCounts
  /** An event that was read does not verify. */
  readonly onFault: (fault: SealFault) => void
}

/** Called once the ledger's identity is known. Rejects where a thread cannot begin. */
export type BeginSealing = (host: SealingHost) => Promise<Sealing>
