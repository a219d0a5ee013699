/** @module Marks of accepted handoffs: why a person should look at one that nothing refused. */
import { isJsonObject, type JsonObject } from './json.ts'

/** `suspect`: a change that nothing explains; `would-refuse`: the policy only records what it would have refused otherwise. */
export const MARKS = ['suspect', 'would-refuse'] as const
export type Mark = (typeof MARKS)[number]

/** The marks of an accepted handoff, by the findings in its body. The body may be any JSON object. */
export function marksOf({ findings, suspectsTotal }: JsonObject): readonly Mark[] {
  const found = Array.isArray(findings) ? findings.filter((each) => isJsonObject(each)) : []
  const isSuspect =
    suspectsTotal !== undefined || found.some(({ suspect, severity }) => suspect === true && severity !== 'info')
  const wouldRefuse = found.some((finding) => finding.wouldRefuse === true)
  return MARKS.filter((mark) => (mark === 'suspect' ? isSuspect : wouldRefuse))
}

/** Of a handoff with suspects: some are open, all are closed, or the handoff was rolled back. */
export const SUSPECT_STATUSES = ['open', 'closed', 'rolled-back'] as const
