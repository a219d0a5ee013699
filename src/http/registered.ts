/** @module Gauges and counters that are read when somebody asks for the metrics. */
import { Counter, Gauge, type Registry } from 'prom-client'

export const PREFIX = 'countersign_'

export function gauge(registry: Registry, name: string, help: string, read: () => number | Promise<number>): void {
  new Gauge({
    name: PREFIX + name,
    help,
    registers: [registry],
    async collect() {
      this.set(await read())
    },
  })
}

/** Mirrors a count that is kept elsewhere. */
export function counter(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name: PREFIX + name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}
