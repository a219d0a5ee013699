/** @module The requests that load the server: made once, sent again and again. */
import { envelopeOf, RARE_SNAPSHOTS } from './envelopes.ts'
import type { LoadRequest } from './wrk.ts'

/** Each run gets so many different envelopes in turn. */
const VARIANTS = 8
export const BATCH = 64

const runId = (kind: 's' | 'n', run: number): string => `${kind}${run}`

export function startRun(kind: 's' | 'n', run: number): string {
  const policy = kind === 'n' ? { policy: RARE_SNAPSHOTS } : {}
  return JSON.stringify({ id: runId(kind, run), name: 'bench', ...policy })
}

/** Single envelopes, from run to run. */
export function singleRequests(kind: 's' | 'n', runs: number): LoadRequest[] {
  return Array.from({ length: runs * VARIANTS }, (_, i) => ({
    path: `/v1/runs/${runId(kind, i % runs)}/envelopes`,
    body: JSON.stringify(envelopeOf(i)),
  }))
}

/** Posts of 64 envelopes, each post for one run. */
export function batchRequests(runs: number): LoadRequest[] {
  return Array.from({ length: runs }, (_, run) => ({
    path: '/v1/batch',
    body: JSON.stringify({
      items: Array.from({ length: BATCH }, (__, n) => ({
        run: runId('s', run),
        op: 'envelope',
        body: envelopeOf(run * BATCH + n),
      })),
    }),
  }))
}
