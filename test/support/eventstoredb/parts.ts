/** @module What the services of a protocol node share. */
import type { Cluster } from './cluster.ts'
import type { Faults } from './faults.ts'
import type { EventLog } from './log.ts'

export interface NodeParts {
  readonly log: EventLog
  readonly faults: Faults
  /** Breaks every connection at once. */
  readonly cut: () => void
  readonly port: () => number
  /** Absent: a cluster of one, which leads. */
  readonly cluster?: Cluster
  /** How many appends have come in. */
  appends: number
  /** How many reads and subscriptions. */
  reads: number
  /** Events with their bodies that reads backwards, reads forwards and subscriptions were sent; and words of how far a subscription has looked. */
  readonly sent: { backwards: number; forwards: number; subscription: number; checkpoints: number }
}
