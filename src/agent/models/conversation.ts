/**
 * @module Represents a model request as its change since an earlier request, which it names by digest: a conversation is recorded once, and every request of it
 * can be restored whole (RUN-84). Pure.
 */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { AgentError } from '../errors.ts'

/** A recorded request by the digests of its members: for a list, one digest per element. */
export interface IndexedRequest {
  readonly digest: string
  readonly members: ReadonlyMap<string, string | readonly string[]>
}

/** The change of a list: the number of leading elements to keep, and the elements to append. */
interface ListChange extends JsonObject {
  readonly keep: number
  readonly add: readonly Json[]
}

/** Recorded in place of a whole request. Members that are not named are unchanged. */
export interface RequestChange extends JsonObject {
  /** Digest of the request that the change applies to. */
  readonly since: string
  /** Digest of the whole request. */
  readonly whole: string
  readonly lists: { readonly [member: string]: ListChange }
  readonly changed: JsonObject
  readonly removed: readonly string[]
}

export function indexedRequest(request: JsonObject): IndexedRequest {
  const members = Object.entries(request).map(
    ([name, value]) =>
      [name, Array.isArray(value) ? value.map((each) => jsonDigest(each as Json)) : jsonDigest(value)] as const,
  )
  return { digest: jsonDigest(request), members: new Map(members) }
}

export function changeSince(before: IndexedRequest, request: JsonObject, now: IndexedRequest): RequestChange {
  const lists: Record<string, ListChange> = {}
  const changed: Record<string, Json> = {}
  for (const [name, value] of Object.entries(request)) {
    const [was, is] = [before.members.get(name), now.members.get(name)]
    if (Array.isArray(value) && Array.isArray(was) && Array.isArray(is)) {
      const keep = commonStart(was, is)
      if (keep === was.length && keep === is.length) continue
      if (keep > 0) lists[name] = { keep, add: value.slice(keep) as readonly Json[] }
      else changed[name] = value
    } else if (was !== is) changed[name] = value
  }
  const removed = [...before.members.keys()].filter((name) => !Object.hasOwn(request, name))
  return { since: before.digest, whole: now.digest, lists, changed, removed }
}

/** Length of the common prefix of two lists. */
export function commonStart(a: readonly string[], b: readonly string[]): number {
  let same = 0
  while (same < a.length && same < b.length && a[same] === b[same]) same += 1
  return same
}

/** Applies a change to a request. Throws `conversation-broken` if the change does not fit that request. */
export function wholeRequest(before: JsonObject, change: RequestChange): JsonObject {
  const { lists, changed, removed, whole } = change
  const removedNames = new Set(removed)
  const same = Object.entries(before).filter(([name]) => !removedNames.has(name))
  const request: Record<string, Json> = { ...Object.fromEntries(same), ...changed }
  for (const [name, { keep, add }] of Object.entries(lists)) {
    const list = before[name]
    if (!Array.isArray(list) || list.length < keep) throw broken(change)
    request[name] = [...(list.slice(0, keep) as readonly Json[]), ...add]
  }
  if (jsonDigest(request) !== whole) throw broken(change)
  return request
}

/** Restores whole requests from a record, in its order, whether they were recorded whole or as changes. */
export class RecordedRequests {
  readonly #byDigest = new Map<string, JsonObject>()

  /** Undefined if the record holds no request: digests only, or a change of a request that is not in this record. Throws `conversation-broken`. */
  whole(args: Json): JsonObject | undefined {
    if (!isJsonObject(args)) return undefined
    const request = this.#requestIn(args)
    if (request !== undefined) this.#byDigest.set(jsonDigest(request), request)
    return request
  }

  #requestIn({ request, change }: JsonObject): JsonObject | undefined {
    if (isRequestChange(change)) {
      const before = this.#byDigest.get(change.since)
      return before === undefined ? undefined : wholeRequest(before, change)
    }
    return isJsonObject(request ?? null) ? (request as JsonObject) : undefined
  }
}

function isRequestChange(change: Json | undefined): change is RequestChange {
  return isJsonObject(change ?? null)
}

function broken({ since, whole }: RequestChange): AgentError {
  const message = `a recorded model request (${whole}) does not follow from the one that it names (${since}): the record is not what the runtime wrote`
  return new AgentError('conversation-broken', message, { since, whole })
}
