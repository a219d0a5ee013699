/** @module A description of the machine in one line, without which the figures mean nothing. */
import { cpus, loadavg } from 'node:os'
import { sqliteVersion } from './raw-sqlite.ts'

export interface Machine {
  readonly cores: number
  readonly cpu: string
  readonly node: string
  readonly sqlite: string
  /** Load average of the last minute before this run. */
  readonly load: number
}

/** Load per core from which on the figures should not be quoted. */
const BUSY_SHARE = 0.25

export function describeMachine(): Machine {
  const processors = cpus()
  return {
    cores: processors.length,
    cpu: processors[0]?.model.trim() ?? 'unknown',
    node: process.versions.node,
    sqlite: sqliteVersion(),
    load: loadavg()[0] ?? 0,
  }
}

export function machineLine({ cores, cpu, node, sqlite, load }: Machine): string {
  return `machine: ${cores} cores (${cpu}), node ${node}, sqlite ${sqlite}, load before ${load.toFixed(2)}`
}

/** The ledger uses two threads, and the server runs next to its client; what they are compared with needs one core. */
export function busyWarning({ cores, load }: Machine): string | undefined {
  if (load < cores * BUSY_SHARE) return undefined
  return 'the machine was busy before this run: rows whose ledger needs more than one core (P1 to P3, inproc) come out too low'
}
