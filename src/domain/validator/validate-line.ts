/** @module One line of `countersign validate`: takes a handoff and returns its verdict (JUD-26). */
import { FINDINGS_MAX, type Finding } from '../../../schemas/finding.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import type { ResolvedPolicy } from '../../../schemas/policy.ts'
import { evidenceOfLine } from './line-evidence.ts'
import { canonicalText } from './report.ts'
import type { Supersession } from './supersedes.ts'
import { type HandoffInput, type Verdict, validateHandoff } from './validate.ts'

/** Maximum size of `before` and of `after` in canonical bytes, equal to the limit of the ledger for a context (REC-15). */
export const LINE_DOCUMENT_MAX_BYTES = 512 * 1024
/** Maximum size of a line in bytes: two documents, and the evidence of several tools. */
export const LINE_MAX_BYTES = 16 * 1024 * 1024
const DOCUMENT_MAX_DEPTH = 64
/** A document is nested one level deep in its line, a recorded output two levels. */
const LINE_MAX_DEPTH = DOCUMENT_MAX_DEPTH + 2

/** With flag `u`, a surrogate pair is one character and does not match. */
const LONE_SURROGATE = /[\ud800-\udfff]/u

type ParseResult =
  | { readonly ok: true; readonly value: Json }
  | {
      readonly ok: false
      readonly error: { readonly code: string; readonly pointer: string; readonly message: string }
    }

/** `parseStrictJson` of `signing/`, passed in because the domain does not import it. */
export type StrictParser = (
  bytes: Uint8Array,
  limits: { readonly maxBytes: number; readonly maxDepth: number; readonly maxKeys: number },
) => ParseResult

/** Never throws on account of the line's content: a line with invalid input is rejected with rule `invalid-input`. */
export function validateLine(line: Uint8Array | string, policy: ResolvedPolicy, parse: StrictParser): string {
  return JSON.stringify(lineVerdict(line, policy, parse))
}

function lineVerdict(line: Uint8Array | string, policy: ResolvedPolicy, parse: StrictParser): object {
  const limits = { maxBytes: LINE_MAX_BYTES, maxDepth: LINE_MAX_DEPTH, maxKeys: LINE_MAX_BYTES }
  // A lone surrogate has no UTF-8 form, and the encoder would silently replace it.
  if (typeof line === 'string' && LONE_SURROGATE.test(line))
    return refused('', 'half of a surrogate pair is not a character')
  const parsed = parse(typeof line === 'string' ? new TextEncoder().encode(line) : line, limits)
  if (!parsed.ok) return refused(parsed.error.pointer, `${parsed.error.code}: ${parsed.error.message}`)

  const input = readInput(parsed.value)
  if ('fault' in input) return refused(input.path, input.fault)
  return printed(validateHandoff({ ...input, policy }))
}

function printed({ verdict, confidence, diff, findings }: Verdict): object {
  return { verdict, confidence, diff, findings: findings.slice(0, FINDINGS_MAX) }
}

function refused(path: string, message: string): object {
  const finding: Finding = { rule: 'invalid-input', severity: 'error', path, message }
  return { verdict: 'reject', confidence: 0, diff: { added: [], removed: [], modified: [] }, findings: [finding] }
}

interface Fault {
  readonly path: string
  readonly fault: string
}

/** Other members are ignored, so that labelled data sets can keep their labels in the lines. */
function readInput(line: Json): Omit<HandoffInput, 'policy'> | Fault {
  if (!isJsonObject(line)) return { path: '', fault: 'a line is an object {before, after, supersedes?, evidence?}' }
  const { before, after, supersedes, evidence } = ownMembers(line)
  for (const [path, value] of [
    ['/before', before],
    ['/after', after],
  ] as const) {
    const fault = documentFault(value)
    if (fault !== undefined) return { path, fault }
  }
  if (supersedes !== undefined && !isSupersedes(supersedes)) {
    return { path: '/supersedes', fault: 'supersedes is a list of {path, reason}, both strings' }
  }
  return {
    before: before as JsonObject,
    after: after as JsonObject,
    ...(supersedes === undefined ? {} : { supersedes }),
    ...(evidence === undefined ? {} : { evidence: evidenceOfLine(evidence) }),
  }
}

function ownMembers(line: JsonObject): { readonly [name: string]: Json | undefined } {
  return Object.assign(Object.create(null), line)
}

function documentFault(value: Json | undefined): string | undefined {
  if (!isJsonObject(value)) return 'is missing, or no object'
  if (depthOf(value) > DOCUMENT_MAX_DEPTH) return `nests deeper than ${DOCUMENT_MAX_DEPTH}`
  const bytes = Buffer.byteLength(canonicalText(value))
  return bytes > LINE_DOCUMENT_MAX_BYTES
    ? `has ${bytes} bytes, at most ${LINE_DOCUMENT_MAX_BYTES} are taken`
    : undefined
}

/** Nesting depth of containers, the outermost one included. */
function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  let deepest = 0
  for (const child of Object.values(value)) deepest = Math.max(deepest, depthOf(child as Json))
  return deepest + 1
}

function isSupersedes(value: Json): value is readonly (Supersession & JsonObject)[] {
  return (
    Array.isArray(value) &&
    value.every((each: Json) => isJsonObject(each) && typeof each.path === 'string' && typeof each.reason === 'string')
  )
}
