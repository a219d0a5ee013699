/** @module Converts the verdict on a fork to its result, the same from the ledger's answer as from the record. */
import type { EventBody } from '../../../schemas/events.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { inCanonicalOrder } from '../../signing/canonical-json.ts'
import type { Established } from '../pipeline/handoff-types.ts'
import { type BranchReceipt, ForkFailed, type ForkResult } from './fork-types.ts'
import { isOffer, type RecordedFork } from './recorded-forks.ts'

/** The members of `ForkJoined` that the answer and the record have in common. */
export type Verdict = Omit<EventBody<'ForkJoined'>, 'v'>

type Reports = RecordedFork['reports']

export function verdictOf(body: JsonObject): Verdict {
  return body as unknown as Verdict
}

/** The receipts in recorded form, as a copy for one caller. */
export function receiptsOf({ receipts }: Verdict, reports: Reports): BranchReceipt[] {
  const all = receipts.map(({ branch, agent, status, confidence, score, receipt }) => {
    const report = reports.get(branch)
    return {
      branch,
      agent,
      status,
      ...(isOffer(report) ? offerOf(report) : refusalOf(report)),
      ...(confidence !== undefined && { confidence }),
      ...(score !== undefined && { score }),
      receipt,
    }
  })
  return inCanonicalOrder(all) as unknown as BranchReceipt[]
}

function offerOf({ payload, add }: EventBody<'BranchOffered'>): Pick<BranchReceipt, 'output' | 'add'> {
  return { output: payload, ...(add !== undefined && { add }) }
}

function refusalOf(report: ReturnType<Reports['get']>): Pick<BranchReceipt, 'error' | 'findings'> {
  if (report === undefined || isOffer(report)) return {}
  const { error, findings } = report as EventBody<'BranchReceived'>
  return { ...(error !== undefined && { error }), ...(findings !== undefined && findings.length > 0 && { findings }) }
}

/** The result of a fork, as its caller gets it. Throws `ForkFailed` if nothing was merged. */
export function resultOf(
  verdict: Verdict,
  inputs: { readonly reports: Reports; readonly established: Established; readonly unwound: ForkResult['unwound'] },
): ForkResult {
  const { forkId, join, winners, order, receipt, outcome } = verdict
  const receipts = receiptsOf(verdict, inputs.reports)
  if (outcome !== 'joined') throw failed(verdict, receipts)
  const { established, unwound } = inputs
  const won = receipts.find(({ branch }) => branch === winners[0])?.output
  const output = join === 'union' ? established.context : (won ?? {})
  const result = { forkId, output, winners, order, receipts, receipt, established }
  // Not enumerable: pending work must not be part of the JSON form that a body may return.
  return Object.defineProperty(result as typeof result & Pick<ForkResult, 'unwound'>, 'unwound', { value: unwound })
}

function failed(verdict: Verdict, receipts: readonly BranchReceipt[]): ForkFailed {
  const { forkId, outcome, conflicts, findings } = verdict
  const evidence: JsonObject = {
    forkId,
    outcome,
    receipts: verdict.receipts as unknown as Json,
    ...(conflicts !== undefined && { conflicts: conflicts as unknown as Json }),
    ...(findings !== undefined && { findings: findings as unknown as Json }),
  }
  if (outcome === 'conflict') {
    const places = (conflicts ?? []).map(({ path, ours, theirs }) => `${path} (${ours.branch}, ${theirs.branch})`)
    const message = `branches made different things of ${places.slice(0, 3).join(', ')}: the context is unchanged`
    return new ForkFailed('fork-conflict', message, { evidence, receipts })
  }
  const [first] = findings ?? []
  const reason =
    outcome === 'none' ? receiptsText(receipts) : `${first?.rule} at ${first?.path || 'the whole'}: ${first?.message}`
  return new ForkFailed('fork-failed', `nothing was merged (${reason}): the context is unchanged`, {
    evidence,
    receipts,
  })
}

function receiptsText(receipts: readonly BranchReceipt[]): string {
  return receipts
    .map(({ branch, status, error }) => `${branch} ${status}${error ? `: ${error.message}` : ''}`)
    .join('; ')
}
