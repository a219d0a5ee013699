/** @module Metrics of how well the ledger keeps up: events covered by checkpoints, witnessed or time-stamped, and calls in doubt. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Ledger } from '../ledger/ledger.ts'
import { PREFIX } from './registered.ts'

/** A value that is not known yet is not reported, because 0 would suggest that all is well. */
export function registerKeptUp(registry: Registry, ledger: Pick<Ledger, 'stats'>): void {
  const known = (name: string, help: string, read: () => number | undefined): void => {
    new Gauge({
      name: PREFIX + name,
      help,
      registers: [registry],
      collect() {
        const value = read()
        if (value === undefined) this.remove()
        else this.set(value)
      },
    })
  }
  known(
    'checkpoints_current_timestamp_seconds',
    'When every log was last found covered by its signed checkpoint.',
    () => secondsOf(ledger.stats().coveredAtMs),
  )
  known(
    'checkpoint_interval_seconds',
    'Longest time from an event to the signed checkpoint of its log; 0 where none is signed.',
    () => secondsOf(ledger.stats().checkpointDelayMs),
  )
  known(
    'timestamp_last_failure_timestamp_seconds',
    'When the time-stamping authority last gave no token that can be used, since this process started.',
    () => secondsOf(ledger.stats().stamping?.lastFailure?.atMs),
  )
  known(
    'timestamp_due_timestamp_seconds',
    'Since when a log has been due for a time-stamp that is not recorded; absent where none is due.',
    () => secondsOf(ledger.stats().stamping?.dueSinceMs),
  )
  known('calls_in_doubt', 'Calls in doubt, as the run list has them.', () => ledger.stats().callsInDoubt)
  new Counter({
    name: `${PREFIX}witness_failures_total`,
    help: 'Times that a witness did not cosign a checkpoint, by why.',
    labelNames: ['witness', 'code'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { witness, code, count } of ledger.stats().witnessFailures) this.inc({ witness, code }, count)
    },
  })
  new Counter({
    name: `${PREFIX}timestamp_failures_total`,
    help: 'Times that the time-stamping authority gave no token that can be used, by why.',
    labelNames: ['authority', 'code'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { authority, code, count } of ledger.stats().stampFailures) this.inc({ authority, code }, count)
    },
  })
}

const secondsOf = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000)
