/** @module The result of a comparison: findings and differences, both bounded, and the number of lost leaves. */
import { createHash } from 'node:crypto'
import { sortedKeys } from '../../../projections/set-text.ts'
import { type Diff, FINDING_VALUE_MAX_BYTES, FINDINGS_MAX, type Finding } from '../../../schemas/finding.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { formatPointer, type Token } from '../../../schemas/json-pointer.ts'

/** Maximum number of pointers in each list of a diff, which shows where to look and is no copy of the change. */
export const DIFF_MAX = 100
/** Maximum characters of all paths of a diff together, and of all findings together; a key may be as long as a context. */
export const PATHS_MAX_CHARS = 64 * 1024
/** Maximum characters of one path and of one message, which may quote a path. */
const TEXT_MAX_CHARS = 4096
const TOO_LONG = 'at a place below this one, the path of which is too long to be told: '

export interface Report {
  /** Errors and warnings. `notes` holds the findings that explain why a change was permitted; they are reported if there is room. */
  readonly findings: Finding[]
  readonly notes: Finding[]
  /** Number of warnings in `findings`, each of which gives way to an error that would not be kept otherwise. */
  warningsKept: number
  findingsTotal: number
  errors: number
  /** Number of suspect changes, whether their findings are kept or only counted. */
  suspects: number
  readonly diff: Diff
  /** Number of differences, whether they are listed or not. */
  differences: number
  /** Remaining characters for paths. */
  readonly room: { diff: number; findings: number }
  /** Number of established leaves that are lost, whether that is permitted or not. */
  lostLeaves: number
}

export function emptyReport(): Report {
  return {
    findings: [],
    notes: [],
    warningsKept: 0,
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
  if (list.length >= FINDINGS_MAX && !mayReplace(report, finding.severity)) return
  const { path, message, of = '' } = finding
  const isLong = [path, message, of].some((text) => text.length > TEXT_MAX_CHARS)
  const reported = isLong ? shortened(finding) : finding
  const chars = pathChars(reported)
  while (list.length >= FINDINGS_MAX || chars > report.room.findings) {
    if (!mayReplace(report, finding.severity)) return
    dropLastWarning(report)
  }
  report.room.findings -= chars
  list.push(cited(reported))
  if (reported.severity === 'warning') report.warningsKept += 1
}

function mayReplace({ warningsKept }: Report, severity: Finding['severity']): boolean {
  return severity === 'error' && warningsKept > 0
}

function dropLastWarning(report: Report): void {
  const at = report.findings.findLastIndex(({ severity }) => severity === 'warning')
  const [dropped] = report.findings.splice(at, 1)
  report.warningsKept -= 1
  if (dropped !== undefined) report.room.findings += pathChars(dropped)
}

/** Characters of the paths of a finding. */
export function pathChars({ path, supersede, of = '' }: Finding): number {
  return path.length * (supersede === undefined ? 1 : 2) + of.length
}

/** Shortens the path to as many leading tokens as fit. The shortened path is not the whole place, so it is not offered as an entry for `supersedes`. */
function shortened({ supersede, of, ...rest }: Finding): Finding {
  const finding = { ...rest, ...(of !== undefined && of.length <= TEXT_MAX_CHARS && { of }) }
  const { path, message } = finding
  const text = message.slice(0, TEXT_MAX_CHARS)
  if (path.length <= TEXT_MAX_CHARS)
    return { ...finding, message: text, ...(supersede === undefined ? {} : { supersede }) }
  const end = Math.max(0, path.lastIndexOf('/', TEXT_MAX_CHARS))
  return { ...finding, path: path.slice(0, end), message: `${TOO_LONG}${text}` }
}

/** Whether one more finding of this severity would be kept rather than only counted. */
export function hasRoom(report: Report, severity: Finding['severity']): boolean {
  return report.findings.length < FINDINGS_MAX || mayReplace(report, severity)
}

/** Counts an error or a warning without keeping it. */
export function countFinding(report: Report, severity: Finding['severity']): void {
  report.findingsTotal += 1
  if (severity === 'error') report.errors += 1
}

/** The findings to report, at most `FINDINGS_MAX`. */
export function reportedFindings({ findings, notes }: Report): Finding[] {
  return [...findings, ...notes].slice(0, FINDINGS_MAX)
}

export function addDifference(report: Report, kind: keyof Diff, place: readonly Token[]): void {
  report.differences += 1
  const list = report.diff[kind]
  if (list.length >= DIFF_MAX) return
  let chars = 0
  for (const token of place) chars += typeof token === 'string' ? token.length : 1
  if (chars > TEXT_MAX_CHARS || chars > report.room.diff) return
  report.room.diff -= chars
  list.push(formatPointer(place))
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

/** Maximum characters of a short string: a code unit takes at most six bytes of JSON. */
const SHORT_MAX_CHARS = Math.floor((FINDING_VALUE_MAX_BYTES - 2) / 6)

/** Whether the value is a scalar that fits without counting its bytes. */
function isShort(value: Json | undefined): boolean {
  return typeof value === 'string' ? value.length <= SHORT_MAX_CHARS : typeof value !== 'object' || value === null
}

/** The value itself, or `{digest, bytes}` of its canonical text if that is longer than `FINDING_VALUE_MAX_BYTES`. */
export function citedValue(value: Json): Json {
  if (isShort(value)) return value
  const text = canonicalText(value)
  const bytes = Buffer.byteLength(text)
  if (bytes <= FINDING_VALUE_MAX_BYTES) return value
  return { digest: `sha256:${createHash('sha256').update(text).digest('hex')}`, bytes }
}

/** RFC 8785. For the scalars that strict parsing admits, JSON.stringify prints the form of section 3.2.2. */
export function canonicalText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = sortedKeys(value).map((key) => `${JSON.stringify(key)}:${canonicalText(value[key] as Json)}`)
  return `{${members.join(',')}}`
}

/** The number of scalars and empty containers; each counts as one established value. */
export function countLeaves(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1
  let leaves = 0
  if (Array.isArray(value)) for (const member of value) leaves += countLeaves(member as Json)
  else for (const key of Object.keys(value)) leaves += countLeaves((value as JsonObject)[key] as Json)
  return leaves === 0 ? 1 : leaves
}
