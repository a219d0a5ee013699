/** @module Gauges and counters whose values are read when the metrics are scraped. */
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

/** Mirrors a count that another component keeps. */
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
