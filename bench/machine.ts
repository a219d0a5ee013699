/** @module The machine, in one line: figures without it mean nothing. */
import { cpus, loadavg } from 'node:os'
import { sqliteVersion } from './raw-sqlite.ts'

export interface Machine {
  readonly cores: number
  readonly cpu: string
  readonly node: string
  readonly sqlite: string
  /** Processes that wanted a core in the last minute, before this run. */
  readonly load: number
}

/** Of the cores in use by others, from which on the figures are not to be quoted. */
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

/** The ledger works on two threads and the server beside its client; what they are compared with needs one. */
export function busyWarning({ cores, load }: Machine): string | undefined {
  if (load < cores * BUSY_SHARE) return undefined
  return 'the machine was busy before this run: rows whose ledger needs more than one core (P1 to P3, inproc) come out too low'
}
