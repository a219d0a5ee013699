/** @module Supersessions declared by an agent: the changes they permit, and faults of the declarations themselves. */
import type { JsonObject } from '../../../schemas/json.ts'
import { parsePointer, type Token, valueAt } from '../../../schemas/json-pointer.ts'
import { addFinding, type Report } from './report.ts'
import { isWholeContext, type Trunk } from './trunk.ts'

export interface Supersession {
  readonly path: string
  readonly reason: string
}

/** Pointers of valid supersessions, as tokens. */
export type Supersessions = readonly (readonly string[])[]

/** A reason needs a visible character; white space, control characters and invisible formatting count as blank. */
const VISIBLE = /[^\s\p{C}\p{Z}]/u

export function isPlainReason(reason: string): boolean {
  return VISIBLE.test(reason)
}

/** Returns the valid supersessions; each invalid one becomes a finding (JUD-27). */
export function checkSupersessions(
  supersedes: readonly Supersession[],
  documents: { readonly before: JsonObject; readonly after: JsonObject; readonly trunk?: Trunk },
  report: Report,
  reasonMinChars = 1,
): Supersessions {
  const holding: (readonly string[])[] = []
  const { trunk = [] } = documents
  supersedes.forEach(({ path, reason }, i) => {
    const tokens = parsePointer(path)
    const fault = faultOf(tokens, { reason, reasonMinChars, trunk })
    if (fault !== undefined || tokens === undefined) {
      addFinding(report, { rule: 'supersedes-invalid', severity: 'error', path, message: `supersedes/${i}: ${fault}` })
      return
    }
    holding.push(tokens)
    if (valueAt(documents.before, tokens) === undefined && valueAt(documents.after, tokens) === undefined) {
      const message = `supersedes/${i}: names nothing, neither in the established context nor in the new one`
      addFinding(report, { rule: 'supersedes-invalid', severity: 'warning', path, message })
    }
  })
  return holding
}

function faultOf(
  tokens: readonly string[] | undefined,
  {
    reason,
    reasonMinChars,
    trunk,
  }: { readonly reason: string; readonly reasonMinChars: number; readonly trunk: Trunk },
): string | undefined {
  if (tokens === undefined) return 'the path is no JSON Pointer (RFC 6901)'
  if (isWholeContext(tokens, trunk)) return 'the path must not be the whole context; name what is superseded'
  if (!isPlainReason(reason)) return 'the reason must not be blank'
  const chars = [...reason.replace(/[\s\p{C}\p{Z}]+/gu, ' ').trim()].length
  return chars < reasonMinChars ? `the policy wants a reason of ${reasonMinChars} characters` : undefined
}

/** Whether a place or an ancestor of it is superseded. */
export function isCovered(supersedes: Supersessions, place: readonly Token[]): boolean {
  return supersedes.some(
    (tokens) => tokens.length <= place.length && tokens.every((token, i) => token === `${place[i]}`),
  )
}

// The superseded places as a tree, so that a look-up takes as many steps as the place has tokens.

interface Node {
  readonly children: Map<string, Node>
  /** The tokens of the entry that ends at this node, and the number of changes it has covered. */
  entry?: { readonly tokens: readonly string[]; covered: number }
}

export interface Superseded {
  readonly root: Node
}

export type Entry = NonNullable<Node['entry']>

export function supersededTree(supersedes: Supersessions): Superseded {
  const root: Node = { children: new Map() }
  for (const tokens of supersedes) {
    let node = root
    for (const token of tokens) {
      const child: Node = node.children.get(token) ?? { children: new Map() }
      node.children.set(token, child)
      node = child
    }
    node.entry ??= { tokens, covered: 0 }
  }
  return { root }
}

/** The most specific entry at or above a place. */
export function entryFor({ root }: Superseded, place: readonly Token[]): Entry | undefined {
  let node: Node | undefined = root
  let entry: Entry | undefined
  for (const token of place) {
    node = node.children.get(`${token}`)
    if (node === undefined) return entry
    entry = node.entry ?? entry
  }
  return entry
}
