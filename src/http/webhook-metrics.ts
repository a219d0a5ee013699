/** @module Metrics of webhook deliveries; all values are 0 if no webhook is configured. */
import { Counter, Gauge, type Registry } from 'prom-client'

const PREFIX = 'countersign_webhook_'

interface Counts {
  readonly delivered: number
  readonly failedAttempts: number
  readonly givenUp: number
  readonly undelivered: number
  readonly oldestSeconds: number
}

export interface WebhookCounters {
  readonly stats: () => Counts
}

const NONE: Counts = { delivered: 0, failedAttempts: 0, givenUp: 0, undelivered: 0, oldestSeconds: 0 }

export function registerWebhook(registry: Registry, webhook: WebhookCounters | undefined): void {
  const stats = (): Counts => webhook?.stats() ?? NONE
  const registers = [registry]
  new Counter({
    name: `${PREFIX}deliveries_total`,
    help: 'Deliveries that the receiver took, attempts that failed, and events that it will not be told of.',
    labelNames: ['outcome'],
    registers,
    collect() {
      const { delivered, failedAttempts, givenUp } = stats()
      this.reset()
      this.inc({ outcome: 'delivered' }, delivered)
      this.inc({ outcome: 'failed' }, failedAttempts)
      this.inc({ outcome: 'given-up' }, givenUp)
    },
  })
  new Gauge({
    name: `${PREFIX}undelivered`,
    help: 'Events that were read and that the receiver has not taken yet.',
    registers,
    collect() {
      this.set(stats().undelivered)
    },
  })
  new Gauge({
    name: `${PREFIX}oldest_undelivered_seconds`,
    help: 'Age of the oldest of them; 0 where there is none.',
    registers,
    collect() {
      this.set(stats().oldestSeconds)
    },
  })
}
