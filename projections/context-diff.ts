/** @module The differences between two contexts, by JSON Pointer. List members are matched as in merges, not by index. */
import { isEqual, isJsonObject, type Json, type JsonObject } from '../schemas/json.ts'
import { pointerStep } from '../schemas/json-pointer.ts'
import { memberKeys } from './set-members.ts'
import { setTextsOf } from './set-text.ts'

export interface ContextChange {
  readonly kind: 'added' | 'removed' | 'changed'
  /** JSON Pointer into `after` for an addition, otherwise into `before`. */
  readonly path: string
  readonly before?: Json
  readonly after?: Json
}

/** Changes in the order of the contexts. Members of lists that only moved are not a change. */
export function contextDiff(before: JsonObject, after: JsonObject): readonly ContextChange[] {
  return [...objectChanges(before, after, { path: '', key: undefined })]
}

/** `key` is the top-level key of the place, which decides how lists are compared. */
interface Place {
  readonly path: string
  readonly key: string | undefined
}

function* changes(before: Json, after: Json, place: Place): Generator<ContextChange> {
  if (isEqual(before, after)) return
  if (isJsonObject(before) && isJsonObject(after)) yield* objectChanges(before, after, place)
  else if (Array.isArray(before) && Array.isArray(after)) yield* listChanges(before, after, place)
  else yield { kind: 'changed', path: place.path, before, after }
}

function* objectChanges(before: JsonObject, after: JsonObject, { path, key }: Place): Generator<ContextChange> {
  for (const [name, value] of Object.entries(before)) {
    const place = { path: path + pointerStep(name), key: key ?? name }
    const now = Object.hasOwn(after, name) ? after[name] : undefined
    if (now === undefined) yield { kind: 'removed', path: place.path, before: value }
    else yield* changes(value, now, place)
  }
  for (const [name, value] of Object.entries(after)) {
    if (!Object.hasOwn(before, name)) yield { kind: 'added', path: path + pointerStep(name), after: value }
  }
}

function* listChanges(before: readonly Json[], after: readonly Json[], place: Place): Generator<ContextChange> {
  const keys = memberKeys(before, after, setTextsOf(place.key ?? ''))
  const unmatched = new Map<string, number[]>()
  for (const [at, member] of keys.after.entries()) {
    const places = unmatched.get(member)
    if (places === undefined) unmatched.set(member, [at])
    else places.push(at)
  }
  for (const [at, value] of before.entries()) {
    const found = unmatched.get(keys.before[at] ?? '')?.shift()
    const path = `${place.path}/${at}`
    if (found === undefined) yield { kind: 'removed', path, before: value }
    else yield* changes(value, after[found] as Json, { ...place, path })
  }
  for (const at of [...unmatched.values()].flat().sort((a, b) => a - b)) {
    yield { kind: 'added', path: `${place.path}/${at}`, after: after[at] as Json }
  }
}
