/**
 * @module Metrics of requests by route, kept in plain numbers and converted when scraped: the metrics library would look up and validate the labels on every
 * request.
 */
import { Counter, type Metric, type Registry } from 'prom-client'
import { gauge, PREFIX } from './registered.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Tracker of one route: call `begin` at the start of a request, and `end` with the value returned by `begin` and the status. */
export interface RouteTracker {
  readonly begin: () => number
  readonly end: (startedMs: number, status: number) => void
}

/** Statuses that alerts watch; each route reports them from the start, because Prometheus sees no increase in a series that appears with its first count. */
const SHOWN_AT_ZERO = [500, 507]

interface RouteCount {
  readonly labels: { readonly method: string; readonly route: string }
  /** Number of requests up to each bound and above the previous one; the last bucket counts longer ones. */
  readonly buckets: number[]
  readonly byStatus: Map<number, number>
  seconds: number
}

/** Registers the metrics and returns a function that creates the tracker of a route. */
export function registerRequests(registry: Registry): (method: string, route: string) => RouteTracker {
  const routes: RouteCount[] = []
  let inFlight = 0
  new Counter({
    name: `${PREFIX}http_requests_total`,
    help: 'Requests answered.',
    labelNames: ['method', 'route', 'status'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, byStatus } of routes)
        for (const [status, count] of byStatus) this.inc({ ...labels, status: String(status) }, count)
    },
  })
  registry.registerMetric(secondsOf(routes))
  gauge(registry, 'http_in_flight', 'Requests not answered yet.', () => inFlight)

  return (method, route) => {
    const count: RouteCount = {
      labels: { method, route },
      buckets: Array.from({ length: SECONDS.length + 1 }, () => 0),
      byStatus: new Map(SHOWN_AT_ZERO.map((status) => [status, 0])),
      seconds: 0,
    }
    routes.push(count)
    return {
      begin: () => {
        inFlight += 1
        return performance.now()
      },
      end: (startedMs, status) => {
        inFlight -= 1
        took(count, (performance.now() - startedMs) / 1000)
        count.byStatus.set(status, (count.byStatus.get(status) ?? 0) + 1)
      },
    }
  }
}

function took(count: RouteCount, seconds: number): void {
  count.seconds += seconds
  let at = 0
  while (at < SECONDS.length && seconds > (SECONDS[at] as number)) at += 1
  count.buckets[at] = (count.buckets[at] as number) + 1
}

/** A histogram made from counts, which the library does not support. Routes without requests are left out. */
function secondsOf(routes: readonly RouteCount[]): Metric {
  const name = `${PREFIX}http_request_seconds`
  const options = { name, help: 'Time to the head of the answer.', type: 'histogram', aggregator: 'sum' }
  const get = async () => ({ ...options, values: routes.flatMap((count) => valuesOf(name, count)) })
  return { ...options, get } as unknown as Metric
}

function valuesOf(name: string, { labels, buckets, seconds }: RouteCount) {
  let count = 0
  const upTo = buckets.map((more, at) => {
    count += more
    return { metricName: `${name}_bucket`, labels: { le: SECONDS[at] ?? '+Inf', ...labels }, value: count }
  })
  if (count === 0) return []
  return [
    ...upTo,
    { metricName: `${name}_sum`, labels, value: seconds },
    { metricName: `${name}_count`, labels, value: count },
  ]
}
