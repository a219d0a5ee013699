/** @module The recorded model requests of a run to which later requests can be recorded as changes. */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { changeSince, commonStart, type IndexedRequest, indexedRequest, type RequestChange } from './conversation.ts'

/** Requests shorter than this many characters are recorded whole. */
const WHOLE_CHARS = 2_048
/** Maximum number of concurrent conversations of which the last request is remembered. */
const CONVERSATIONS_MAX = 8
/** Maximum number of digests over all remembered requests. */
const DIGESTS_MAX = 100_000

export class ConversationBook {
  /** Oldest first. */
  readonly #known: IndexedRequest[] = []

  /** The change to record in place of a request; undefined if the request itself is to be recorded. */
  changeOf(request: Json): RequestChange | undefined {
    if (!isLong(request)) return undefined
    const now = indexedRequest(request)
    const before = this.#nearest(now)
    if (before === undefined) return undefined
    const change = changeSince(before, request, now)
    return JSON.stringify(change).length * 2 < JSON.stringify(request).length ? change : undefined
  }

  /** The request has been recorded, whole or as a change, and later requests may refer to it. */
  recorded(request: Json | undefined): void {
    if (request === undefined || !isLong(request)) return
    const now = indexedRequest(request)
    const replaced = this.#known.findIndex((each) => isContinuedBy(each, now))
    if (replaced >= 0) this.#known.splice(replaced, 1)
    this.#known.push(now)
    while (this.#known.length > CONVERSATIONS_MAX || (this.#digests > DIGESTS_MAX && this.#known.length > 1)) {
      this.#known.shift()
    }
  }

  get #digests(): number {
    return this.#known.reduce((sum, { members }) => sum + [...members.values()].flat().length, 0)
  }

  /** The remembered request that has the most in common with this one; of equal ones the latest. */
  #nearest(now: IndexedRequest): IndexedRequest | undefined {
    const shared = this.#known.map((each) => sharedMembers(each, now))
    const most = Math.max(0, ...shared)
    return most === 0 ? undefined : this.#known[shared.lastIndexOf(most)]
  }
}

function isLong(request: Json): request is JsonObject {
  return isJsonObject(request) && JSON.stringify(request).length >= WHOLE_CHARS
}

function sharedMembers(before: IndexedRequest, now: IndexedRequest): number {
  let shared = 0
  for (const [name, is] of now.members) {
    const was = before.members.get(name)
    if (Array.isArray(was) && Array.isArray(is)) shared += commonStart(was, is)
    else if (was === is) shared += 1
  }
  return shared
}

/** Whether the later request extends all lists of the earlier one and is otherwise equal, so that the earlier one is no longer needed. */
function isContinuedBy(before: IndexedRequest, now: IndexedRequest): boolean {
  return [...before.members].every(([name, was]) => {
    const is = now.members.get(name)
    return Array.isArray(was) && Array.isArray(is) ? commonStart(was, is) === was.length : was === is
  })
}
