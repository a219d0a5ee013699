/** @module What the services of a protocol node share. */
import type { Faults } from './faults.ts'
import type { EventLog } from './log.ts'

export interface NodeParts {
  readonly log: EventLog
  readonly faults: Faults
  /** Breaks every connection at once. */
  readonly cut: () => void
  /** How many appends have come in. */
  appends: number
}
