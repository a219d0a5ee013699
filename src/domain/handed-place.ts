/**
 * @module Where the value of a finding is in what the agent sent (JUD-98). A finding names a place of the context; a handoff may hold only a part of it,
 * with list members in another order. Pure.
 */
import { type Identity, identityCandidates, identityText } from '../../projections/list-identity.ts'
import type { Finding } from '../../schemas/finding.ts'
import { isEqual, isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { formatPointer, parsePointer, valueAt } from '../../schemas/json-pointer.ts'
import { countLeaves, PATHS_MAX_CHARS, pathChars } from './validator/report.ts'
import { Pauses, type Yielding } from './yielding.ts'

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

/** Work shared by the findings of a verdict. */
interface Search {
  readonly indexes: Indexes
  readonly pauses: Pauses
}

/**
 * Adds to each finding the place in the handoff, such as `/payload/order/qty`; a finding whose value was not sent stays as it is, and so do those for whose
 * places the verdict has no room.
 */
export function* withHandedPlaces<Verdict extends { readonly findings: readonly Finding[] }>(
  verdict: Verdict,
  handed: Handed,
  pauses = new Pauses(),
): Yielding<Verdict> {
  const search: Search = { indexes: new Map(), pauses }
  let room = PATHS_MAX_CHARS
  for (const finding of verdict.findings) room -= pathChars(finding)
  const findings: Finding[] = []
  for (const finding of verdict.findings) {
    const inHandoff = handedPlace(finding, handed, search)
    if (inHandoff === undefined || inHandoff.length > room) findings.push(finding)
    else {
      room -= inHandoff.length
      findings.push({ ...finding, inHandoff })
    }
    if (pauses.due()) yield
  }
  return { ...verdict, findings }
}

/** Rules about what came: their path is a place of the new context, and the established one may have another list member there. */
const OF_NEW: ReadonlySet<string> = new Set(
  'duplicate-identity shadow-key restated total-disagrees disagrees-with-tool ungrounded derived no-effect'.split(' '),
)

function handedPlace(finding: Finding, handed: Handed, search: Search): string | undefined {
  const { path, after } = finding
  const tokens = parsePointer(path)
  if (tokens === undefined || tokens.length === 0) return undefined
  const context = contextOf(finding, tokens, handed)
  const came = context === handed.before ? undefined : valueAt(context, tokens)
  const named: Named = { ...search, context, tokens, came, after }
  for (const [root, sent] of [['/payload', handed.payload] as const, ['/add', handed.add] as const]) {
    const place = sent && (placeByIdentity(sent, named) ?? placeAsNamed(sent, named))
    if (place === undefined) continue
    const text = root + formatPointer(place)
    if (text.length <= PLACE_MAX_CHARS) return text
  }
  return undefined
}

/** The document that the path of a finding is about. An agent's schema applies to its payload. */
function contextOf({ rule }: Finding, tokens: readonly string[], { before, after, payload }: Handed): JsonObject {
  if (rule === 'schema-violation') return payload
  return OF_NEW.has(rule) || valueAt(before, tokens) === undefined ? after : before
}

/** A place of a context, and the value that came there, if it is known: as it is, or as the finding cites it. */
interface Named extends Search {
  readonly context: JsonObject
  readonly tokens: readonly string[]
  readonly came: Json | undefined
  readonly after: Json | undefined
}

/** Finds list members by their identity. For a value that is gone: the place of what held it. */
function placeByIdentity(sent: JsonObject, named: Named): readonly string[] | undefined {
  const { context, tokens, came } = named
  if (context === sent && came !== undefined) return tokens
  const place: string[] = []
  let from: Json | undefined = context
  let to: Json = sent
  for (const [depth, token] of tokens.entries()) {
    const own = ownToken(from, token, { to, listKey: tokens[depth - 1] ?? '', search: named })
    const inner: Json | undefined = own === undefined ? undefined : valueAt(to, [own])
    if (own === undefined || inner === undefined) return isGone(named) && place.length > 0 ? place : undefined
    place.push(own)
    from = from === undefined ? undefined : valueAt(from, [token])
    to = inner
  }
  return isThis(to, named) ? place : undefined
}

/** Name or index in what was sent of a member of the context. */
function ownToken(
  from: Json | undefined,
  token: string,
  { to, ...by }: { readonly to: Json; readonly listKey: string; readonly search: Search },
): string | undefined {
  return Array.isArray(from) && Array.isArray(to) ? sameMember(from, token, { to, ...by }) : token
}

function isGone({ came, after }: Named): boolean {
  return came === undefined && after === undefined
}

function placeAsNamed(sent: JsonObject, named: Named): readonly string[] | undefined {
  const found = isGone(named) ? undefined : valueAt(sent, named.tokens)
  return found !== undefined && isThis(found, named) ? named.tokens : undefined
}

/** Findings cite large values by a digest, so that an object, a list or a text may be one that is cited as an object. */
function isThis(found: Json, { came, after, pauses }: Named): boolean {
  if (came !== undefined) {
    if (found !== came) pauses.count(countLeaves(came))
    return isEqual(found, came)
  }
  if (after === undefined || found === after) return true
  const mayBeLarge = typeof found === 'string' || (typeof found === 'object' && found !== null)
  return mayBeLarge && typeof after === 'object' && after !== null
}

/** Index in `to` of the member of `from` at an index; the same index if nothing identifies the member. */
function sameMember(
  from: readonly Json[],
  token: string,
  { to, listKey, search }: { readonly to: readonly Json[]; readonly listKey: string; readonly search: Search },
): string | undefined {
  const member = valueAt(from as Json, [token])
  if (member === undefined || !isJsonObject(member)) return token
  for (const identity of identityCandidates(from, listKey)) {
    const text = identityText(member, identity)
    if (text === undefined) continue
    const index = indexOf(to, identity, search).get(text)
    return index === undefined ? undefined : String(index)
  }
  return token
}

function indexOf(list: readonly Json[], identity: Identity, { indexes, pauses }: Search): ReadonlyMap<string, number> {
  const ofList = indexes.get(list) ?? new Map<string, ReadonlyMap<string, number>>()
  indexes.set(list, ofList)
  const name = identity.keys.join('\n')
  const known = ofList.get(name)
  if (known !== undefined) return known
  pauses.count(list.length)
  const made = new Map<string, number>()
  for (const [index, member] of list.entries()) {
    const text = identityText(member, identity)
    if (text !== undefined && !made.has(text)) made.set(text, index)
  }
  ofList.set(name, made)
  return made
}
