/** @module Reads rules on places from the JSON Schema of an agent's payloads, declared as `x-countersign` in its subschemas (JUD-74). Pure. */
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { formatPointer, parsePointer, type Token, valueAt } from '../../../../schemas/json-pointer.ts'
import { type Declaration, Declarations, PlacePolicy } from '../../../../schemas/place-policy.ts'

export interface SchemaPlaces {
  readonly policy?: PlacePolicy
  readonly moves: readonly Declaration[]
  /** The fault of the schema, and its position in the schema. */
  readonly fault?: { readonly pointer: string; readonly message: string }
}

const KEYWORD = 'x-countersign'
const MEMBERS = ['immutable', 'monotonic', 'lists', 'moves', 'free']
/** Maximum number of nodes of a schema, and maximum depth of a place; references may be circular. */
const NODES_MAX = 10_000
const DEPTH_MAX = 32

interface Node {
  readonly schema: Json
  /** The place in a context that the schema applies to, and the position of the schema itself. */
  readonly place: readonly string[]
  readonly at: readonly Token[]
}

interface Words {
  readonly immutable: string[]
  readonly monotonic: Record<string, Json>
  readonly lists: Record<string, Json>
  readonly moves: Json[]
}

const known = new WeakMap<JsonObject, SchemaPlaces>()

/** The places of a schema; cached, because its manifest is kept with the run. */
export function placesOfSchema(schema: JsonObject): SchemaPlaces {
  const places = known.get(schema) ?? readSchema(schema)
  known.set(schema, places)
  return places
}

function readSchema(schema: JsonObject): SchemaPlaces {
  const words: Words = { immutable: [], monotonic: {}, lists: {}, moves: [] }
  const waiting: Node[] = [{ schema, place: [], at: [] }]
  const said = new Set<string>()
  for (let node = waiting.pop(), count = 0; node !== undefined; node = waiting.pop(), count++) {
    if (!isJsonObject(node.schema) || node.at.length > 4 * DEPTH_MAX || node.place.length > DEPTH_MAX) continue
    if (count > NODES_MAX) return faulty(node, `the schema has more than ${NODES_MAX} places: say it in the policy`)
    const word = Object.hasOwn(node.schema, KEYWORD) ? (node.schema[KEYWORD] as Json) : undefined
    const name = `${formatPointer(node.place)} ${JSON.stringify(word)}`
    const fault = word === undefined || said.has(name) ? undefined : noteWord(word, node, words)
    if (fault !== undefined) return faulty(node, fault)
    said.add(name)
    waiting.push(...below(node.schema, node, schema))
  }
  return said.size === 0 ? { moves: [] } : checked(words)
}

function faulty({ at }: Node, message: string): SchemaPlaces {
  return { moves: [], fault: { pointer: formatPointer([...at, KEYWORD]), message } }
}

/** Adds one `x-countersign` value; returns its fault, if any. */
function noteWord(word: Json, { place }: Node, words: Words): string | undefined {
  if (!isJsonObject(word)) return `is an object with members of ${MEMBERS.join(', ')}`
  const other = Object.keys(word).find((member) => !MEMBERS.includes(member))
  if (other !== undefined) return `knows no ${other}; it has ${MEMBERS.join(', ')}`
  if (place.length === 0) return 'is about a place; the whole payload is none'
  const path = formatPointer(place)
  const { immutable, monotonic, lists, moves, free } = word
  for (const [member, value] of Object.entries({ immutable, free }))
    if (value !== undefined && value !== true) return `${member} is true, or is left out`
  if (immutable === true) words.immutable.push(path)
  if (monotonic !== undefined) words.monotonic[path] = monotonic
  if (lists !== undefined) words.lists[path] = lists
  if (free === true) words.moves.push({ path, as: 'free', reason: REASON })
  if (typeof moves === 'string') words.moves.push({ path, as: moves, reason: REASON })
  else if (moves !== undefined) {
    if (!isJsonObject(moves)) return 'moves is a kind, or an object with as, by and reason'
    words.moves.push({ reason: REASON, ...moves, path })
  }
  return undefined
}

const REASON = 'so declared in the schema of its payloads'

function checked({ moves, ...places }: Words): SchemaPlaces {
  const [policy, declared] = [PlacePolicy.safeParse(places), Declarations.safeParse(moves)]
  if (policy.success && declared.success) return { policy: policy.data, moves: declared.data }
  const issue = (policy.error ?? declared.error)?.issues[0]
  const message = `${KEYWORD}: ${[...(issue?.path ?? []).map(String), issue?.message ?? ''].join(' ')}`
  return { moves: [], fault: { pointer: '', message } }
}

function below(schema: JsonObject, { place, at }: Node, root: JsonObject): readonly Node[] {
  const nodes: Node[] = []
  const { properties = {}, items, prefixItems = [], additionalProperties, $ref } = schema
  for (const [key, member] of Object.entries(isJsonObject(properties) ? properties : {}))
    nodes.push({ schema: member as Json, place: [...place, key], at: [...at, 'properties', key] })
  for (const [i, member] of (Array.isArray(prefixItems) ? prefixItems : []).entries())
    nodes.push({ schema: member, place: [...place, `${i}`], at: [...at, 'prefixItems', i] })
  for (const [keyword, member] of Object.entries({ items, additionalProperties }))
    if (member !== undefined) nodes.push({ schema: member, place: [...place, '*'], at: [...at, keyword] })
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    const members = schema[keyword]
    for (const [i, member] of (Array.isArray(members) ? members : []).entries())
      nodes.push({ schema: member, place, at: [...at, keyword, i] })
  }
  const target = typeof $ref === 'string' && $ref.startsWith('#') ? parsePointer($ref.slice(1)) : undefined
  const referred = target === undefined ? undefined : valueAt(root, target)
  if (referred !== undefined) nodes.push({ schema: referred, place, at: [...at, '$ref'] })
  return nodes
}
