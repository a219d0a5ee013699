/** @module What a session is made of. */
import type { ExtendPolicy } from '../../../projections/extend.ts'
import type { ToolRegistry } from '../calls/tool-spec.ts'
import type { RecordedHistory } from '../history/recorded-history.ts'
import type { PriceTable } from '../models/price-table.ts'
import type { Judge } from '../pipeline/judge.ts'
import type { TokenCounter } from '../pipeline/token-counter.ts'
import type { Connection, Reads } from './connection.ts'
import type { Outer } from './leaving.ts'
import type { OrderedAbort } from './outcome-order.ts'
import type { RunOptions } from './run-options.ts'

export interface SessionOptions {
  readonly runId: string
  /** Recorded start time of the run. */
  readonly startedAt?: string
  readonly registry: ToolRegistry
  /** Absent in a replay: nothing is live, and everything comes from the recorded history. */
  readonly live?: { readonly connection: Connection; readonly fence: number }
  readonly history?: RecordedHistory
  /** Where a replay reads values that are stored outside the events; a live session uses its connection. */
  readonly values?: Reads
  readonly signal?: AbortSignal
  /** Aborts the signal of a replay at the place where the code of the record was aborted. */
  readonly abortAsThen?: OrderedAbort | undefined
  /** Size of the largest value that the ledger accepts; default 8 MiB. */
  readonly valueMaxBytes?: number | undefined
  /** Tools whose calls are claimed before they run (`true`: all), as the ledger says; default: all. */
  readonly claimFirst?: true | readonly string[] | undefined
  /** Policy of a new run; a recorded run has its own in the history. */
  readonly policy?: ExtendPolicy
  readonly counter?: () => Promise<TokenCounter>
  readonly prices?: PriceTable | undefined
  readonly judge?: Judge | undefined
  readonly whenOwned?: RunOptions['whenOwned'] | undefined
  /** Default `wait`. */
  readonly whenWaiting?: 'wait' | 'leave' | undefined
  /** Once it is aborted, the run is left as with `leave`. */
  readonly leaving?: AbortSignal | undefined
  /** The run that this one goes on within. */
  readonly outer?: Outer | undefined
  /** A worker carries the run. */
  readonly isCarried?: boolean
  /** Told when the code makes no request that the record waits for, and when it goes on. */
  readonly onStalled?: ((isStalled: boolean) => void) | undefined
}
