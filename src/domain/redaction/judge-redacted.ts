/** @module The verdict on a redacted handoff: places that cannot be compared are reported, and nothing is assumed about their values (JUD-37). */
import { FINDINGS_MAX, type Finding } from '../../../schemas/finding.ts'
import { isEqual, type Json, type JsonObject } from '../../../schemas/json.ts'
import { parsePointer, valueAt } from '../../../schemas/json-pointer.ts'
import { MARKER_BEGINS } from '../../../schemas/redacted-parts.ts'
import type { Judgement } from '../validator/judge-at-once.ts'
import type { RedactedPlace } from './redact-value.ts'

/** Maximum number of places reported one by one. */
const NAMED_MAX = 20

interface Judged {
  /** The established context. */
  readonly context: JsonObject
  /** The payload as it was sent. */
  readonly payload: JsonObject
  readonly leftOut: readonly RedactedPlace[]
}

export function withRedacted(verdict: Judgement, { context, payload, leftOut }: Judged): Judgement {
  const places = placesOf(leftOut)
  const findings: Finding[] = []
  for (const finding of verdict.findings) findings.push(judged(finding, places.get(finding.path), { context, payload }))
  const named = [...places]
    .filter(([at, rule]) => isMarked(placeIn(context, at), rule))
    .map(([at, rule]) => notCompared(at, rule))
  const all = [...findings, ...named.slice(0, NAMED_MAX)].slice(0, FINDINGS_MAX)
  const isComplete = verdict.findingsTotal === verdict.findings.length
  const refused =
    verdict.verdict === 'reject' && !(isComplete && findings.every(({ severity }) => severity !== 'error'))
  const lifted = verdict.findings.filter(({ suspect }, i) => suspect === true && findings[i]?.suspect !== true).length
  const { suspectsTotal = 0, ...rest } = verdict
  return {
    ...rest,
    ...(suspectsTotal > lifted && { suspectsTotal: suspectsTotal - lifted }),
    verdict: refused ? 'reject' : 'accept',
    findings: all,
    findingsTotal: verdict.findingsTotal + named.length,
  }
}

/** The redacted places, by their pointers in the context; a member that was removed together with its name has none. */
function placesOf(leftOut: readonly RedactedPlace[]): ReadonlyMap<string, string> {
  const root = '/payload'
  const inPayload = leftOut.filter(({ at, member }) => at.startsWith(`${root}/`) && member !== true)
  return new Map(inPayload.map(({ at, rule }) => [at.slice(root.length), rule]))
}

/** A value that is equal to the established one is no contradiction; it is only redacted in the new record. */
function judged(
  finding: Finding,
  rule: string | undefined,
  { context, payload }: { readonly context: JsonObject; readonly payload: JsonObject },
): Finding {
  if (rule === undefined) return finding
  const { path } = finding
  const established = placeIn(context, path)
  const sent = placeIn(payload, path)
  const isSame = established !== undefined && sent !== undefined && isEqual(established, sent)
  const { before: _, after: __, supersede: ___, suspect, ...rest } = finding
  if (!isSame)
    return {
      ...rest,
      ...(suspect && { suspect }),
      message: `another value was established; the one that was sent is left out by the rule ${rule}`,
    }
  const message = `the same as what was established, and left out from here on by the rule ${rule}`
  return { ...rest, rule: 'redacted', severity: 'info', message }
}

function notCompared(path: string, rule: string): Finding {
  const message = `left out by the rule ${rule}, here and where it was established: whether it is the same value cannot be judged`
  return { rule: 'redacted', severity: 'warning', path, message }
}

function placeIn(document: JsonObject, pointer: string): Json | undefined {
  const tokens = parsePointer(pointer)
  return tokens === undefined ? undefined : valueAt(document, tokens)
}

/** Whether the value has a marker without a digest; markers with a digest can be compared. */
function isMarked(value: Json | undefined, rule: string): boolean {
  return typeof value === 'string' && value.includes(`${MARKER_BEGINS}${rule}]`)
}
