/**
 * @module Two contexts as lines next to each other, like a code host shows a change: unchanged values are folded, old and new values are side by side, and
 * each finding is at the line that it is about. Pure.
 */
import type { Finding } from '../../../schemas/finding.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { formatPointer, type Token } from '../../../schemas/json-pointer.ts'
import { pairMembers } from './pair-members.ts'
import { valueText } from './value-text.ts'

export type LineKind = 'same' | 'inside' | 'added' | 'removed' | 'changed' | 'folded'

export interface DiffLine {
  readonly kind: LineKind
  readonly depth: number
  /** Key of the member, or the identity of the list element. */
  readonly label: string
  /** JSON Pointer into `before`, or into `after` for an added value. */
  readonly pointer: string
  readonly before?: string
  readonly after?: string
  readonly findings: readonly Finding[]
  /** Reason that permitted the change. */
  readonly reason?: string
  /** Number of unchanged values that are folded here. */
  readonly folded?: number
}

export interface DiffOptions {
  readonly findings?: readonly Finding[]
  readonly supersedes?: readonly { readonly path: string; readonly reason: string }[] | undefined
  readonly linesMax?: number
}

export interface ContextDiff {
  readonly lines: readonly DiffLine[]
  /** Number of lines beyond the limit. */
  readonly omitted: number
  readonly changes: number
  /** Findings whose place no line shows. */
  readonly unplaced: readonly Finding[]
}

const LINES_MAX = 2_000

interface Walk {
  readonly lines: DiffLine[]
  readonly findings: ReadonlyMap<string, readonly Finding[]>
  readonly reasons: ReadonlyMap<string, string>
  readonly placed: Set<string>
  readonly linesMax: number
  omitted: number
  changes: number
}

interface Pair {
  readonly before: Json | undefined
  readonly after: Json | undefined
  readonly label: string
  /** Places in `before` and in `after`. */
  readonly beforeAt: readonly Token[]
  readonly afterAt: readonly Token[]
}

export function diffContexts(before: JsonObject, after: JsonObject, options: DiffOptions = {}): ContextDiff {
  const { findings = [], supersedes = [], linesMax = LINES_MAX } = options
  const walk: Walk = {
    lines: [],
    findings: byPath(findings),
    reasons: new Map(supersedes.map(({ path, reason }) => [path, reason])),
    placed: new Set(),
    linesMax,
    omitted: 0,
    changes: 0,
  }
  walkMembers({ before, after, label: '', beforeAt: [], afterAt: [] }, 0, walk)
  const unplaced = findings.filter(({ path }) => !walk.placed.has(path))
  return { lines: walk.lines, omitted: walk.omitted, changes: walk.changes, unplaced }
}

function byPath(findings: readonly Finding[]): ReadonlyMap<string, readonly Finding[]> {
  const grouped = new Map<string, Finding[]>()
  for (const finding of findings) grouped.set(finding.path, [...(grouped.get(finding.path) ?? []), finding])
  return grouped
}

function walkMembers(pair: Pair, depth: number, walk: Walk): void {
  let folded = 0
  const fold = (): void => {
    if (folded > 0) push(walk, { kind: 'folded', depth, label: '', pointer: '', findings: [], folded })
    folded = 0
  }
  for (const member of membersOf(pair)) {
    if (isSame(member) && !isMarked(member, walk)) {
      folded += 1
      continue
    }
    fold()
    walkPair(member, depth, walk)
  }
  fold()
}

const isSame = ({ before, after }: Pair): boolean =>
  before !== undefined && after !== undefined && valueText(before) === valueText(after)

const isMarked = (pair: Pair, { findings }: Walk): boolean => findings.has(pointerOf(pair))

function pointerOf({ before, beforeAt, afterAt }: Pair): string {
  return formatPointer(before === undefined ? afterAt : beforeAt)
}

function walkPair(pair: Pair, depth: number, walk: Walk): void {
  const { before, after, label } = pair
  const pointer = pointerOf(pair)
  const findings = walk.findings.get(pointer) ?? []
  const reason = walk.reasons.get(pointer) ?? walk.reasons.get(formatPointer(pair.beforeAt))
  walk.placed.add(pointer)
  const line = { depth, label, pointer, findings, ...(reason === undefined ? {} : { reason }) }
  if (isContainer(before ?? after) && (before === undefined || after === undefined || isLike(before, after))) {
    const kind = before === undefined ? 'added' : after === undefined ? 'removed' : 'inside'
    push(walk, { ...line, kind, ...(isEmpty(before ?? after) ? sides(pair) : {}) })
    walkMembers(pair, depth + 1, walk)
    return
  }
  const kind = before === undefined ? 'added' : after === undefined ? 'removed' : isSame(pair) ? 'same' : 'changed'
  if (kind !== 'same') walk.changes += 1
  push(walk, { ...line, kind, ...sides(pair) })
}

function sides({ before, after }: Pair): { readonly before?: string; readonly after?: string } {
  return {
    ...(before === undefined ? {} : { before: shownText(before) }),
    ...(after === undefined ? {} : { after: shownText(after) }),
  }
}

function push(walk: Walk, line: DiffLine): void {
  if (walk.lines.length < walk.linesMax) walk.lines.push(line)
  else walk.omitted += 1
}

const isContainer = (value: Json | undefined): boolean => typeof value === 'object' && value !== null
const isLike = (a: Json, b: Json): boolean => isContainer(a) && isContainer(b) && Array.isArray(a) === Array.isArray(b)
const isEmpty = (value: Json | undefined): boolean => isContainer(value) && Object.keys(value as object).length === 0

function membersOf(pair: Pair): readonly Pair[] {
  const { before, after } = pair
  if (Array.isArray(before ?? after)) return elementsOf(pair)
  const left = isJsonObject(before) ? before : {}
  const right = isJsonObject(after) ? after : {}
  const keys = new Set([...Object.keys(left), ...Object.keys(right)])
  return [...keys].map((key) => ({
    before: Object.hasOwn(left, key) ? left[key] : undefined,
    after: Object.hasOwn(right, key) ? right[key] : undefined,
    label: key,
    beforeAt: [...pair.beforeAt, key],
    afterAt: [...pair.afterAt, key],
  }))
}

function elementsOf({ before, after, beforeAt, afterAt }: Pair): readonly Pair[] {
  const left = Array.isArray(before) ? (before as readonly Json[]) : []
  const right = Array.isArray(after) ? (after as readonly Json[]) : []
  return pairMembers(left, right).map(({ from, to, label }) => ({
    before: from === undefined ? undefined : left[from],
    after: to === undefined ? undefined : right[to],
    label,
    beforeAt: [...beforeAt, from ?? to ?? 0],
    afterAt: [...afterAt, to ?? from ?? 0],
  }))
}

const VALUE_CHARS = 4_000

/** Strings are easier to read without quotes; a string that could be taken for another kind of value keeps them. */
function shownText(value: Json): string {
  const text = typeof value === 'string' && !looksLikeJson(value) ? value : valueText(value)
  return text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS)}\u2026 (${text.length} characters)` : text
}

function looksLikeJson(text: string): boolean {
  return text.trim() !== text || text === '' || /^(true|false|null|-?\d[\d.eE+-]*)$|^["[{]/.test(text)
}
