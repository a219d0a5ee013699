/**
 * @module Where the value of a finding is in what the agent sent (JUD-98). A finding names a place of the context; a handoff may hold only a part of it,
 * with list members in another order. Pure.
 */
import { type Identity, identityCandidates, identityText } from '../../projections/list-identity.ts'
import type { Finding } from '../../schemas/finding.ts'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { formatPointer, parsePointer, valueAt } from '../../schemas/json-pointer.ts'

/** Maximum length of a place; a longer one is left out, since it is hard to read and large in the event. */
const PLACE_MAX_CHARS = 1024

/** What was sent, and the contexts before and after it. */
export interface Handed {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly payload: JsonObject
  readonly add?: JsonObject | undefined
}

/** For each list and each key that identifies its members: the index of a member. */
type Indexes = Map<readonly Json[], Map<string, ReadonlyMap<string, number>>>

/** Adds to each finding the place in the handoff, such as `/payload/order/qty`; a finding whose value was not sent stays as it is. */
export function withHandedPlaces<Verdict extends { readonly findings: readonly Finding[] }>(
  verdict: Verdict,
  handed: Handed,
): Verdict {
  if (verdict.findings.length === 0) return verdict
  const indexes: Indexes = new Map()
  const findings = verdict.findings.map((finding) => {
    const inHandoff = handedPlace(finding, handed, indexes)
    return inHandoff === undefined ? finding : { ...finding, inHandoff }
  })
  return { ...verdict, findings }
}

function handedPlace({ path, after }: Finding, handed: Handed, indexes: Indexes): string | undefined {
  const tokens = parsePointer(path)
  if (tokens === undefined || tokens.length === 0) return undefined
  const context = valueAt(handed.before, tokens) === undefined ? handed.after : handed.before
  const named: Named = { context, tokens, after, indexes }
  for (const [root, sent] of [['/payload', handed.payload] as const, ['/add', handed.add] as const]) {
    const place = sent && (placeByIdentity(sent, named) ?? placeAsNamed(sent, named))
    if (place === undefined) continue
    const text = root + formatPointer(place)
    if (text.length <= PLACE_MAX_CHARS) return text
  }
  return undefined
}

/** A place of the context, and the value that came there; undefined if none did. */
interface Named {
  readonly context: JsonObject
  readonly tokens: readonly string[]
  readonly after: Json | undefined
  readonly indexes: Indexes
}

/** Finds list members by their identity. For a value that is gone: the place of what held it. */
function placeByIdentity(sent: JsonObject, { context, tokens, after, indexes }: Named): readonly string[] | undefined {
  const place: string[] = []
  let from: Json | undefined = context
  let to: Json = sent
  for (const [depth, token] of tokens.entries()) {
    const isMember = Array.isArray(from) && Array.isArray(to)
    const own: string | undefined = isMember
      ? sameMember(from as readonly Json[], token, { to: to as readonly Json[], listKey: tokens[depth - 1] ?? '', indexes })
      : token
    const inner: Json | undefined = own === undefined ? undefined : valueAt(to, [own])
    if (own === undefined || inner === undefined) return after === undefined && place.length > 0 ? place : undefined
    place.push(own)
    from = from === undefined ? undefined : valueAt(from, [token])
    to = inner
  }
  return isThis(to, after) ? place : undefined
}

function placeAsNamed(sent: JsonObject, { tokens, after }: Named): readonly string[] | undefined {
  const found = after === undefined ? undefined : valueAt(sent, tokens)
  return found !== undefined && isThis(found, after) ? tokens : undefined
}

/** Findings hold large values as a digest, so objects and lists are not compared. */
function isThis(found: Json, after: Json | undefined): boolean {
  if (after === undefined || found === after) return true
  return typeof after === 'object' && after !== null
}

/** Index in `to` of the member of `from` at an index; the same index if nothing identifies the member. */
function sameMember(
  from: readonly Json[],
  token: string,
  { to, listKey, indexes }: { readonly to: readonly Json[]; readonly listKey: string; readonly indexes: Indexes },
): string | undefined {
  const member = valueAt(from as Json, [token])
  if (member === undefined || !isJsonObject(member)) return token
  for (const identity of identityCandidates(from, listKey)) {
    const text = identityText(member, identity)
    if (text === undefined) continue
    const index = indexOf(to, identity, indexes).get(text)
    return index === undefined ? undefined : String(index)
  }
  return token
}

function indexOf(list: readonly Json[], identity: Identity, indexes: Indexes): ReadonlyMap<string, number> {
  const ofList = indexes.get(list) ?? new Map<string, ReadonlyMap<string, number>>()
  indexes.set(list, ofList)
  const name = identity.keys.join('\n')
  const known = ofList.get(name)
  if (known !== undefined) return known
  const made = new Map<string, number>()
  for (const [index, member] of list.entries()) {
    const text = identityText(member, identity)
    if (text !== undefined && !made.has(text)) made.set(text, index)
  }
  ofList.set(name, made)
  return made
}
