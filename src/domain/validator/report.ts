/** @module What a comparison has found so far: findings and differences, both bounded, and the leaves that were lost. */
import { createHash } from 'node:crypto'
import { sortedKeys } from '../../../projections/set-text.ts'
import { type Diff, FINDING_VALUE_MAX_BYTES, FINDINGS_MAX, type Finding } from '../../../schemas/finding.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { formatPointer, type Token } from '../../../schemas/json-pointer.ts'

/** Pointers kept in each list of a diff: it says where to look, it is no copy of the change. */
export const DIFF_MAX = 100
/** Characters of all paths of a diff together, and of all findings: a key may be as long as a context. */
const PATHS_MAX_CHARS = 64 * 1024
/** Of one path, and of one message, which may quote one. */
const TEXT_MAX_CHARS = 4096
const TOO_LONG = 'at a place below this one, the path of which is too long to be told: '

export interface Report {
  /** Errors and warnings, then, as far as there is room, what says why something was permitted. */
  readonly findings: Finding[]
  readonly notes: Finding[]
  findingsTotal: number
  errors: number
  /** Changes that are suspect, kept or only counted. */
  suspects: number
  readonly diff: Diff
  /** Differences met, listed or not. */
  differences: number
  /** Characters of paths that still fit. */
  readonly room: { diff: number; findings: number }
  /** Leaves that were established and are so no longer, permitted or not. */
  lostLeaves: number
}

export function emptyReport(): Report {
  return {
    findings: [],
    notes: [],
    findingsTotal: 0,
    errors: 0,
    suspects: 0,
    diff: { added: [], removed: [], modified: [] },
    differences: 0,
    room: { diff: PATHS_MAX_CHARS, findings: PATHS_MAX_CHARS },
    lostLeaves: 0,
  }
}

export function addFinding(report: Report, finding: Finding): void {
  report.findingsTotal += 1
  if (finding.severity === 'error') report.errors += 1
  const list = finding.severity === 'info' ? report.notes : report.findings
  if (list.length >= FINDINGS_MAX) return
  const { path, message, supersede, of = '' } = finding
  const isLong = [path, message, of].some((text) => text.length > TEXT_MAX_CHARS)
  const reported = isLong ? shortened(finding) : finding
  const chars = reported.path.length * (supersede === undefined ? 1 : 2) + (reported.of?.length ?? 0)
  if (spend(report.room, 'findings', chars)) list.push(cited(reported))
}

function spend(room: Report['room'], of: keyof Report['room'], chars: number): boolean {
  if (chars > room[of]) return false
  room[of] -= chars
  return true
}

/** As many leading tokens of its path as fit: what names less than the whole place can be no entry for `supersedes`. */
function shortened({ supersede, of, ...rest }: Finding): Finding {
  const finding = { ...rest, ...(of !== undefined && of.length <= TEXT_MAX_CHARS && { of }) }
  const { path, message } = finding
  const text = message.slice(0, TEXT_MAX_CHARS)
  if (path.length <= TEXT_MAX_CHARS)
    return { ...finding, message: text, ...(supersede === undefined ? {} : { supersede }) }
  const end = Math.max(0, path.lastIndexOf('/', TEXT_MAX_CHARS))
  return { ...finding, path: path.slice(0, end), message: `${TOO_LONG}${text}` }
}

/** Whether one more error or warning would be kept, not only counted. */
export function hasRoom({ findings }: Report): boolean {
  return findings.length < FINDINGS_MAX
}

/** An error or a warning that is counted and not kept. */
export function countFinding(report: Report, severity: Finding['severity']): void {
  report.findingsTotal += 1
  if (severity === 'error') report.errors += 1
}

/** At most `FINDINGS_MAX`. */
export function reportedFindings({ findings, notes }: Report): Finding[] {
  return [...findings, ...notes].slice(0, FINDINGS_MAX)
}

export function addDifference(report: Report, kind: keyof Diff, place: readonly Token[]): void {
  report.differences += 1
  const list = report.diff[kind]
  if (list.length >= DIFF_MAX) return
  let chars = 0
  for (const token of place) chars += typeof token === 'string' ? token.length : 1
  if (chars <= TEXT_MAX_CHARS && spend(report.room, 'diff', chars)) list.push(formatPointer(place))
}

function cited(finding: Finding): Finding {
  const { before, after } = finding
  if (isShort(before) && isShort(after)) return finding
  return {
    ...finding,
    ...(before === undefined ? {} : { before: citedValue(before) }),
    ...(after === undefined ? {} : { after: citedValue(after) }),
  }
}

/** A code unit is at most six bytes of JSON. */
const SHORT_MAX_CHARS = Math.floor((FINDING_VALUE_MAX_BYTES - 2) / 6)

/** Scalars that need no counting of their bytes. */
function isShort(value: Json | undefined): boolean {
  return typeof value === 'string' ? value.length <= SHORT_MAX_CHARS : typeof value !== 'object' || value === null
}

/** The value itself, or `{digest, bytes}` of its canonical text where that is longer than `FINDING_VALUE_MAX_BYTES`. */
export function citedValue(value: Json): Json {
  if (isShort(value)) return value
  const text = canonicalText(value)
  const bytes = Buffer.byteLength(text)
  if (bytes <= FINDING_VALUE_MAX_BYTES) return value
  return { digest: `sha256:${createHash('sha256').update(text).digest('hex')}`, bytes }
}

/** RFC 8785. JSON.stringify prints the scalars that strict parsing lets in as section 3.2.2 wants them. */
export function canonicalText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = sortedKeys(value).map((key) => `${JSON.stringify(key)}:${canonicalText(value[key] as Json)}`)
  return `{${members.join(',')}}`
}

/** Scalars and empty containers: each is one thing that a handoff established. */
export function countLeaves(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1
  let leaves = 0
  if (Array.isArray(value)) for (const member of value) leaves += countLeaves(member as Json)
  else for (const key of Object.keys(value)) leaves += countLeaves((value as JsonObject)[key] as Json)
  return leaves === 0 ? 1 : leaves
}
