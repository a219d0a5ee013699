/** @module The requests for load on the server: built once and sent repeatedly. */
import { envelopeOf } from './envelopes.ts'
import type { LoadRequest } from './wrk.ts'

/** Number of different envelopes per run, sent in turn. */
const VARIANTS = 8
export const BATCH = 64

const runId = (run: number): string => `s${run}`

export function startRun(run: number): string {
  return JSON.stringify({ id: runId(run), name: 'bench' })
}

/** Single envelopes, alternating between runs. */
export function singleRequests(runs: number): LoadRequest[] {
  return Array.from({ length: runs * VARIANTS }, (_, i) => ({
    path: `/v1/runs/${runId(i % runs)}/envelopes`,
    body: JSON.stringify(envelopeOf(i)),
  }))
}

/** Posts of 64 envelopes, each post for one run. */
export function batchRequests(runs: number): LoadRequest[] {
  return Array.from({ length: runs }, (_, run) => ({
    path: '/v1/batch',
    body: JSON.stringify({
      items: Array.from({ length: BATCH }, (__, n) => ({
        run: runId(run),
        op: 'envelope',
        body: envelopeOf(run * BATCH + n),
      })),
    }),
  }))
}
