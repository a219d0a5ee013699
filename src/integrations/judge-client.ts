/** @module A judge over HTTP, at the configured address: receives one handoff per request, with limits of time and size. */

import { z } from 'zod'
import { parseJson } from '../../schemas/json.ts'
import { type RecordJudgement, RecordJudgement as Schema } from '../../schemas/requests.ts'
import { dialFailure } from '../egress/dial-failure.ts'
import { guardedFetch, type TrustOptions } from '../egress/guarded-fetch.ts'

const ANSWER_MAX_MS = 30_000
const ANSWER_MAX_BYTES = 64 * 1024
const FINDINGS_MAX = 20
const REASON_MAX_CHARS = 200

export type Judgement = Pick<RecordJudgement, 'verdict' | 'reason' | 'model' | 'promptDigest' | 'findings'>
/** Requests a judgement of a handoff. Never rejects; every error becomes the verdict `unavailable`, with the reason. */
export type HandoffJudge = (handoff: object, signal: AbortSignal) => Promise<Judgement>

const Answer = z.strictObject({
  verdict: z.enum(['accept', 'reject']),
  findings: z.array(z.unknown()).optional(),
  model: Schema.shape.model,
  promptDigest: Schema.shape.promptDigest,
})

/** Uses the guarded `fetch`: only the configured address is connected to, and redirects are refused. Throws `DialError` for an invalid `allow`. */
export function httpJudge(url: string, trust: Pick<TrustOptions, 'allow' | 'timeoutMs' | 'lookup'>): HandoffJudge {
  const timeoutMs = trust.timeoutMs ?? ANSWER_MAX_MS
  const fetch = guardedFetch({ ...trust, timeoutMs, maxResponseBytes: ANSWER_MAX_BYTES })
  return async (handoff, closing) => {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(handoff),
        signal: closing,
      })
      if (response.status !== 200) {
        await response.body?.cancel()
        return unavailable(`the judge answers ${response.status}`)
      }
      return read(await response.text())
    } catch (error) {
      return unavailable(dialFailure(error, timeoutMs))
    }
  }
}

function read(text: string): Judgement {
  const answer = Answer.safeParse(parseJson(text))
  if (!answer.success) return unavailable('the answer of the judge is no {verdict, findings?, model?, promptDigest?}')
  const { findings, ...said } = answer.data
  const readable = Schema.shape.findings.safeParse(findings?.slice(0, FINDINGS_MAX))
  if (!readable.success) return unavailable('a finding of the judge is no {path, message}')
  return { ...said, ...(readable.data !== undefined && { findings: readable.data }) }
}

function unavailable(reason: string): Judgement {
  return { verdict: 'unavailable', reason: reason.slice(0, REASON_MAX_CHARS) }
}
